/*
 * Does the same thing again and again, each time in a new process and on a new store, and lets the
 * 1st, the 2nd, the 3rd ... system call of a kind fail, until it passes without meeting the fault.
 *
 *     nth DIRECTORY ACTION hit|interval KIND EFFECT once|persistent CODES STRIDE MALLOC REALLOC
 *
 * hit, interval: when a hit is in the file. EFFECT: the name of an error, short, dies-before or
 * dies-after. CODES: those that fit it. STRIDE: by how many percent N grows where it is large; 0: by
 * 1. MALLOC and REALLOC: where in the library SQLite's allocation functions are.
 */
#include "shim.h"

#include <sys/prctl.h>

enum { FIRED = 10, MOST_POINTS = 3000 };

static struct score *score;
static const char *path;
static rl_limiter *limiter;
static int recovers, at_interval;
static long refunded, perhaps_refunded;

static const struct {
    const char *name;
    int error;
} errors[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
    {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN},
    {"ENOLCK", ENOLCK}, {"ENOSYS", ENOSYS},
};

/* The codes that fit the fault, as "-5,-6"; success always does. */
static const char *fitting;

static int fits(int code)
{
    char list[40], wanted[20];
    snprintf(list, sizeof list, ",%s,", fitting);
    snprintf(wanted, sizeof wanted, ",%d,", code);
    return strstr(list, wanted) != NULL;
}

static int note(int code)
{
    if (code != RL_OK) {
        score->failed++;
        score->last_code = code;
        snprintf(score->last_error, sizeof score->last_error, "%s", rl_last_error());
        if (!fits(code)) {
            disarm();
            die("call %d of the kind: code %d instead of %s: %s", fault.number, code, fitting,
                rl_last_error());
        }
    }
    return code;
}

static int open_it(int keep_open, int recover)
{
    rl_options options = {0};
    options.struct_size = sizeof options;
    options.busy_timeout_ms = 30;
    options.keep_open = keep_open;
    options.recover_corrupt = recover;
    options.durability = at_interval ? RL_DURABLE_INTERVAL : RL_DURABLE_HIT;
    options.flush_interval_ms = 1;
    options.table_slots = 256;
    int code = rl_open(path, POLICY, &options, &limiter);
    CHECK((code == RL_OK) == (limiter != NULL));
    return code;
}

/* A hit that keeps the score, and that says nothing of an allowance when it fails. */
static int hit_it(int number)
{
    char key[16];
    int length = snprintf(key, sizeof key, "k%d", number % 97);
    rl_result result, none = {0};
    memset(&result, 0xA5, sizeof result);
    score->started++;
    int code = rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result);
    if (code == RL_OK) {
        CHECK(result.allowed == 1);
        score->acknowledged++;
    } else {
        CHECK(memcmp(&result, &none, sizeof none) == 0);
    }
    return code;
}

static void must_hit(int count)
{
    for (int number = 0; number < count; number++)
        CHECK(hit_it(number) == RL_OK);
}

static long log_size(void)
{
    char log[4200];
    struct stat facts;
    snprintf(log, sizeof log, "%s-wal", path);
    return syscall(SYS_newfstatat, AT_FDCWD, log, &facts, 0) == 0 ? facts.st_size : 0;
}

static void end_without_closing(void (*work)(void))
{
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    reap(score, child);
}

static void open_and_hit(void)
{
    CHECK(open_it(RL_OFF, 0) == RL_OK);
    must_hit(20);
}

static void open_hit_and_close(void)
{
    open_and_hit();
    rl_close(limiter);
    limiter = NULL;
}

static void make_damaged_store(void)
{
    end_without_closing(open_hit_and_close);
    int fd = really_open(path, O_RDWR, 0);
    char bad[4096];
    memset(bad, 0xA5, sizeof bad);
    for (off_t at = sizeof bad; at < lseek(fd, 0, SEEK_END); at += sizeof bad)
        CHECK(pwrite(fd, bad, sizeof bad, at) == sizeof bad);
    close(fd);
    score->started = score->acknowledged = 0;
}

/* What comes before the fault. */
static void prepare(const char *action)
{
    if (strcmp(action, "creates") == 0)
        return;
    if (strcmp(action, "opens") == 0 || strcmp(action, "trusts") == 0) {
        end_without_closing(open_hit_and_close);
    } else if (strcmp(action, "recovers") == 0) {
        end_without_closing(open_and_hit);
    } else if (strcmp(action, "sets-aside") == 0) {
        make_damaged_store();
    } else {
        open_and_hit();
        rl_result result;
        CHECK(rl_hit(limiter, NULL, "old", 3, 1, 1000, &result) == RL_OK);
        CHECK(rl_hit(limiter, NULL, "gone", 4, 5, 1000, &result) == RL_OK);
        /* The log is moved when it passes 8 MiB; a frame has 1,024 bytes and 24 of its own. */
        if (strcmp(action, "checkpoints") == 0)
            while (log_size() < (8 << 20) - 4 * 1048L)
                must_hit(1);
    }
}

static int64_t wall_ms(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* At an interval, each comes when it is time to write. */
static void several_hits(int count)
{
    for (int number = 0; number < count; number++) {
        int64_t until = wall_ms() + (at_interval ? 10 : 0);
        while (wall_ms() < until)
            sched_yield();
        note(hit_it(number));
    }
}

static void fork_and_hit(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    several_hits(2);
    if (child == 0)
        _exit(fault.has_fired ? FIRED : 0);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    int was_killed = fault.effect >= KILLS_BEFORE && WIFSIGNALED(status);
    CHECK(was_killed || status == 0 || WEXITSTATUS(status) == FIRED);
    fault.has_fired |= status != 0;
}

static void other_calls(void)
{
    rl_result result;
    int64_t removed;
    char text[2000];
    note(rl_status(limiter, NULL, "k1", 2, RL_NOW, &result));
    perhaps_refunded = 1;
    refunded = note(rl_refund(limiter, NULL, "k1", 2, 1, RL_NOW, &result)) == RL_OK;
    note(rl_reset(limiter, NULL, "gone", 4, &removed));
    note(rl_prune(limiter, RL_NOW, &removed));
    int length = rl_info(limiter, text, sizeof text);
    note(length < 0 ? length : RL_OK);
}

static void act(const char *action)
{
    if (limiter == NULL) {
        if (note(open_it(RL_OFF, recovers)) == RL_OK)
            several_hits(2);
    } else if (strcmp(action, "hits") == 0 || strcmp(action, "checkpoints") == 0) {
        several_hits(8);
    } else if (strcmp(action, "closes") == 0) {
        rl_close(limiter);
        limiter = NULL;
    } else if (strcmp(action, "forks") == 0) {
        fork_and_hit();
    } else {
        CHECK(strcmp(action, "asks") == 0);
        other_calls();
    }
}

static int is_in_rows(void)
{
    const char *mode = getenv("RATELITE_TEST");
    return mode != NULL && strcmp(mode, "rows") == 0;
}

/* With the fault gone: at once as if nothing had been. */
static void check_recovery(void)
{
    if (limiter == NULL && open_it(RL_OFF, recovers) != RL_OK)
        die("call %d: after the fault: %s", fault.number, rl_last_error());
    for (int number = 0; number < 3; number++)
        if (hit_it(number) != RL_OK)
            die("call %d: after the fault: %s", fault.number, rl_last_error());
    char text[2000];
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    if (strstr(text, "\"locks\":\"ofd\"") == NULL)
        die("call %d: after the fault the locks are others: %s", fault.number, text);
    int has_table = strstr(text, "\"table\":null") == NULL, a_store = has_table ? 6 : 5;
    if (!has_table && !is_in_rows())
        die("call %d: after the fault the store counts in rows for good: %s", fault.number, text);
    /* Some of a store that was set aside stay, and one that was opened for reading only. */
    int most = recovers ? 2 * a_store : strcmp(fault.kind, "open") == 0 ? a_store + 1 : a_store;
    /* What fstat() does not know cannot be entered, so it cannot be closed. */
    if (strcmp(fault.kind, "stat") != 0 && told(limiter, "descriptors") > most)
        die("call %d: after the fault too many descriptors: %s", fault.number, text);
    int64_t removed;
    if (at_interval && rl_prune(limiter, 0, &removed) != RL_OK)
        die("call %d: after the fault: %s", fault.number, rl_last_error());
    rl_close(limiter);
}

#define OF_HITS " FROM rate_limit_windows WHERE CAST(key AS TEXT) GLOB 'k*'"

static void check_store(long in_flight)
{
    sqlite3 *database = host_open(path);
    /* In rows, a hit that fails counts nothing at all; in a table it grants nothing. */
    long sum = is_in_rows() ? host_number(database, "SELECT total(attempts)" OF_HITS)
                            : host_number(database, "SELECT total(admitted)" OF_HITS);
    long least = score->acknowledged - (is_in_rows() ? 0 : perhaps_refunded);
    long most = score->acknowledged - (is_in_rows() ? 0 : refunded) + in_flight;
    long sound = host_number(database, "SELECT group_concat(integrity_check) = 'ok' "
                                       "FROM pragma_integrity_check");
    sqlite3_close(database);
    if (sound != 1)
        die("call %d: \"%s\" is damaged", fault.number, path);
    if (sum < least || sum > most)
        die("call %d: acknowledged %ld, stored %ld", fault.number, score->acknowledged, sum);
}

static void live_with_it(const char *action)
{
    prepare(action);
    arm();
    act(action);
    disarm();
    if (fault.effect == FAILS || fault.effect == SHORT) {
        if (!at_interval && score->acknowledged > 0)
            check_store(score->started);
        check_recovery();
        check_store(0);
    }
    _exit(fault.has_fired ? FIRED : 0);
}

/* What a process that was killed leaves behind must not hold the next one up. */
static void come_after(void)
{
    double began = seconds();
    limiter = NULL;
    check_recovery();
    double took = seconds() - began;
    if (took > 1)
        die("call %d: the next open took %.1f s", fault.number, took);
    check_store(2);
}

/* Whether the fault was met. */
static int is_met(const char *action)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(5);
        live_with_it(action);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    int was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    /* Its child may still be hitting. */
    while (waitpid(-1, NULL, 0) > 0) {
    }
    if (fault.effect >= KILLS_BEFORE)
        end_without_closing(come_after);
    if (!was_killed && status != 0 && WEXITSTATUS(status) != FIRED)
        die("call %d: the process ended with status %#x", fault.number, status);
    return status != 0;
}

static void set_effect(const char *name)
{
    if (strcmp(name, "short") == 0)
        fault.effect = SHORT;
    else if (strcmp(name, "dies-before") == 0)
        fault.effect = KILLS_BEFORE;
    else if (strcmp(name, "dies-after") == 0)
        fault.effect = KILLS_AFTER;
    for (size_t index = 0; index < sizeof errors / sizeof *errors; index++)
        if (strcmp(name, errors[index].name) == 0)
            fault.error = errors[index].error;
    if (fault.effect == FAILS && fault.error == 0)
        die("no effect %s", name);
}

static void remove_everything(const char *directory)
{
    DIR *all = opendir(directory);
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        if (entry->d_name[0] != '.')
            CHECK(unlinkat(dirfd(all), entry->d_name, 0) == 0);
    closedir(all);
}

static int has_corrupt_copy(const char *directory)
{
    int found = 0;
    DIR *all = opendir(directory);
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        found |= strstr(entry->d_name, ".corrupt-") != NULL;
    closedir(all);
    return found;
}

int main(int count, char **words)
{
    CHECK(count == 11);
    const char *directory = words[1], *action = words[2];
    at_interval = strcmp(words[3], "interval") == 0;
    fault.kind = words[4];
    set_effect(words[5]);
    fault.is_persistent = strcmp(words[6], "persistent") == 0;
    fitting = words[7];
    int stride = atoi(words[8]);
    set_allocators(words[9], words[10]);
    recovers = strcmp(action, "sets-aside") == 0 || strcmp(action, "trusts") == 0;
    char file[4096];
    snprintf(file, sizeof file, "%s/store.db", directory);
    path = file;
    score = new_score();
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);

    double began = seconds();
    int points = 0, is_on = 1;
    while (is_on) {
        CHECK(points < MOST_POINTS);
        score->started = score->acknowledged = 0;
        fault.number += 1 + fault.number * stride / 100;
        is_on = is_met(action);
        points += is_on;
        if (strcmp(action, "sets-aside") != 0 && has_corrupt_copy(directory))
            die("call %d: a good store was moved aside", fault.number);
        remove_everything(directory);
    }
    printf("points=%d failed=%ld took_ms=%.0f\n", points, score->failed,
           (seconds() - began) * 1000);
    return 0;
}
