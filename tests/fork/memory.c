/*
 * A store in memory is copied by fork(), while threads hit it.
 *
 *     memory FORKS
 */
#include "attack.h"

static struct score *score;
static rl_limiter *limiter;

static void *keep_busy(void *unused)
{
    while (!score->stop)
        hits(score, limiter, 7);
    return unused;
}

static long count_of(const char *key)
{
    rl_result result;
    CHECK(rl_hit(limiter, NULL, key, strlen(key), 1, RL_NOW, &result) == RL_OK);
    return result.count;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    score = new_score();
    limiter = open_store(":memory:", RL_ON);
    pthread_t threads[3];
    for (int index = 0; index < 3; index++)
        CHECK(pthread_create(&threads[index], NULL, keep_busy, NULL) == 0);
    for (int number = 1; number <= atoi(words[1]); number++) {
        CHECK(count_of("mine") == 2 * number - 1);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            for (int more = 0; more < 5; more++)
                CHECK(count_of("mine") == 2 * number + more);
            rl_close(limiter);
            _exit(0);
        }
        CHECK(count_of("mine") == 2 * number);
        reap(score, child);
    }
    score->stop = 1;
    for (int index = 0; index < 3; index++)
        pthread_join(threads[index], NULL);
    rl_close(limiter);
    print_score(score);
    puts("copies=apart");
    return 0;
}
