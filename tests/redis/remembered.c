/* A flood of remembered denials, in the midst of which a signal's handler forks:   remembered STORE
 *
 * Denials are answered without holding signals back, so parent and child both go on in a hit that was
 * interrupted, while other threads are in such hits, too. */
#define _GNU_SOURCE
#include "expect.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY "one client", 10

enum { FORKS = 60, THREADS = 2, CHILD = 0, NONE = -1 };
static volatile sig_atomic_t forked = NONE;
static atomic_int stop;

static void fork_in_handler(int signal) {
    (void)signal;
    if (forked == NONE) forked = fork();
}

static int is_allowed(rl_limiter *limiter, const char *key, size_t length) {
    rl_result result;
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result));
    return result.allowed;
}

static void *flood(void *limiter) {
    while (!stop) EXPECT(!is_allowed(limiter, KEY));
    return NULL;
}

static void child(rl_limiter *limiter, int round) {
    /* Instead of hanging. */
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    for (int i = 0; i < 3; i++) EXPECT(!is_allowed(limiter, KEY));
    char key[20];
    int length = snprintf(key, sizeof key, "child %d", round);
    EXPECT(is_allowed(limiter, key, length) && !is_allowed(limiter, key, length));
    EXPECT(!is_allowed(limiter, key, length));
    _exit(0);
}

int main(int argc, char **argv) {
    EXPECT(argc == 2);
    rl_options options = {.struct_size = sizeof options, .remember_denied = RL_ON,
                          .connect_timeout_ms = 10000, .command_timeout_ms = 10000};
    rl_limiter *limiter;
    EXPECT_EQ(RL_OK, rl_open(argv[1], "1/366d", &options, &limiter));
    EXPECT(is_allowed(limiter, KEY) && !is_allowed(limiter, KEY));

    sigset_t alarms;
    EXPECT(!sigemptyset(&alarms) && !sigaddset(&alarms, SIGALRM));
    EXPECT(!pthread_sigmask(SIG_BLOCK, &alarms, NULL));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) EXPECT(!pthread_create(&threads[i], NULL, flood, limiter));
    EXPECT(signal(SIGALRM, fork_in_handler) != SIG_ERR);
    EXPECT(!pthread_sigmask(SIG_UNBLOCK, &alarms, NULL));
    struct itimerval often = {{0, 500}, {0, 500}};
    EXPECT(!setitimer(ITIMER_REAL, &often, NULL));

    long hits = 0;
    for (int round = 0; round < FORKS;) {
        EXPECT(!is_allowed(limiter, KEY));
        hits++;
        if (forked == NONE) continue;
        EXPECT(forked >= 0);
        if (forked == CHILD) child(limiter, round);
        int status;
        while (waitpid(forked, &status, 0) < 0) {}
        EXPECT_EQ(0, status);
        round++;
        forked = NONE;
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++) EXPECT(!pthread_join(threads[i], NULL));
    printf("forks=%d hits=%ld\n", FORKS, hits);
    rl_close(limiter);
}
