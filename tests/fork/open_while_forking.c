/*
 * One thread opens and closes a second store while the other forks: neither may wait for the other
 * until a deadline.
 *
 *     open_while_forking DIRECTORY FORKS
 */
#include "attack.h"

static atomic_int done;
static atomic_long refused;
static char second[4096];

static void *open_and_close(void *unused)
{
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = 10000,
                          .keep_open = RL_OFF};
    while (!done) {
        rl_limiter *limiter;
        if (rl_open(second, POLICY, &options, &limiter) != RL_OK)
            refused++;
        rl_close(limiter);
    }
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    char first[4096];
    snprintf(first, sizeof first, "%s/first.db", words[1]);
    snprintf(second, sizeof second, "%s/second.db", words[1]);
    open_store(first, RL_ON);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, open_and_close, NULL) == 0);
    int forks = 0;
    for (; forks < atoi(words[2]); forks++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(0);
        CHECK(waitpid(child, NULL, 0) == child);
    }
    done = 1;
    pthread_join(thread, NULL);
    printf("forks=%d refused=%ld\n", forks, (long)refused);
    return 0;
}
