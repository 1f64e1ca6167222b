/*
 * A process forks again and again, and its signal handler forks too, at any moment of it: between
 * the fork handlers most of all.
 *
 *     handler_in_fork STORE FORKS
 */
#include "attack.h"

static volatile sig_atomic_t handled;
static pthread_t forking;
static atomic_int done;

static void fork_now(int number)
{
    (void)number;
    if (fork() == 0)
        _exit(0);
    handled++;
}

static void *send_signals(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (!done) {
        pthread_kill(forking, SIGUSR1);
        usleep(1000);
    }
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    rl_limiter *limiter = open_store(words[1], RL_ON);
    forking = pthread_self();
    CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = fork_now}, NULL) == 0);
    pthread_t sender;
    CHECK(pthread_create(&sender, NULL, send_signals, NULL) == 0);
    int forks = 0;
    for (; forks < atoi(words[2]); forks++) {
        rl_result result;
        pid_t child = fork();
        if (child == 0)
            _exit(rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result) == RL_OK ? 0 : 1);
        int status;
        while (waitpid(child, &status, 0) != child) {
        }
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    done = 1;
    pthread_join(sender, NULL);
    rl_result result;
    CHECK(rl_status(limiter, NULL, "k", 1, RL_NOW, &result) == RL_OK);
    printf("forks=%d handled=%d stored=%ld\n", forks, (int)handled, (long)result.count);
    return 0;
}
