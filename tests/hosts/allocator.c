/*
 * Under another allocator, which must be there: what the library allocates it frees itself, in
 * threads, beside forks, and after a refusal.
 *
 *     allocator STORE ROUNDS
 */
#include "attack.h"

#include <dlfcn.h>

static struct score *score;
static const char *path;

static void *keep_hitting(void *argument)
{
    while (!score->stop) {
        rl_limiter *none, *limiter = open_store(path, RL_OFF);
        hits(score, limiter, 10);
        CHECK(rl_open(path, "nonsense", NULL, &none) == RL_EPOLICY);
        rl_close(limiter);
    }
    return argument;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    if (dlsym(RTLD_DEFAULT, "mallctl") == NULL)
        die("another allocator is to be preloaded");
    path = words[1];
    score = new_score();
    rl_limiter *limiter = open_store(path, RL_ON);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_hitting, NULL) == 0);
    for (int round = 0; round < atoi(words[2]); round++) {
        hits(score, limiter, 5);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            hits(score, limiter, 5);
            rl_close(limiter);
            exit(0);
        }
        reap(score, child);
    }
    score->stop = 1;
    pthread_join(thread, NULL);
    rl_close(limiter);
    print_score(score);
    printf("stored=%ld\n", stored(path));
    return 0;
}
