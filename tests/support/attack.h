/*
 * What the attack programs share: a score in memory that survives any of the processes, hits that
 * are entered there, and the host's own SQLite as judge.
 */
#ifndef ATTACK_H
#define ATTACK_H

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ratelite.h>
#include <sqlite3.h>

/* No test reaches this limit, and no window ends under one. */
#define POLICY "attack: 9007199254740991/366d"

struct score {
    atomic_long started, acknowledged, failed, last_code, host_commits, host_code, hung;
    atomic_int stop;
    char last_error[400];
};

/* Where a program says why it fails; another than 2 where it has none. */
static int complaints = 2;

__attribute__((unused, noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    text[length] = '\n';
    if (write(complaints, text, length + 1) < 0)
        _exit(98);
    _exit(99);
}

#define CHECK(claim) \
    do { if (!(claim)) die("%s:%d: not so: %s (%s)", __FILE__, __LINE__, #claim, rl_last_error()); } \
    while (0)

/* For a child that nobody would stop if its parent failed: the test would wait for it for ever. */
__attribute__((unused)) static void die_with_parent(void)
{
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
}

__attribute__((unused)) static struct score *new_score(void)
{
    void *page = mmap(NULL, sizeof(struct score), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

__attribute__((unused)) static rl_limiter *open_store_with(const char *path, rl_options options)
{
    options.struct_size = sizeof options;
    if (options.busy_timeout_ms == 0)
        options.busy_timeout_ms = 20000;
    rl_limiter *limiter;
    int code = rl_open(path, POLICY, &options, &limiter);
    if (code != RL_OK)
        die("rl_open(\"%s\") = %d in %d: %s", path, code, getpid(), rl_last_error());
    return limiter;
}

__attribute__((unused)) static rl_limiter *open_store(const char *path, int keep_open)
{
    return open_store_with(path, (rl_options){.keep_open = keep_open});
}

/* One hit, in the score whatever becomes of it. */
__attribute__((unused)) static int hit(struct score *score, rl_limiter *limiter, int number)
{
    char key[16];
    int length = snprintf(key, sizeof key, "k%d", number % 97);
    rl_result result;
    score->started++;
    int code = rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result);
    if (code == RL_OK && result.allowed) {
        score->acknowledged++;
    } else {
        score->failed++;
        score->last_code = code;
        snprintf(score->last_error, sizeof score->last_error, "%s", rl_last_error());
    }
    return code;
}

__attribute__((unused)) static void hits(struct score *score, rl_limiter *limiter, int count)
{
    for (int number = 0; number < count; number++)
        hit(score, limiter, number);
}

/* SQLite's own waiting sleeps up to 100 ms: too polite for an attack. */
__attribute__((unused)) static int wait_a_little(void *unused, int tries)
{
    (void)unused;
    struct timespec pause = {0, 50000};
    nanosleep(&pause, NULL);
    return tries < 200000;
}

__attribute__((unused)) static sqlite3 *host_open(const char *path)
{
    sqlite3 *database;
    int code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    if (code != SQLITE_OK)
        die("the host's sqlite3_open(\"%s\") = %d", path, code);
    sqlite3_busy_handler(database, wait_a_little, NULL);
    return database;
}

__attribute__((unused)) static long host_number(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        die("the host's \"%s\": %s", sql, sqlite3_errmsg(database));
    long number = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    if (sqlite3_finalize(statement) != SQLITE_OK)
        die("the host's \"%s\": %s", sql, sqlite3_errmsg(database));
    return number;
}

/* What the file says, by another SQLite; and that it is sound. */
__attribute__((unused)) static long in_file(const char *path)
{
    sqlite3 *database = host_open(path);
    long sum = host_number(database, "SELECT total(attempts) FROM rate_limit_windows");
    long sound = host_number(database,
                             "SELECT group_concat(integrity_check) = 'ok' FROM pragma_integrity_check");
    sqlite3_close(database);
    if (sound != 1)
        die("\"%s\" is damaged", path);
    return sum;
}

/* Has everything in the file that was counted until now. By a process of its own: this one stays as
 * it is. */
__attribute__((unused)) static void write_all_out(const char *path)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int64_t removed;
        unsetenv("RATELITE_POINTS"); /* the end of others, not of this one */
        CHECK(rl_prune(open_store(path, RL_ON), 0, &removed) == RL_OK && removed == 0);
        _exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK(status == 0);
}

/* What was counted until now. */
__attribute__((unused)) static long counted(const char *path)
{
    write_all_out(path);
    return in_file(path);
}

/* The same, of hits of the usual durability: in the other modes of the tests each has written. */
__attribute__((unused)) static long stored(const char *path)
{
    return getenv("RATELITE_TEST") == NULL ? counted(path) : in_file(path);
}

/*
 * What the file says was granted, where some hits have failed: those granted nothing. Their attempts
 * may be counted, but not by a store that counts in rows.
 */
__attribute__((unused)) static long granted_in_file(const char *path)
{
    sqlite3 *database = host_open(path);
    long admitted = host_number(database, "SELECT total(admitted) FROM rate_limit_windows");
    long in_rows = host_number(database, "SELECT value = 2 FROM meta WHERE name = 'format'");
    sqlite3_close(database);
    long attempts = in_file(path);
    if (attempts < admitted || (in_rows && attempts > admitted))
        die("%ld attempts, %ld granted", attempts, admitted);
    return admitted;
}

__attribute__((unused)) static long granted(const char *path)
{
    write_all_out(path);
    return granted_in_file(path);
}

/* A number that rl_info tells by this name. */
__attribute__((unused)) static long told(rl_limiter *limiter, const char *name)
{
    char text[4000], member[64];
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    snprintf(member, sizeof member, "\"%s\":", name);
    const char *value = strstr(text, member);
    if (value == NULL)
        die("rl_info has no %s: %s", member, text);
    return atol(value + strlen(member));
}

__attribute__((unused)) static void remove_store(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-table"};
    for (int index = 0; index < 4; index++) {
        char file[4200];
        snprintf(file, sizeof file, "%s%s", path, endings[index]);
        CHECK(unlink(file) == 0 || errno == ENOENT);
    }
}

__attribute__((unused)) static void print_score(const struct score *score)
{
    printf("started=%ld acknowledged=%ld failed=%ld last_code=%ld hung=%ld ", score->started,
           score->acknowledged, score->failed, score->last_code, score->hung);
    if (score->failed > 0)
        printf("(%s) ", score->last_error);
}

__attribute__((unused)) static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

__attribute__((unused)) static void run_for(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

__attribute__((unused)) static int count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the directory's own */
}

/* Waits for a child; one that its alarm ended counts as hung. */
__attribute__((unused)) static void reap(struct score *score, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        score->hung++;
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die("child %d ended with status %#x", child, status);
}

/* An fcntl that is `work`. Its argument is a register, whether it means something or not. */
#define WRAP_FCNTL(name, work)                                                                     \
    int name(int fd, int command, ...)                                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void *argument = va_arg(arguments, void *);                                                \
        va_end(arguments);                                                                         \
        return work(fd, command, argument);                                                        \
    }

#endif
