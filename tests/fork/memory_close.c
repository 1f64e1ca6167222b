/*
 * Forks while threads open and close stores in memory; each child hits a store in a file.
 *
 *     memory_close STORE FORKS
 */
#include "attack.h"

static atomic_int done;

static void *open_and_close(void *unused)
{
    while (!done)
        rl_close(open_store(":memory:", RL_ON));
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    rl_limiter *limiter = open_store(words[1], RL_ON);
    pthread_t threads[2];
    for (int index = 0; index < 2; index++)
        CHECK(pthread_create(&threads[index], NULL, open_and_close, NULL) == 0);
    int forks = 0;
    for (; forks < atoi(words[2]); forks++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            rl_result result;
            _exit(rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result) == RL_OK ? 0 : 1);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    done = 1;
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
    rl_result result;
    CHECK(rl_status(limiter, NULL, "k", 1, RL_NOW, &result) == RL_OK);
    printf("forks=%d stored=%ld\n", forks, (long)result.count);
    return 0;
}
