/*
 * A prune whose transaction is larger than SQLite's page cache: pages go to the log early, change
 * again, and the frames after them get new checksums, without their pages. Another process hits
 * before the log is moved; all are killed, and what is in the log is read.
 *
 *     rewritten STORE HITS
 */
#include "attack.h"

#include <dlfcn.h>
#include <sys/uio.h>

enum { FRAME_HEADER = 24 };

/* Large rows, in no order of time: those of one slice are on more pages than the cache has. */
#define FILL                                                                                       \
    "PRAGMA journal_mode = DELETE; PRAGMA page_size = 4096; VACUUM; PRAGMA journal_mode = WAL;"    \
    "WITH RECURSIVE rows(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM rows LIMIT 4000) "          \
    "INSERT INTO api_calls SELECT 1 + n * 1237 % 4001, 'attack', zeroblob(1500), 1 FROM rows;"     \
    "PRAGMA wal_checkpoint(TRUNCATE)"

static int rewritten;
static int to_parent[2];

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    rewritten += size == FRAME_HEADER;
    __typeof__(&pwrite64) real = (__typeof__(&pwrite64))dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, from, size, at);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    size_t size = 0;
    for (int index = 0; index < count; index++)
        size += parts[index].iov_len;
    rewritten += size == FRAME_HEADER;
    __typeof__(&pwritev64) real = (__typeof__(&pwritev64))dlsym(RTLD_NEXT, "pwritev64");
    return real(fd, parts, count, at);
}

/* The pruner pauses between two transactions: it goes no further than the first that rewrote. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    if (rewritten > 0) {
        printf("rewritten=%d ", rewritten);
        fflush(stdout);
        CHECK(write(to_parent[1], "", 1) == 1);
        for (;;)
            pause();
    }
    __typeof__(&clock_nanosleep) real =
        (__typeof__(&clock_nanosleep))dlsym(RTLD_NEXT, "clock_nanosleep");
    return real(clock, flags, time, rest);
}

static void make_store(const char *path)
{
    rl_close(open_store(path, RL_OFF));
    sqlite3 *database = host_open(path);
    char *error = NULL;
    if (sqlite3_exec(database, FILL, NULL, NULL, &error) != SQLITE_OK)
        die("the host's \"%s\": %s", FILL, error);
    sqlite3_close(database);
    _exit(0);
}

static void prune(const char *path)
{
    rl_options options = {.struct_size = sizeof options, .audit = RL_ON, .audit_retention_s = 1};
    rl_limiter *limiter;
    int64_t removed;
    CHECK(rl_open(path, POLICY, &options, &limiter) == RL_OK);
    CHECK(rl_prune(limiter, RL_NOW, &removed) == RL_OK);
    die("no transaction rewrote a frame");
}

static pid_t start(void (*work)(const char *), const char *path)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        work(path);
    return child;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    struct score *score = new_score();
    reap(score, start(make_store, words[1]));

    CHECK(pipe(to_parent) == 0);
    pid_t pruner = start(prune, words[1]);
    close(to_parent[1]);
    char byte;
    CHECK(read(to_parent[0], &byte, 1) == 1);
    pid_t hitter = fork();
    CHECK(hitter >= 0);
    if (hitter == 0) {
        rl_options options = {.durability = RL_DURABLE_HIT};
        hits(score, open_store_with(words[1], options), atoi(words[2]));
        kill(getpid(), SIGKILL);
    }
    int status;
    CHECK(waitpid(hitter, &status, 0) == hitter);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(kill(pruner, SIGKILL) == 0 && waitpid(pruner, &status, 0) == pruner);
    print_score(score);
    printf("stored=%ld\n", in_file(words[1]));
    return 0;
}
