/*
 * Does the same thing again and again, each time in a new process and on a new store, and lets the
 * 1st, the 2nd, the 3rd ... system call of a kind fail, until it passes without meeting the fault.
 *
 *     nth DIRECTORY ACTION KIND EFFECT once|persistent CODES STRIDE MALLOC REALLOC
 *
 * EFFECT: the name of an error, short, dies-before or dies-after. CODES: those that fit it. STRIDE:
 * by how many percent N grows where it is large; 0: by 1. MALLOC and REALLOC: where in the library
 * SQLite's allocation functions are.
 */
#include "shim.h"

#include <sys/prctl.h>

enum { FIRED = 10, MOST_POINTS = 3000 };

static struct score *score;
static const char *path;
static rl_limiter *limiter;
static int recovers;

static const struct {
    const char *name;
    int error;
} errors[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
    {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN},
    {"ENOLCK", ENOLCK},
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

static void several_hits(int count)
{
    for (int number = 0; number < count; number++)
        note(hit_it(number));
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
    note(rl_refund(limiter, NULL, "k1", 2, 1, RL_NOW, &result));
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
    const char *own = strstr(text, "\"descriptors\":");
    CHECK(own != NULL);
    /* Some of a store that was set aside stay, and one that was opened for reading only. */
    int most = recovers ? 10 : strcmp(fault.kind, "open") == 0 ? 6 : 5;
    /* What fstat() does not know cannot be entered, so it cannot be closed. */
    if (strcmp(fault.kind, "stat") != 0 && atoi(own + strlen("\"descriptors\":")) > most)
        die("call %d: after the fault too many descriptors: %s", fault.number, text);
    rl_close(limiter);
}

static void check_store(long in_flight)
{
    sqlite3 *database = host_open(path);
    long sum = host_number(database, "SELECT total(attempts) FROM rate_limit_windows "
                                     "WHERE CAST(key AS TEXT) GLOB 'k*'");
    long sound = host_number(database, "SELECT group_concat(integrity_check) = 'ok' "
                                       "FROM pragma_integrity_check");
    sqlite3_close(database);
    if (sound != 1)
        die("call %d: \"%s\" is damaged", fault.number, path);
    if (sum < score->acknowledged || sum > score->acknowledged + in_flight)
        die("call %d: acknowledged %ld, stored %ld", fault.number, score->acknowledged, sum);
}

static void live_with_it(const char *action)
{
    prepare(action);
    arm();
    act(action);
    disarm();
    if (fault.effect == FAILS || fault.effect == SHORT) {
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
    CHECK(count == 10);
    const char *directory = words[1], *action = words[2];
    fault.kind = words[3];
    set_effect(words[4]);
    fault.is_persistent = strcmp(words[5], "persistent") == 0;
    fitting = words[6];
    int stride = atoi(words[7]);
    set_allocators(words[8], words[9]);
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
