/*
 * The host holds a lock of its own around every hit, and takes it in a fork handler of its own.
 *
 *     host_lock STORE FORKS before|after
 *
 * before, after: when it registers its handler, against the library. Handlers run in the reverse
 * order: `before` means that the library waits for nobody when the host's handler waits.
 */
#include "attack.h"

enum { THREADS = 3, PATIENCE_MS = 100 };

static pthread_mutex_t host = PTHREAD_MUTEX_INITIALIZER;
static struct score *score;
static rl_limiter *limiter;
static long busy_answers;
/* Else the host's own unfair lock, which its threads take again at once, would make it wait. */
static atomic_int is_forking;

static void take(void)
{
    pthread_mutex_lock(&host);
}

static void give(void)
{
    pthread_mutex_unlock(&host);
}

static void *keep_busy(void *unused)
{
    while (!score->stop) {
        while (is_forking)
            sched_yield();
        take();
        if (hit(score, limiter, 1) == RL_EBUSY) {
            busy_answers++;
            score->failed--;
        }
        give();
    }
    return unused;
}

static int is_before(int count, char **words)
{
    return count == 4 && strcmp(words[3], "before") == 0;
}

/* The library registers its handlers when it is loaded. */
static void register_first(int count, char **words)
{
    if (is_before(count, words))
        CHECK(pthread_atfork(take, give, give) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **) =
    register_first;

int main(int count, char **words)
{
    CHECK(count == 4);
    score = new_score();
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = PATIENCE_MS};
    CHECK(rl_open(words[1], POLICY, &options, &limiter) == RL_OK);
    if (!is_before(count, words))
        CHECK(pthread_atfork(take, give, give) == 0);

    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++)
        CHECK(pthread_create(&threads[index], NULL, keep_busy, NULL) == 0);
    double slowest = 0;
    for (int number = 0; number < atoi(words[2]); number++) {
        hit(score, limiter, 2);
        double began = seconds();
        is_forking = 1;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            hit(score, limiter, 2);
            _exit(0);
        }
        is_forking = 0;
        if (seconds() - began > slowest)
            slowest = seconds() - began;
        reap(score, child);
    }
    score->stop = 1;
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    print_score(score);
    printf("busy=%ld stored=%ld slowest_fork_ms=%.0f\n", busy_answers, granted(words[1]),
           slowest * 1000);
    return 0;
}
