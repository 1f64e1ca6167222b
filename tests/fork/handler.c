/*
 * A signal handler forks, again and again, while the process hits; the child goes on where the
 * signal came, and hits a few times more.
 *
 *     handler STORE FORKS
 */
#include "signals.h"

static struct score *score;
static volatile sig_atomic_t is_child;
static volatile pid_t child;

static void fork_now(int number)
{
    (void)number;
    if (child != 0 || is_child)
        return;
    pid_t made = fork();
    if (made == 0) {
        is_child = 1;
        alarm(30);
    }
    child = made;
}

/*
 * Where the fork came in the midst of this, both sides return from the one hit, and only the parent
 * may count it.
 */
static void hit_once(rl_limiter *limiter)
{
    int was_child = is_child;
    rl_result result;
    int code = rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
    if (code != RL_OK) {
        score->failed++;
        score->last_code = code;
    } else if (is_child == was_child) {
        score->acknowledged++;
    }
}

int main(int count, char **words)
{
    CHECK(count == 3);
    score = new_score();
    CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = fork_now}, NULL) == 0);
    pid_t sender = send_to_me(SIGUSR1, score);
    rl_limiter *limiter = open_store(words[1], RL_ON);

    for (int forks = 0; forks < atoi(words[2]) && !is_child;) {
        hit_once(limiter);
        if (child > 0) {
            reap(score, child);
            forks++;
            child = 0;
        }
    }
    sigset_t no_more;
    sigemptyset(&no_more);
    sigaddset(&no_more, SIGUSR1);
    sigprocmask(SIG_BLOCK, &no_more, NULL);
    if (is_child) {
        for (int number = 0; number < 5; number++)
            hit_once(limiter);
        _exit(0);
    }
    stop_sender(sender);
    if (child > 0)
        reap(score, child);
    rl_close(limiter);
    print_score(score);
    printf("stored=%ld\n", stored(words[1]));
    return 0;
}
