/*
 * A process forks again and again, and its signal handler forks too, at any moment of it: between
 * the fork handlers most of all.
 *
 *     handler_in_fork STORE FORKS
 *
 * There is one thread, and another process sends the signals: with several, glibc holds a lock of its own
 * for a moment around the handlers, and a fork from a signal there waits for itself, whatever is loaded.
 */
#include "attack.h"

static volatile sig_atomic_t handled;

static void fork_now(int number)
{
    (void)number;
    if (fork() == 0)
        _exit(0);
    handled++;
}

static pid_t start_sender(void)
{
    pid_t forking = getpid(), sender = fork();
    while (sender == 0) {
        if (getppid() != forking || kill(forking, SIGUSR1) != 0)
            _exit(0);
        usleep(1000);
    }
    CHECK(sender > 0);
    return sender;
}

int main(int count, char **words)
{
    CHECK(count == 3);
    rl_limiter *limiter = open_store(words[1], RL_ON);
    CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = fork_now}, NULL) == 0);
    pid_t sender = start_sender();
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
    CHECK(kill(sender, SIGKILL) == 0 && waitpid(sender, NULL, 0) == sender);
    rl_result result;
    CHECK(rl_status(limiter, NULL, "k", 1, RL_NOW, &result) == RL_OK);
    printf("forks=%d handled=%d stored=%ld\n", forks, (int)handled, (long)result.count);
    return 0;
}
