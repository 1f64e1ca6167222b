/*
 * ratelite: a rate limiter inside your program, exact across every process, thread and language on
 * the machine, with one SQLite file and no server.
 *
 * Generated from src/capi by cbindgen; `make header` renews it. Do not edit it.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *
 * OVERVIEW
 *
 *     #include <ratelite.h>                                     cc program.c -lratelite
 *
 *     rl_limiter *limiter;
 *     if (rl_open("limits.db", "100/min", NULL, &limiter) != RL_OK)
 *         die(rl_last_error());
 *     rl_result result;
 *     if (rl_hit(limiter, NULL, key, strlen(key), 1, RL_NOW, &result) != RL_OK)
 *         ...                      (the store failed: pass or refuse, it is your decision)
 *     else if (!result.allowed)
 *         ...                      (429; Retry-After: result.retry_after)
 *     rl_close(limiter);
 *
 * A STORE is a file that holds counters. A POLICY is a list of RULES; a rule has a name, perhaps a
 * route, and one or more LIMITS; a limit grants N units a WINDOW. A HIT asks for units for a KEY,
 * which names a client. Counters are kept by rule name, window length and key; limiters of any
 * process that use the same three on one store share one counter, whatever their N.
 *
 * Windows are fixed and aligned to the Unix epoch in UTC: they start at multiples of their length,
 * a `day` at midnight, a `month` on the first. At reset_at the next window is open. So up to 2 N
 * units can pass within a short time around the end of a window, N before it and N after it.
 *
 *
 * POLICY TEXT
 *
 *     login: POST /login  3/10s
 *     api:   *            10/10s, 1000/day
 *
 *     policy   = rule { (";" | newline) rule }      "#" begins a comment to the end of the line
 *     rule     = [ name ":" ] [ [ METHOD ] path ] limit { "," limit }
 *     name     = 1 to 64 of A-Z a-z 0-9 _ . -       only a sole rule may go unnamed: "default"
 *     METHOD   = 1 to 32 of A-Z -                   none: any method
 *     path     = "/..." exact | "/.../" + "*" all below | "*" all
 *     limit    = N "/" duration | N " per " duration            N: 0 to 2^53 - 1; 0 denies all
 *     duration = [ count ] unit                     1 ms to 366 days, no blank inside
 *     unit     = ms | s sec second | m min minute | h hour | d day | month
 *
 * rl_route() tries rules in order; the first whose method and path fit wins. A rule without a path
 * fits every request. Two limiters with unnamed policies on one store share the rule "default":
 * name them apart.
 *
 *
 * ERRORS
 *
 * Functions that can fail return RL_OK (0) or a negative code, and never take a failure for an
 * allowance. After a failure nothing is spent (the attempt may stay counted; of a server, see there for
 * RL_EUNAVAILABLE and RL_EPERM), the result is all zero (a denial), and rl_last_error() says in one
 * line what failed, on what, and what to do. No argument that is NULL or out of range crashes; a pointer
 * that is not NULL must be what the function says.
 *
 *
 * OWNERSHIP
 *
 * The caller owns every buffer and structure; the library copies what it keeps. The one object of
 * the library is rl_limiter. Texts it returns are not to be freed: each function says how long
 * they last.
 *
 *
 * THREADS
 *
 * Any thread may call any function on any limiter at any time, but rl_close() ends its limiter.
 * Calls on one store wait for each other inside a process, at most until their deadline
 * (busy_timeout_ms). No function may be called from a signal handler. While a call is at the file,
 * most signals of the thread are held back, at most until the call's deadline: all but SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL, SIGTRAP, SIGSYS and SIGABRT. A hit in the shared table is over before it would be
 * worth it; handlers run in its midst, and return to it. siglongjmp() out of a handler that came during
 * a call is not supported: it may leave a hit spent that nobody was told of. Nor is the thread cancelled
 * during a call: no function is a cancellation point, and asynchronous cancellation must be off, as for
 * nearly every function of POSIX. Panics inside the
 * library are caught and become RL_EINTERNAL. Nothing is ever printed, with one exception: a process
 * that has no memory left at all ends as by abort(), since Rust's allocations cannot fail. What
 * SQLite lacks is RL_ENOMEM.
 *
 *
 * PROCESSES AND FORK
 *
 * Any number of processes, of any language, may use one store file. A process that is killed at
 * any moment, or all of them at once, loses no hit that was answered.
 *
 * After fork() parent and child both go on with the limiters they have, with exact counts; a
 * server may open in its master and hit in its workers. fork() may wait for a hit in progress, a
 * checkpoint included. The first hit after it opens the file again, which costs about half a
 * millisecond, and needs the right to do so: a worker that changes its user or its root must be able
 * to open the store, its directory included, under the same path.
 *
 * After clone() or _Fork() without exec, which run no fork handlers, every call that needs a store
 * returns RL_EFORK and rl_close() does nothing. Such a child shares its parent's locks: if the
 * parent dies inside a hit, everyone else waits until the child execs or exits. Never call the
 * library from the child of vfork(). posix_spawn(), system() and popen() are safe.
 *
 * A store in `:memory:` is copied by fork(), like other memory.
 *
 *
 * WHERE A HIT IS COUNTED
 *
 * Live windows are counted in a table in memory that all processes on the store share, mapped from the
 * file `<store>-table` beside it: one atomic step a hit, 0.1 microseconds. Every answer, of rl_hit()
 * and of rl_status(), is exact in every process at every moment. The SQLite file is the durable copy:
 *
 *  - RL_DURABLE_INTERVAL (the default): hits write what was counted into the file in batches, each
 *    flush_interval_ms (100) as long as anybody hits. Who reads the file by other means is at most
 *    that much behind, and longer while more than 2048 keys wait: hits spend an eighth of the time on
 *    writing at most, and each writes that many at most. A crash of processes takes nothing. When traffic
 *    stops, the last interval waits in the table for the next hit, rl_prune(), rl_open(), or the
 *    rl_close() of a process's last limiter (the first time, and later once an interval, since a host may
 *    open and close the store for each request). rl_prune(limiter, 0, &removed) writes everything out and
 *    removes nothing.
 *  - RL_DURABLE_HIT, and limiters with `audit`: a hit is in the file before it is answered, 10 to 20
 *    microseconds. Both kinds may be used on one store at once.
 *
 * No hit waits for the disk. What is written is sent there each 0.1 s, so a power cut takes the counts of
 * the last moments: those, what the disk had not finished, and what was not in the file. It damages
 * nothing.
 *
 * If the file cannot be written (a full disk, say), hits at an interval go on, exactly; rl_info() tells
 * how far the file is behind, and why. A key whose counter must be read from the file, or a table that
 * is full, needs the file: those hits fail, as all do under RL_DURABLE_HIT.
 *
 * The table has table_slots places, 262,144 unless the store's creator says otherwise, in 33 MiB of
 * disk and page cache; each limit's window of each key takes one. Keys beyond that are moved to the
 * file and back, which is exact, and as slow as a hit in the file. Twice the number of keys of two
 * windows is a good size.
 *
 * A store that is made where that cannot be has no table, for all processes alike, and each hit is
 * committed before it is answered: the filesystem is not ext4, xfs, tmpfs or overlay; the system has no
 * locks of open file descriptions, the processor no 128-bit compare-and-swap (all of x86-64-v2 and
 * ARMv8 have), or /proc is not mounted. rl_info() says "table":null then. A process that cannot map a
 * table which others use gets RL_ENOTSTORE.
 *
 * While a process is stopped (SIGSTOP) in the midst of a claim, new keys of one in 1024 wait for it, at
 * most until their deadline; live keys go on. While one is stopped in the midst of writing, the file
 * stays behind, as rl_info() tells, and calls that need it return RL_EBUSY. At most 4096 processes use a
 * table at a time. Processes in containers must see one /proc/sys/kernel/random/boot_id; who sees
 * another while the table is in use gets RL_ENOTSTORE.
 *
 *
 * THE HOST'S OWN SQLITE
 *
 * The library brings its own SQLite, of which no symbol is visible. The host may use another copy
 * (Python's sqlite3, PHP's PDO) on the store file, reading or writing, in the same process too:
 * the library's locks belong to its open file descriptions, and it closes no descriptor of a store
 * file. What that demands of the host:
 *
 *  - While the host holds a write transaction on the file, calls in the same process wait for it
 *    and return RL_EBUSY at their deadline: never call ratelite inside your own transaction on
 *    the store. A read transaction blocks nothing.
 *  - Its SQLite should be 3.51.3 or newer: older ones have a fault of their own with a WAL.
 *  - Two or more copies of SQLite of the host itself on the file stay unsafe among themselves.
 *  - Where the kernel has no open-file-description locks (Linux before 3.15; rl_info() says
 *    "locks":"posix"), the host must leave the file alone while the library uses it: there, any
 *    close() of any descriptor of the file drops the library's locks.
 *
 *
 * FILES
 *
 * Beside the store stand its -wal, -shm and -table: all four belong together; copy a store in use with
 * `sqlite3 limits.db ".backup copy.db"`, never with cp. A store that is restored from a backup, or whose
 * -table is deleted, begins a new table from what its rows say; a limiter that is open then keeps the old
 * one mapped, and its space on the disk, until it is closed. The directory must be writable. Only local
 * filesystems: NFS, SMB, FUSE and the like are refused, and so is a file that was mounted by itself: give
 * a container the directory. A store that is deleted or replaced under
 * a running process is noticed within a second; until then hits may count in the old file. A log
 * whose database has gone is kept as `<path>.orphan-<milliseconds>-wal`. Never truncate -shm or -table: every
 * process has them mapped, and the system ends those that touch what is gone (SIGBUS).
 *
 * The library keeps up to 6 descriptors a store, and 1 a file that it refused, open until the
 * process exits or forks, also those of a store that was renamed. Do not close descriptors that you did
 * not open. Doing so after the last rl_close() on a store, as a daemon does, is survived; under a limiter
 * in use it is not.
 *
 * The library stays mapped after dlclose().
 *
 *
 * A SERVER AS THE STORE
 *
 * When one host is no longer enough, the same policy, calls and answers work with a Redis (5 or newer) or
 * a Valkey. What stands in place of the path is an address:
 *
 *     redis://[user[:password]@]host[:port][/db]                    rediss:// the same by TLS
 *     redis+unix://[user[:password]@]/path/of/socket[?db=N]
 *     redis-cluster://[...@]host[:port],host[:port],...             rediss-cluster:// by TLS
 *     redis-sentinel://[...@]host[:port],.../master[/db]            rediss-sentinel:// by TLS
 *     valkey://, valkeys://                                         the same as redis://, rediss://
 *
 *     ?prefix=ratelite    what every key begins with
 *     &ca=FILE            of TLS: the authorities to trust, in place of the system's
 *     &cert=FILE&key=FILE of TLS: what to show a server that asks for it
 *     &sentinel_user=NAME &sentinel_password=WORD
 *
 * Special characters are written as in %40. No message shows the password or the options.
 *
 * The server's clock decides, unless the caller gives the time. One script a call, on one key, so each call
 * is one atomic step, in a cluster too; a rule has 24 limits at most there. A counter goes when the window after it has ended; by given times
 * not before ten minutes and two windows after its last hit.
 *
 * rl_open() does not connect. A call waits connect_timeout_ms for a connection and command_timeout_ms for an
 * answer, twice at most (a second try is made only if the first cannot have run), and as long again where
 * sentinels or a cluster are to be asked who is in charge; rl_reset() so long for each rule. Signals are held
 * back meanwhile. The system's look-up of a host's name has no
 * timeout: give addresses, or a resolver that answers. After a failure calls fail at once for 0.1 to 1 s, and
 * one at a time looks whether the server is back. A call whose answer is lost may have been counted: it is
 * RL_EUNAVAILABLE, and never tried again.
 *
 * What a server takes away, nobody here can see, and its clients begin anew: by FLUSHALL, by a restart
 * without persistence, by eviction under a maxmemory-policy other than noeviction, and in a failover the
 * writes that were not yet on the replica.
 *
 * Connections are the process's, kept after the last rl_close() (option keep_open). A child of fork() makes
 * its own; its parent's are closed in it without a word, but for one that another thread was using at the
 * fork, which stays open there, unused. SIGPIPE is never raised.
 *
 * The server's user needs the rights for eval, evalsha, time, hget, hset, hlen, hkeys, hdel, del, pttl and
 * pexpireat (under key_secret also get and set) on the keys of the prefix. A hit of one that lacks some may be
 * RL_EPERM and spent all the same.
 *
 * options.audit, and RL_DURABLE_HIT, are RL_EINVAL; flush_interval_ms is for remember_denied; busy_timeout_ms,
 * recover_corrupt, file_mode and table_slots are for the insurance's file; and auto_prune, without which a
 * server keeps up to a thousand past windows of a client.
 *
 * With options.insurance, a file takes over while the server is away, full, or refuses the login: counts are its own then, per machine,
 * and nothing is carried over when the server is back. result.insured and rl_info() tell. A reset concerns
 * both.
 *
 *
 * TIME
 *
 * Time is the host's wall clock in milliseconds, of a store on a server the server's, or what the caller gives. If the clock steps
 * back, the older window goes on counting, unless it was pruned while the clock was ahead; nobody is
 * denied for longer than one window.
 */
