/*
 * A fork handler of the host crashes while the library holds everything still for that fork, and
 * the host's crash handler forks.
 *
 *     crash_in_fork STORE
 */
#include "attack.h"

static struct score *score;
static rl_limiter *limiter;
static int crashes;

static void crash(void)
{
    if (crashes++ == 0)
        raise(SIGSEGV);
}

static void report_crash(int number)
{
    (void)number;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    reap(score, child);
}

int main(int count, char **words)
{
    CHECK(count == 2);
    score = new_score();
    /* Registered before the library's, so it runs after that. */
    CHECK(pthread_atfork(crash, NULL, NULL) == 0);
    CHECK(sigaction(SIGSEGV, &(struct sigaction){.sa_handler = report_crash}, NULL) == 0);
    limiter = open_store(words[1], RL_ON);
    hits(score, limiter, 3);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        hits(score, limiter, 3);
        _exit(0);
    }
    hits(score, limiter, 3);
    reap(score, child);
    print_score(score);
    printf("stored=%ld\n", stored(words[1]));
    return 0;
}
