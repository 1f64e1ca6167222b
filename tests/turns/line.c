/*
 * The host holds the write lock, and a process stands in line for it. What becomes of the line?
 *
 *     line STORE killed|continued|forked|gives-up
 */
#include "probe.h"

enum { OTHERS = 2, HITS = 1000 };

static const char *path;
static struct score *score;
static struct {
    atomic_int has_given_up;
    atomic_int grandchild;
} *seen;

static void *hit_once(void *patience)
{
    /* Each hit needs the write lock. */
    rl_options options = {.struct_size = sizeof options,
                          .busy_timeout_ms = *(long *)patience,
                          .durability = RL_DURABLE_HIT};
    rl_limiter *limiter;
    rl_result result;
    CHECK(rl_open(path, POLICY, &options, &limiter) == RL_OK);
    int code = rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
    CHECK(code == RL_OK || code == RL_EBUSY);
    if (code == RL_OK)
        score->acknowledged++;
    else
        seen->has_given_up = 1;
    return NULL;
}

static void fork_in_line(void)
{
    until_line_is(1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0)
        return;
    alarm(15);
    /* From here on: what it has of its parent, fork() takes away before it returns. */
    seen->grandchild = getpid();
    for (;;)
        pause();
}

/* In a thread, so that the process may do something else meanwhile, or stay. */
static pid_t start_waiter(const char *manner)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0)
        return child;
    die_with_parent();
    long patience = strcmp(manner, "gives-up") == 0 ? 200 : 20000;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, hit_once, &patience) == 0);
    if (strcmp(manner, "forked") == 0)
        fork_in_line();
    CHECK(pthread_join(thread, NULL) == 0);
    while (seen->has_given_up)
        pause();
    _exit(0);
}

static void others_hit(void)
{
    pid_t children[OTHERS];
    for (int index = 0; index < OTHERS; index++) {
        children[index] = fork();
        CHECK(children[index] >= 0);
        if (children[index] != 0)
            continue;
        die_with_parent();
        alarm(15); /* who waited for the one in line at each look would need longer */
        hits(score, open_store(path, RL_ON), HITS);
        _exit(0);
    }
    for (int index = 0; index < OTHERS; index++)
        reap(score, children[index]);
    CHECK(score->hung == 0 && score->failed == 0);
    CHECK(score->acknowledged == OTHERS * HITS);
}

static void stop(pid_t process)
{
    int status;
    CHECK(kill(process, SIGSTOP) == 0);
    CHECK(waitpid(process, &status, WUNTRACED) == process && WIFSTOPPED(status));
}

static void end(pid_t process)
{
    CHECK(kill(process, SIGKILL) == 0 && waitpid(process, NULL, 0) == process);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    alarm(60);
    path = words[1];
    const char *manner = words[2];
    score = new_score();
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(seen != MAP_FAILED);
    make_store(path);
    sqlite3 *host = host_open(path);
    CHECK(sqlite3_exec(host, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    probe = open_wal_index(path);
    CHECK(locked_byte(LINE, 1) == 0);
    pid_t waiter = start_waiter(manner);
    until_line_is(1);

    if (strcmp(manner, "gives-up") == 0) {
        double end_of_wait = seconds() + 10;
        while (!seen->has_given_up)
            CHECK(seconds() < end_of_wait);
        /* Though it lives, and the lock is still the host's. */
        CHECK(locked_byte(LINE, 1) == 0);
        end(waiter);
    } else if (strcmp(manner, "forked") == 0) {
        while (seen->grandchild == 0)
            sched_yield();
        until_line_is(1);
        end(waiter);
        /* Its child lives, and stands nowhere. */
        CHECK(kill(seen->grandchild, 0) == 0);
        CHECK(locked_byte(LINE, 1) == 0);
        CHECK(kill(seen->grandchild, SIGKILL) == 0);
    } else {
        stop(waiter);
        CHECK(locked_byte(LINE, 1) == LINE);
        CHECK(sqlite3_exec(host, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
        others_hit();
        CHECK(locked_byte(LINE, 1) == LINE);
        if (strcmp(manner, "killed") == 0) {
            end(waiter);
        } else {
            CHECK(kill(waiter, SIGCONT) == 0);
            reap(score, waiter);
        }
        CHECK(locked_byte(LINE, 1) == 0);
    }
    sqlite3_close(host);
    print_score(score);
    printf("granted=%ld\n", granted(path));
    return 0;
}
