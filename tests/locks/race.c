/*
 * Many processes open the same path at the same moment and hit once.
 *
 *     race DIRECTORY ROUNDS PROCESSES absent|empty
 */
#include "attack.h"

struct start {
    atomic_int ready, round;
    atomic_long slowest_us;
};

static struct score *score;
static struct start *start;

static void note_time(double began)
{
    long took = (seconds() - began) * 1e6, slowest = start->slowest_us;
    while (took > slowest && !atomic_compare_exchange_weak(&start->slowest_us, &slowest, took)) {
    }
}

static void racer(const char *path, int round)
{
    alarm(60);
    start->ready++;
    while (start->round != round)
        sched_yield();
    double began = seconds();
    rl_limiter *limiter = open_store(path, RL_ON);
    hit(score, limiter, 0);
    note_time(began);
    rl_close(limiter);
    _exit(0);
}

static void run_round(const char *path, int round, int processes)
{
    pid_t children[64];
    start->ready = 0;
    for (int index = 0; index < processes; index++) {
        children[index] = fork();
        CHECK(children[index] >= 0);
        if (children[index] == 0)
            racer(path, round);
    }
    while (start->ready < processes)
        sched_yield();
    start->round = round;
    for (int index = 0; index < processes; index++)
        reap(score, children[index]);
}

int main(int count, char **words)
{
    CHECK(count == 5);
    int rounds = atoi(words[2]), processes = atoi(words[3]);
    CHECK(processes <= 64);
    score = new_score();
    start = mmap(NULL, sizeof *start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    long total = 0;
    for (int round = 1; round <= rounds; round++) {
        char path[4100];
        snprintf(path, sizeof path, "%s/%d.db", words[1], round);
        if (strcmp(words[4], "empty") == 0)
            CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
        run_round(path, round, processes);
        total += stored(path);
        remove_store(path);
    }
    print_score(score);
    printf("stored=%ld slowest_us=%ld\n", total, start->slowest_us);
    return 0;
}
