/*
 * Twenty processes open a store at the same moment and hit once, after others have died on it.
 *
 *     openers STORE
 */
#include "attack.h"

enum { OPENERS = 20 };

int main(int count, char **words)
{
    CHECK(count == 2);
    struct score *score = new_score();
    atomic_int *ready = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    atomic_long *slowest_ms = (atomic_long *)(ready + 2);
    pid_t children[OPENERS];
    for (int index = 0; index < OPENERS; index++) {
        children[index] = fork();
        CHECK(children[index] >= 0);
        if (children[index] != 0)
            continue;
        alarm(30);
        ++*ready;
        while (*ready < OPENERS)
            sched_yield();
        double began = seconds();
        rl_limiter *limiter = open_store(words[1], RL_ON);
        hit(score, limiter, 0);
        long took = (seconds() - began) * 1000, slowest = *slowest_ms;
        while (took > slowest && !atomic_compare_exchange_weak(slowest_ms, &slowest, took)) {
        }
        _exit(0);
    }
    for (int index = 0; index < OPENERS; index++)
        reap(score, children[index]);
    print_score(score);
    printf("slowest_ms=%ld\n", *slowest_ms);
    return 0;
}
