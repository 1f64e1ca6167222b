/* A flood of remembered denials under a collector of garbage:   stopped STORE
 *
 * Its signal stops a thread until all have stopped. A call with its signals held back reports late, so it
 * must not wait for one that was stopped in the midst of a hit. */
#define _GNU_SOURCE
#include "expect.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { STOPS = 2000, THREADS = 2 };
static sem_t stopped;
static atomic_int round_now, ends;
static rl_limiter *limiter;

static void stop(int signal) {
    (void)signal;
    int round = round_now;
    sem_post(&stopped);
    while (round_now == round) usleep(50);
}

static void *flood(void *unused) {
    rl_result result;
    while (!ends) EXPECT(rl_hit(limiter, NULL, "denied", 6, 1, RL_NOW, &result) == RL_OK && !result.allowed);
    return unused;
}

static void *ask(void *unused) {
    rl_result result;
    for (int number = 0; !ends; number++) {
        char key[20];
        int length = snprintf(key, sizeof key, "key %d", number % 1000);
        EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result));
    }
    return unused;
}

int main(int argc, char **argv) {
    EXPECT(argc == 2);
    rl_options options = {.struct_size = sizeof options, .remember_denied = RL_ON,
                          .flush_interval_ms = 60000, .connect_timeout_ms = 10000,
                          .command_timeout_ms = 10000};
    EXPECT_EQ(RL_OK, rl_open(argv[1], "2/366d", &options, &limiter));
    rl_result result;
    for (int i = 0; i < 3; i++) EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "denied", 6, 1, RL_NOW, &result));
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    EXPECT(!sem_init(&stopped, 0, 0) && !sigfillset(&action.sa_mask) && !sigaction(SIGUSR1, &action, NULL));
    pthread_t threads[THREADS];
    EXPECT(!pthread_create(&threads[0], NULL, flood, NULL) && !pthread_create(&threads[1], NULL, ask, NULL));
    for (int i = 0; i < STOPS; i++) {
        for (int j = 0; j < THREADS; j++) EXPECT(!pthread_kill(threads[j], SIGUSR1));
        for (int j = 0; j < THREADS; j++) {
            struct timespec end;
            clock_gettime(CLOCK_REALTIME, &end);
            end.tv_sec += 20;
            EXPECT(!sem_timedwait(&stopped, &end));
        }
        round_now++;
        usleep(300);
    }
    ends = 1;
    for (int j = 0; j < THREADS; j++) EXPECT(!pthread_join(threads[j], NULL));
    printf("stops=%d\n", STOPS);
    rl_close(limiter);
}
