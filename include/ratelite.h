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

#ifndef RATELITE_H
#define RATELITE_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; rl_version() gives that of the library that is loaded. */
#define RL_VERSION "0.1.0"
#define RL_VERSION_MAJOR 0
#define RL_VERSION_MINOR 1
#define RL_VERSION_PATCH 0

/**
 * The number of the ABI that this header describes. `rl_abi_version()` gives that of the library
 * that is loaded: when they differ, do not call anything else.
 */
#define RL_ABI_VERSION 1

/**
 * For `now_ms`: the system clock, read as part of the hit.
 */
#define RL_NOW -1

/**
 * The largest limit, cost and count: 2^53 - 1.
 */
#define RL_MAX_UNITS 9007199254740991

/**
 * Success.
 */
#define RL_OK 0

/**
 * An argument is NULL, out of its range or of the wrong form. Mend the call.
 */
#define RL_EINVAL -1

/**
 * The policy text does not parse; the message names line and column.
 */
#define RL_EPOLICY -2

/**
 * The policy has no rule of that name, no rule was named where there are several, or no rule fits
 * the route.
 */
#define RL_ENORULE -3

/**
 * Others held the store until `busy_timeout_ms` had passed. Trying again later may succeed.
 */
#define RL_EBUSY -4

/**
 * The disk, the quota, or a server's memory is full. Mends itself when there is space again.
 */
#define RL_EFULL -5

/**
 * Reading or writing the store failed: a broken disk, a file-size limit, a vanished directory.
 */
#define RL_EIO -6

/**
 * The system refused access to the store, or to its directory, where -wal, -shm and -table must stand;
 * or a server refused user, password or command.
 */
#define RL_EPERM -7

/**
 * The store, or the row that was asked for, is damaged.
 */
#define RL_ECORRUPT -8

/**
 * What stands at the path is not a ratelite store, is of a newer format, has a second name (hard
 * link), is mounted by itself, or is no regular file. It was left as it was.
 */
#define RL_ENOTSTORE -9

/**
 * This process was made by clone() or _Fork(), so it must not use the stores it inherited.
 */
#define RL_EFORK -10

/**
 * No file descriptor is free.
 */
#define RL_EMFILE -11

/**
 * No memory is left.
 */
#define RL_ENOMEM -12

/**
 * The store's server cannot be reached, or did not answer in time: then the call may have been
 * counted. Stores in files never return it.
 */
#define RL_EUNAVAILABLE -13

/**
 * A bug in ratelite was caught. Please report the message.
 */
#define RL_EINTERNAL -14

/**
 * A switch of rl_options: as the option's documentation says.
 */
#define RL_DEFAULT 0

/**
 * A switch of rl_options: on.
 */
#define RL_ON 1

/**
 * A switch of rl_options: off.
 */
#define RL_OFF 2

/**
 * `durability` of rl_options: RL_DURABLE_INTERVAL.
 */
#define RL_DURABLE_DEFAULT 0

/**
 * A hit is in the file before it is answered. Counting is exact either way: see above.
 */
#define RL_DURABLE_HIT 1

/**
 * A hit is in the file at most an interval after it was answered, as long as anybody hits.
 */
#define RL_DURABLE_INTERVAL 2

/**
 * `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (epoch seconds), in this
 * order, then `Retry-After` if the hit was denied and waiting helps.
 */
#define RL_HEADERS_X 0

/**
 * As GitHub's API sends them: lower case, with `x-ratelimit-used` (units spent) and
 * `x-ratelimit-resource` (the rule's name).
 */
#define RL_HEADERS_GITHUB 1

/**
 * `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10. The draft still
 * changes: this style follows it and is not covered by the ABI number.
 */
#define RL_HEADERS_IETF 2

/**
 * A policy applied to a store. Made by rl_open(), freed by rl_close(). Any thread may use it, and
 * any number of threads at once.
 */
typedef struct rl_limiter rl_limiter;

/**
 * How a limiter uses its store. 0 means the default everywhere, so begin with
 * `rl_options options = {0}; options.struct_size = sizeof options;` (in C++ `= {}`) and set what
 * you need. Everything pointed to is copied during rl_open().
 *
 * Options belong to the limiter, except file_mode, table_slots and key_secret, which the store's
 * creator decides.
 */
typedef struct rl_options {
  /**
   * sizeof(rl_options). A smaller one of an older header is fine, a larger one of a newer
   * header too if what this library does not know is 0. Below 8, above 4096 or no multiple of
   * 8: RL_EINVAL.
   */
  uint64_t struct_size;
  /**
   * The longest that a call waits for others, in milliseconds: 1 to 60000; larger values count
   * as 60000; -1: do not wait. Default 1000.
   */
  int64_t busy_timeout_ms;
  /**
   * RL_DURABLE_DEFAULT, RL_DURABLE_HIT or RL_DURABLE_INTERVAL. On a store without a shared table,
   * and for limiters with `audit`, it is RL_DURABLE_HIT: rl_info() tells.
   */
  int64_t durability;
  /**
   * The interval of RL_DURABLE_INTERVAL in milliseconds, 1 to 60000. Default 100. Of limiters with
   * different ones the shortest counts, as long as they hit.
   */
  int64_t flush_interval_ms;
  /**
   * RL_ON (default): hits remove two expired rows for each that they add, so that a store
   * needs no cron job. RL_OFF: only rl_prune() removes rows.
   */
  int64_t auto_prune;
  /**
   * RL_ON (default): the process keeps the file open after the last rl_close(), so that the
   * next rl_open() costs a few microseconds. RL_OFF: the last rl_close() checkpoints and
   * removes -wal and -shm.
   */
  int64_t keep_open;
  /**
   * RL_ON: each allowed hit is also a row of the table api_calls (time, rule, key, cost),
   * committed with the count. Default RL_OFF.
   */
  int64_t audit;
  /**
   * RL_ON: a store of ours that turns out to be damaged is moved aside, to
   * `<path>.corrupt-<milliseconds since the epoch>`, and begun anew with no counters. Default
   * RL_OFF: it is RL_ECORRUPT. A file that is not a store is never touched.
   */
  int64_t recover_corrupt;
  /**
   * How long rows of api_calls are kept, in seconds, 1 to 315360000 (ten years). Default:
   * 2592000 (30 days) where audit is on; where it is off too, this limiter prunes no such rows.
   */
  int64_t audit_retention_s;
  /**
   * Permission bits of a file that rl_open() creates, whatever the umask: read and write bits
   * only, the owner's among them. Default 0600.
   */
  int64_t file_mode;
  /**
   * How many windows of keys the shared table of a new store holds, 1 to 2^32 (rounded up to a
   * multiple of 16), 128 bytes of disk each. Default 262144. The creator of the store decides; if
   * it is given for a store with another number: RL_EINVAL.
   */
  int64_t table_slots;
  /**
   * If not NULL: keys are stored as HMAC-SHA-256 under this secret, so that no key can be read
   * from the file. The creator of the store decides; another secret, or none, is RL_EINVAL.
   */
  const char *key_secret;
  /**
   * Length of key_secret in bytes, at least 1 if it is not NULL. Use 32 random bytes.
   */
  uint64_t key_secret_len;
  /**
   * Of a store on a server: the longest that connecting to it may take, in milliseconds, the login
   * and a handshake included: 1 to 60000. Default 100. Files take no notice.
   */
  int64_t connect_timeout_ms;
  /**
   * Of a store on a server: the longest that it may take to answer, in milliseconds: 1 to 60000.
   * Default 100. Files take no notice.
   */
  int64_t command_timeout_ms;
  /**
   * Of a store on a server: RL_ON: a client that it has denied is refused by this process, without
   * asking again, until one of the rule's windows ends; up to 16,384 clients. The server is told of
   * those attempts by hits that ask, a client's after flush_interval_ms, then ever more seldom, up to
   * eight times that; and by rl_close(), once an interval, for command_timeout_ms at most. So `count`
   * lags for others, and so does what a refund or a reset gives back in another process, or by a
   * limiter with another address or other timeouts. Not counted is what a process has not told when
   * it ends otherwise, and what was attempted at given times that then went back. Default RL_OFF.
   * Files take no notice.
   */
  int64_t remember_denied;
  /**
   * Of a store on a server, if not NULL: path of a store file, NUL-terminated, that takes over while
   * the server is away: hits are then counted there alone, by limits of its own. RL_EINVAL for a store
   * in a file.
   */
  const char *insurance;
  /**
   * If not NULL: the policy of the insurance, NUL-terminated, with rules of the same names in the same
   * order; their routes do not matter.
   */
  const char *insurance_policy;
  /**
   * Without insurance_policy: so many percent of each limit are the insurance's, 1 to 100, rounded down
   * to at least 1 unit. Default 100, by which each machine lets the whole limit in.
   */
  int64_t insurance_percent;
} rl_options;

/**
 * The answer of rl_hit, rl_status and rl_refund. It describes the limit that decides: on a denial
 * the first refusing limit that can never fit the cost, else the refusing one whose window ends
 * last; on an allowance the one with the least remaining; the first at a tie. All zero after a
 * failed call, which reads as "denied".
 */
typedef struct rl_result {
  /**
   * 1: allowed; 0: denied. For rl_status and rl_refund: whether a hit of cost 1 would be.
   */
  int64_t allowed;
  /**
   * Units that the deciding limit grants a window, 0 to RL_MAX_UNITS.
   */
  int64_t limit;
  /**
   * Units asked for in its window, denied ones and this hit included. It stops at RL_MAX_UNITS.
   */
  int64_t count;
  /**
   * Units left in its window after this call, 0 to `limit`.
   */
  int64_t remaining;
  /**
   * End of its window in epoch seconds, rounded up. At that time the next window is open.
   */
  int64_t reset_at;
  /**
   * Seconds to wait: 0 if allowed; -1 if no wait helps, as the cost is above the limit; else 1
   * or more, after which the same hit is allowed if nobody else was faster.
   */
  int64_t retry_after;
  /**
   * Start of its window, milliseconds since the epoch.
   */
  int64_t window_start_ms;
  /**
   * Length of its window in milliseconds: for `month` that of this month.
   */
  int64_t window_ms;
  /**
   * The time the decision was made for, milliseconds since the epoch.
   */
  int64_t now_ms;
  /**
   * Index of the rule in the policy, from 0; rl_rule_name() gives its name.
   */
  int64_t rule;
  /**
   * Index of the deciding limit in the rule, from 0.
   */
  int64_t limit_index;
  /**
   * 1: the insurance answered, by its own limits and counters, since the store's server was away
   * (see rl_options); 0 otherwise.
   */
  int64_t insured;
  /**
   * 0.
   */
  int64_t reserved[4];
} rl_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Opens a store and applies a policy to it.
 *
 * @param store    Path of the store file, NUL-terminated; created with mode 0600 if it is not
 *                 there, in an existing directory on a local filesystem. `:memory:` keeps the
 *                 counters in this limiter alone, for tests. Symbolic links lead to one store; a
 *                 file with a second hard link is refused. Or the address of a server, see A SERVER
 *                 AS THE STORE above; other URIs (`file:…`, `scheme://…`) are refused.
 * @param policy   Policy text, NUL-terminated, see above. Applies to this limiter only; other
 *                 limiters on the store may have other policies.
 * @param options  NULL for all defaults, or see rl_options.
 * @param limiter  Receives the limiter, or NULL on failure. Free it with rl_close().
 *
 * @return RL_OK; RL_EPOLICY; RL_ENOTSTORE, with the file as it was; RL_EINVAL (NULL, an option,
 *         a URI, a missing directory, a remote filesystem, another key_secret); RL_EPERM;
 *         RL_EFULL; RL_EIO; RL_ECORRUPT; RL_EBUSY; RL_EFORK; RL_EMFILE; RL_ENOMEM. A server is not
 *         asked yet, so one that is away is no failure here.
 *
 * Any thread, any number at once. If 32 processes open a new path at the same moment, one creates
 * it and all succeed. Since 0.1.0.
 */
int rl_open(const char *store,
            const char *policy,
            const struct rl_options *options,
            struct rl_limiter **limiter);

/**
 * Counts an attempt and says whether it is allowed.
 *
 * The attempt is counted in every limit of the rule, also when it is denied. It is allowed if
 * `cost` fits what is left in all of them, and then spent in all of them; else in none. When the
 * function returns RL_OK, every other process sees the count.
 *
 * @param limiter  The limiter.
 * @param rule     Name of the rule, NUL-terminated; NULL for the only rule of a policy that has
 *                 one. In a policy of several, NULL is RL_ENORULE: a request that fits no route
 *                 must not be charged to the first rule.
 * @param key      Who is charged: any bytes, NUL among them, compared as they are. Up to 72 bytes
 *                 are stored as they are; of a longer key its first 40 bytes, `#` and its SHA-256.
 * @param key_len  Length of key in bytes, at least 1.
 * @param cost     Units to spend, 0 to RL_MAX_UNITS; 1 for a plain request. 0 counts nothing and
 *                 answers like rl_status().
 * @param now_ms   RL_NOW, or the time in milliseconds since the epoch, 0 to 253370764799999
 *                 (9998-12-31). Use one clock for all callers of a store.
 * @param result   Receives the answer; all zero on failure, which reads as "denied".
 *
 * @return RL_OK, whether allowed or denied; RL_EINVAL; RL_ENORULE; RL_EBUSY; RL_EFULL; RL_EIO;
 *         RL_EPERM; RL_ECORRUPT; RL_ENOTSTORE; RL_EFORK; RL_EMFILE; RL_ENOMEM; RL_EINTERNAL; of a
 *         server also RL_EUNAVAILABLE, after which the hit may be spent, if the answer was lost.
 *         After any other failure nothing is spent; the attempt may stay counted. (What could not be
 *         taken back, since that failed too, stays spent until its window ends.) The library never
 *         takes an error for an allowance: whether to let a request pass then is your decision.
 *
 * Any thread, any number at once. Not from a signal handler. Since 0.1.0.
 */
int rl_hit(struct rl_limiter *limiter,
           const char *rule,
           const char *key,
           size_t key_len,
           int64_t cost,
           int64_t now_ms,
           struct rl_result *result);

/**
 * Says what a hit of cost 1 would meet now, and changes nothing. Each counter is read at one moment,
 * several limits one after the other.
 *
 * For a key that was never seen, expired or was pruned: count 0, remaining = limit.
 *
 * @param limiter, rule, key, key_len, now_ms, result  As for rl_hit().
 * @return As rl_hit().
 *
 * Any thread, any number at once. Since 0.1.0.
 */
int rl_status(struct rl_limiter *limiter,
              const char *rule,
              const char *key,
              size_t key_len,
              int64_t now_ms,
              struct rl_result *result);

/**
 * Removes the counters whose window is older than the current and the previous one of their own
 * length, of every rule and policy on the store; and, if this limiter has an audit retention, the
 * audit rows past it. Works in slices of about a millisecond, between which hits go on. What is
 * counted and not yet in the file is written there first, so a time of 0 does only that. A server
 * removes what has expired by itself: there it does nothing, or of an insurance the same in its file.
 *
 * @param limiter  The limiter.
 * @param now_ms   As for rl_hit(). Taken literally: a time in the future removes live counters.
 * @param removed  Receives the number of counter rows removed; 0 on failure, though some slices
 *                 may be done by then. Audit rows are not counted.
 * @return RL_OK, or as rl_hit(). Each slice may wait for its turn as long as busy_timeout_ms.
 *
 * Any thread, any number at once. Since 0.1.0.
 */
int rl_prune(struct rl_limiter *limiter,
             int64_t now_ms,
             int64_t *removed);

/**
 * Frees a limiter. The store's counters stay, and with option keep_open the process keeps the
 * file open for the next rl_open(). The last limiter of a process writes out what is not in the file
 * yet, for which it may wait as long as busy_timeout_ms; what it cannot write stays in the table. In a
 * process made by clone() or _Fork() it does nothing.
 *
 * @param limiter  A limiter, or NULL, which is a no-op. Using it after this is undefined.
 *
 * No other thread may be using the limiter. Since 0.1.0.
 */
void rl_close(struct rl_limiter *limiter);

/**
 * Forgets a key: its counters go, attempts too, in every window.
 *
 * @param limiter       The limiter.
 * @param rule          Name of the rule; NULL for every rule of this limiter's policy.
 * @param key, key_len  As for rl_hit().
 * @param removed       Receives the number of counter rows removed; 0 on failure.
 * @return RL_OK, or as rl_hit(). After a failure some of the counters may be gone: call it again.
 *
 * Any thread, any number at once. Since 0.1.0.
 */
int rl_reset(struct rl_limiter *limiter,
             const char *rule,
             const char *key,
             size_t key_len,
             int64_t *removed);

/**
 * Gives units back to a key in the current windows of the rule, down to nothing spent: for work
 * that was charged and then not done. The attempts stay counted.
 *
 * @param limiter, rule, key, key_len, now_ms, result  As for rl_hit().
 * @param cost  Units to give back, 0 to RL_MAX_UNITS; 0 answers like rl_status().
 * @return As rl_hit(); the result is that of rl_status() afterwards. After a failure nothing was given
 *         back.
 *
 * Any thread, any number at once. Since 0.1.0.
 */
int rl_refund(struct rl_limiter *limiter,
              const char *rule,
              const char *key,
              size_t key_len,
              int64_t cost,
              int64_t now_ms,
              struct rl_result *result);

/**
 * Finds the first rule whose route fits a request.
 *
 * @param limiter  The limiter.
 * @param method   The request's method, NUL-terminated, compared as it is: `POST`.
 * @param target   The request's target as it stands in the request line, NUL-terminated: a path
 *                 with or without query, an absolute URI, or `*`. Query and fragment, scheme and
 *                 authority do not count. Nothing is decoded: behind a framework that would route
 *                 `/%6Cogin` to the login handler, name the rule by the route it matched.
 * @param rule     Receives the rule's name, which lasts until rl_close(); NULL on failure.
 * @return RL_OK; RL_ENORULE if no rule fits, so that nothing is to be charged; RL_EINVAL.
 *
 * Any thread, any number at once; no store is touched. Since 0.1.0.
 */
int rl_route(struct rl_limiter *limiter,
             const char *method,
             const char *target,
             const char **rule);

/**
 * Writes the response headers that tell a client where it stands, each line ended by CR LF. They
 * hold numbers and rule names only, never a key.
 *
 * @param limiter  The limiter that gave the result.
 * @param result   A result that it filled. One of another policy, or zeroed, is RL_EINVAL.
 * @param style    RL_HEADERS_X, RL_HEADERS_GITHUB or RL_HEADERS_IETF.
 * @param buf      Receives the text and a NUL; may be NULL if cap is 0.
 * @param cap      Size of buf in bytes. If the text does not fit, buf gets "".
 * @return The length of the text without NUL, whether it fitted or not; RL_EINVAL.
 *
 * Any thread, any number at once; no store is touched. Since 0.1.0.
 */
int rl_headers(struct rl_limiter *limiter,
               const struct rl_result *result,
               int style,
               char *buf,
               size_t cap);

/**
 * Writes the body of a refusal, `application/problem+json` by RFC 9457: type, title, status 429,
 * detail, limit, remaining, and retry_after if waiting helps. Never a key. Of an allowed hit it
 * says `about:blank`, OK and 200, so that a mistake does not read as a refusal.
 *
 * @param limiter, result, buf, cap  As for rl_headers().
 * @return As rl_headers().
 *
 * Any thread, any number at once; no store is touched. Since 0.1.0.
 */
int rl_problem(struct rl_limiter *limiter,
               const struct rl_result *result,
               char *buf,
               size_t cap);

/**
 * Makes one key of a client's address: an IPv4 address as it is, also where it comes inside an
 * IPv6 one (`::ffff:1.2.3.4`, `64:ff9b::1.2.3.4`); of other IPv6 addresses the network, since a
 * client has a whole one to choose addresses from: `2001:db8:1:2::/64`.
 *
 * @param ip         An address as text, NUL-terminated: no port, no brackets. A zone (`%eth0`) is
 *                   dropped.
 * @param v6_prefix  How many leading bits of an IPv6 address make a client, 1 to 128; 0 for 64.
 * @param buf, cap   As for rl_headers(); 44 bytes are always enough.
 * @return As rl_headers(); RL_EINVAL if it is not an address.
 *
 * Any thread, any number at once. Since 0.1.0.
 */
int rl_ip_key(const char *ip,
              int v6_prefix,
              char *buf,
              size_t cap);

/**
 * Writes what is in force as JSON, for people and for monitoring: versions, the store's path,
 * `durability` (`interval`, `hit`), the kind of locks (`ofd`, `posix`), sizes of the files, options;
 * and the shared `table` (null: each hit is a transaction) with its `slots`, `bytes` and `lag`, how far
 * the file is behind: about how many counters are `unwritten`, since when at most (`ms`), and the
 * `cause` if the last try to write them failed, else null. More members may come with later versions.
 *
 * Of a server: its `engine` and version, `mode` (`single`, `unix`, `cluster`, `sentinel`), whether it is
 * `reachable` and else the `cause`, `maxmemory_policy` (anything but `noeviction` may take counters away;
 * null if it does not tell), timeouts; `insurance`, where there is one: whether it is `active`, how often
 * that changed (`switches`), when it last did (`switched_ms`), and its `local` store. Asks the server, and
 * does not fail if it is away.
 *
 * @param limiter, buf, cap  As for rl_headers().
 * @return As rl_headers(), or the store's failures as rl_hit().
 *
 * Any thread, any number at once. Since 0.1.0.
 */
int rl_info(struct rl_limiter *limiter,
            char *buf,
            size_t cap);

/**
 * The name of a rule by its index, as in rl_result.
 *
 * @return A NUL-terminated name that lasts until rl_close(); NULL past the last rule, or if
 *         limiter is NULL.
 *
 * Any thread, any number at once. Since 0.1.0.
 */
const char *rl_rule_name(struct rl_limiter *limiter,
                         int64_t rule);

/**
 * What a code means, in general words. rl_last_error() says what happened.
 *
 * @return A constant NUL-terminated text, also for a code that this library does not know.
 *
 * Any thread. Since 0.1.0.
 */
const char *rl_strerror(int code);

/**
 * This thread's last failure in one line: what failed, on what, what to do. It never holds a key
 * or a secret.
 *
 * @return A NUL-terminated text, empty if this thread's last call that returns a code or a length
 *         succeeded. It lasts until this thread's next such call.
 *
 * Since 0.1.0.
 */
const char *rl_last_error(void);

/**
 * The version of the library that is loaded, such as "0.1.0": a constant NUL-terminated text. The
 * header's own is RL_VERSION. Since 0.1.0.
 */
const char *rl_version(void);

/**
 * The number of the ABI of the library that is loaded, to compare with RL_ABI_VERSION.
 * Since 0.1.0.
 */
int rl_abi_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RATELITE_H */
