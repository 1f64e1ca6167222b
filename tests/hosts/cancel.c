/*
 * Threads are cancelled while they hit:   cancel STORE ROUNDS
 */
#include "attack.h"

static rl_limiter *limiter;
static atomic_long answered;

static void *keep_hitting(void *unused)
{
    rl_result result;
    for (;;) {
        CHECK(rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result) == RL_OK);
        answered++;
        pthread_testcancel();
    }
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    limiter = open_store(words[1], RL_ON);
    for (int round = 0; round < atoi(words[2]); round++) {
        pthread_t thread;
        long before = answered;
        CHECK(pthread_create(&thread, NULL, keep_hitting, NULL) == 0);
        while (answered < before + 3)
            sched_yield();
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    rl_result result;
    CHECK(rl_status(limiter, NULL, "k", 1, RL_NOW, &result) == RL_OK);
    printf("answered=%ld stored=%ld\n", (long)answered, (long)result.count);
    return 0;
}
