/*
 * Forks while threads make, open, close and delete stores; every child does so too.
 *
 *     opening DIRECTORY FORKS
 */
#include "attack.h"

enum { THREADS = 4 };

static struct score *score;
static const char *directory;
static atomic_int next_number;

static void live_and_die(int keep_open)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%d.db", directory, getpid(), next_number++);
    rl_limiter *limiter =
        open_store_with(path, (rl_options){.keep_open = keep_open, .table_slots = 256});
    hits(score, limiter, 2);
    rl_close(limiter);
    remove_store(path);
}

static void *keep_busy(void *unused)
{
    while (!score->stop)
        live_and_die(RL_OFF);
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    directory = words[1];
    score = new_score();
    live_and_die(RL_OFF);
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++)
        CHECK(pthread_create(&threads[index], NULL, keep_busy, NULL) == 0);
    for (int number = 0; number < atoi(words[2]); number++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            live_and_die(RL_OFF);
            live_and_die(RL_ON);
            _exit(0);
        }
        reap(score, child);
    }
    score->stop = 1;
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    print_score(score);
    puts("");
    return 0;
}
