/*
 * A process forks in one thread at the very moment when another makes its first call.
 *
 *     first_call STORE ROUNDS
 */
#include "attack.h"

static struct score *score;
static const char *path;
static atomic_int ready;

static void open_and_hit(void)
{
    rl_limiter *limiter = open_store(path, RL_ON);
    hit(score, limiter, 0);
    rl_close(limiter);
}

static void *call_first(void *unused)
{
    ready++;
    while (ready < 2) {
    }
    open_and_hit();
    return unused;
}

static void be_process(int round)
{
    alarm(60);
    pthread_t caller;
    CHECK(pthread_create(&caller, NULL, call_first, NULL) == 0);
    while (ready < 1) {
    }
    ready++;
    for (volatile int delay = round * 7919 % 30000; delay > 0; delay--) {
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(5);
        open_and_hit();
        _exit(0);
    }
    reap(score, child);
    pthread_join(caller, NULL);
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    path = words[1];
    score = new_score();
    /* One that hangs is enough to know. */
    for (int round = 0; round < atoi(words[2]) && score->hung == 0; round++) {
        pid_t process = fork();
        CHECK(process >= 0);
        if (process == 0)
            be_process(round);
        reap(score, process);
    }
    print_score(score);
    printf("stored=%ld\n", stored(path));
    return 0;
}
