/*
 * Processes that hit, open and close while a signal comes in a thousand times a second, whose
 * handler was installed without SA_RESTART: every system call may be interrupted.
 *
 *     signal_storm STORE PROCESSES MILLISECONDS
 */
#include "attack.h"

#include <sys/time.h>

static struct score *score;
static atomic_long *handled;

static void handle(int number)
{
    (void)number;
    ++*handled;
}

static void begin_storm(void)
{
    struct sigaction action = {.sa_handler = handle};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval every_millisecond = {{0, 1000}, {0, 1000}};
    CHECK(setitimer(ITIMER_REAL, &every_millisecond, NULL) == 0);
}

static void *keep_hitting(void *path)
{
    while (!score->stop) {
        rl_limiter *limiter = open_store(path, RL_OFF);
        hits(score, limiter, 20);
        rl_close(limiter);
    }
    return NULL;
}

/* Two threads, which wait for each other too. */
static void work(char *path)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, keep_hitting, path) == 0);
    begin_storm();
    keep_hitting(path);
    pthread_join(other, NULL);
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count == 4);
    score = new_score();
    handled = mmap(NULL, sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(handled != MAP_FAILED);
    int processes = atoi(words[2]);
    for (int index = 0; index < processes; index++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            work(words[1]);
    }
    run_for(atol(words[3]));
    score->stop = 1;
    for (int index = 0; index < processes; index++)
        reap(score, -1);
    print_score(score);
    printf("stored=%ld signals=%ld\n", stored(words[1]), *handled);
    return 0;
}
