/*
 * What the defences cost: a benchmark, not a test. Each library is a build with other cargo
 * features; they take turns, so that the machine's mood falls on all of them.
 *
 *     cost DIRECTORY ROUNDS LIBRARY...
 *
 * Prints for each the medians of: a hit, a fork with nothing open, a fork with the store open, and
 * the latter with the hit that follows, all in microseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ratelite.h>

enum { HITS = 5000, FORKS = 200, KINDS = 4, MOST_ROUNDS = 100, MOST_LIBRARIES = 8 };

static const char *const kinds[KINDS] = {"hit", "fork, nothing open", "fork, store open",
                                         "fork and hit"};

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void *need(void *pointer)
{
    if (pointer == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return pointer;
}

static double fork_once(void)
{
    double began = microseconds();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    double took = microseconds() - began;
    waitpid(child, NULL, 0);
    return took;
}

static void measure(const char *library, const char *store, double *times)
{
    void *loaded = need(dlopen(library, RTLD_NOW | RTLD_LOCAL));
    __typeof__(rl_open) *open_limiter = need(dlsym(loaded, "rl_open"));
    __typeof__(rl_hit) *hit = need(dlsym(loaded, "rl_hit"));
    memset(times, 0, KINDS * sizeof *times);
    for (int number = 0; number < FORKS; number++)
        times[1] += fork_once() / FORKS;

    rl_limiter *limiter;
    rl_result result;
    if (open_limiter(store, "1/s", NULL, &limiter) != RL_OK)
        exit(1);
    double began = microseconds();
    for (int number = 0; number < HITS; number++)
        hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
    times[0] = (microseconds() - began) / HITS;

    for (int number = 0; number < FORKS; number++) {
        began = microseconds();
        double fork_took = fork_once();
        double waited = microseconds() - began - fork_took;
        hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
        times[2] += fork_took / FORKS;
        times[3] += (microseconds() - began - waited) / FORKS;
    }
}

static int compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **words)
{
    int rounds = count > 3 ? atoi(words[2]) : 0, libraries = count - 3;
    static double all[MOST_LIBRARIES][KINDS][MOST_ROUNDS];
    if (rounds < 1 || rounds > MOST_ROUNDS || libraries > MOST_LIBRARIES) {
        fprintf(stderr, "cost DIRECTORY ROUNDS LIBRARY...\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++) {
        for (int index = 0; index < libraries; index++) {
            char store[4200];
            snprintf(store, sizeof store, "%s/cost-%d.db", words[1], index);
            int result[2];
            if (pipe(result) != 0)
                return 1;
            if (fork() == 0) {
                double times[KINDS];
                measure(words[3 + index], store, times);
                _exit(write(result[1], times, sizeof times) != sizeof times);
            }
            double times[KINDS];
            close(result[1]);
            if (read(result[0], times, sizeof times) != sizeof times)
                return 1;
            close(result[0]);
            wait(NULL);
            for (int kind = 0; kind < KINDS; kind++)
                all[index][kind][round] = times[kind];
        }
    }
    for (int index = 0; index < libraries; index++) {
        printf("%s\n", words[3 + index]);
        for (int kind = 0; kind < KINDS; kind++) {
            qsort(all[index][kind], rounds, sizeof(double), compare);
            printf("  %-20s %9.2f   (fastest %.2f)   ×%.2f of the first\n", kinds[kind],
                   all[index][kind][rounds / 2], all[index][kind][0],
                   all[index][kind][rounds / 2] / all[0][kind][rounds / 2]);
        }
    }
    return 0;
}
