/*
 * A process stands in line for the write lock, which the host holds; another of its threads forks;
 * and before the fork is over, the call that stands there has waited long enough.
 *
 *     fork_in_line STORE
 */
#include "probe.h"

static rl_limiter *limiter;
static atomic_int has_given_up, is_forking;

static void *hit_in_vain(void *unused)
{
    rl_result result;
    CHECK(rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result) == RL_EBUSY);
    has_given_up = 1;
    return unused;
}

static void await_the_hit(void)
{
    double end = seconds() + 10;
    while (is_forking && !has_given_up)
        CHECK(seconds() < end);
}

/* Before the library's handlers are registered, so that this one is called after them. */
static void register_first(void)
{
    CHECK(pthread_atfork(await_the_hit, NULL, NULL) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = register_first;

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(30);
    make_store(words[1]);
    sqlite3 *host = host_open(words[1]);
    CHECK(sqlite3_exec(host, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    /* Each hit needs the write lock. */
    rl_options options = {.struct_size = sizeof options,
                          .busy_timeout_ms = 200,
                          .durability = RL_DURABLE_HIT};
    CHECK(rl_open(words[1], POLICY, &options, &limiter) == RL_OK);
    probe = open_wal_index(words[1]);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, hit_in_vain, NULL) == 0);
    until_line_is(1);
    is_forking = 1;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, NULL, 0) == child && pthread_join(thread, NULL) == 0);
    CHECK(locked_byte(LINE, 1) == 0);
    puts("left=1");
    return 0;
}
