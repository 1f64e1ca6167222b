/*
 * Another program holds an empty file, which is to become a store. One thread waits long for it;
 * the other has little patience, and must not wait longer for that.
 *
 *     patience STORE
 */
#include "attack.h"

static const char *path;
static atomic_int is_waiting;

static int open_within(long milliseconds)
{
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = milliseconds};
    rl_limiter *limiter;
    int code = rl_open(path, POLICY, &options, &limiter);
    rl_close(limiter);
    return code;
}

static void *wait_long(void *unused)
{
    is_waiting = 1;
    CHECK(open_within(4000) == RL_EBUSY);
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    path = words[1];
    alarm(30);
    CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
    sqlite3 *host = host_open(path);
    CHECK(sqlite3_exec(host, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
    double alone = seconds();
    CHECK(open_within(100) == RL_EBUSY);
    alone = seconds() - alone;

    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, wait_long, NULL) == 0);
    while (!is_waiting)
        sched_yield();
    double slowest = 0;
    for (int time = 0; time < 5; time++) {
        double began = seconds();
        CHECK(open_within(100) == RL_EBUSY);
        if (seconds() - began > slowest)
            slowest = seconds() - began;
    }
    pid_t child;
    double fork_took = seconds();
    CHECK((child = fork()) >= 0);
    if (child == 0)
        _exit(0);
    fork_took = seconds() - fork_took;
    waitpid(child, NULL, 0);
    pthread_join(waiting, NULL);
    printf("alone_ms=%.0f slowest_ms=%.0f fork_ms=%.0f\n", alone * 1000, slowest * 1000,
           fork_took * 1000);
    return 0;
}
