/*
 * Of limiters that threads close at once one is the last: what a process counted is in the file when
 * all of them are closed.
 *
 *     last_closes STORE PROCESSES
 */
#include "attack.h"

enum { LIMITERS = 2 };

static rl_limiter *limiters[LIMITERS];
static atomic_int ready;

static void *close_one(void *limiter)
{
    ready++;
    while (ready < LIMITERS)
        ;
    rl_close(limiter);
    return NULL;
}

static void hit_and_close(const char *path, int number)
{
    rl_options options = {.struct_size = sizeof options, .flush_interval_ms = 60000};
    for (int index = 0; index < LIMITERS; index++)
        CHECK(rl_open(path, POLICY, &options, &limiters[index]) == RL_OK);
    char key[20];
    rl_result result;
    int length = snprintf(key, sizeof key, "process %d", number);
    CHECK(rl_hit(limiters[0], NULL, key, length, 1, RL_NOW, &result) == RL_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, close_one, limiters[0]) == 0);
    close_one(limiters[1]);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    int processes = atoi(words[2]), written = 0, status;
    for (int number = 0; number < processes; number++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            hit_and_close(words[1], number);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        /* At once: the next process would write what this one has left. */
        sqlite3 *host = host_open(words[1]);
        written += host_number(host, "SELECT count(*) FROM rate_limit_windows") == number + 1;
        sqlite3_close(host);
    }
    printf("written=%d\n", written);
    return 0;
}
