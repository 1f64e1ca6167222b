/*
 * A process ends while it has limiters open, again and again, each time in a child.
 *
 *     exit STORE returns|exits|hits_at_exit|is_inside|main_thread_ends ROUNDS
 */
#include "attack.h"

static const char *path, *manner;
static struct score *score;
static rl_limiter *limiter;

static int is(const char *name)
{
    return strcmp(manner, name) == 0;
}

static void hit_at_exit(void)
{
    hits(score, limiter, 3);
}

static void *keep_hitting(void *unused)
{
    for (int number = 0;; number++)
        hit(score, limiter, number);
    return unused;
}

/* Until every thread has been inside, and so most likely is. */
static void start_hitting(int threads)
{
    long before = score->acknowledged;
    for (int index = 0; index < threads; index++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, keep_hitting, NULL) == 0);
    }
    while (score->acknowledged < before + 20 * threads)
        sched_yield();
}

static void *end_of_process(void *unused)
{
    hits(score, limiter, 3);
    exit(0);
    return unused;
}

static int live(void)
{
    alarm(20);
    limiter = open_store(path, RL_ON);
    open_store(path, RL_OFF);
    if (is("hits_at_exit"))
        CHECK(atexit(hit_at_exit) == 0);
    hits(score, limiter, 5);
    if (is("is_inside"))
        start_hitting(3);
    if (is("exits"))
        exit(0);
    if (is("main_thread_ends")) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, end_of_process, NULL) == 0);
        pthread_exit(NULL);
    }
    return 0;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    path = words[1];
    manner = words[2];
    score = new_score();
    for (int round = 0; round < atoi(words[3]); round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            return live();
        reap(score, child);
    }
    print_score(score);
    printf("stored=%ld\n", stored(path));
    return 0;
}
