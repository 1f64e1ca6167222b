/*
 * Forks again and again while threads hit; every child hits with what it inherited.
 *
 *     storm STORE FORKS FORKING_THREADS BUSY_THREADS
 */
#include "attack.h"

static struct score *score;
static rl_limiter *limiter;
static int forks_a_thread;
static atomic_long slowest_fork_us, slowest_hit_us;

static void note(atomic_long *slowest, double began)
{
    long took = (seconds() - began) * 1e6, before = *slowest;
    while (took > before && !atomic_compare_exchange_weak(slowest, &before, took)) {
    }
}

static void *keep_busy(void *unused)
{
    for (int number = 0; !score->stop; number++) {
        double began = seconds();
        hit(score, limiter, number);
        note(&slowest_hit_us, began);
    }
    return unused;
}

static void *keep_forking(void *unused)
{
    for (int number = 0; number < forks_a_thread; number++) {
        double began = seconds();
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            hits(score, limiter, 2);
            _exit(0);
        }
        note(&slowest_fork_us, began);
        hits(score, limiter, 2);
        reap(score, child);
    }
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 5);
    int forking = atoi(words[3]), busy = atoi(words[4]);
    CHECK(forking + busy <= 16);
    forks_a_thread = atoi(words[2]) / forking;
    score = new_score();
    limiter = open_store(words[1], RL_ON);

    pthread_t threads[16];
    for (int index = 0; index < forking + busy; index++)
        CHECK(pthread_create(&threads[index], NULL, index < busy ? keep_busy : keep_forking,
                             NULL) == 0);
    for (int index = busy; index < busy + forking; index++)
        pthread_join(threads[index], NULL);
    score->stop = 1;
    for (int index = 0; index < busy; index++)
        pthread_join(threads[index], NULL);
    rl_close(limiter);

    print_score(score);
    printf("stored=%ld slowest_fork_us=%ld slowest_hit_us=%ld\n", stored(words[1]),
           slowest_fork_us, slowest_hit_us);
    return 0;
}
