/*
 * The process may not let a file grow, so the store's writes raise SIGXFSZ, which kills.
 *
 *     file_size STORE hit|open default|handled|pending
 */
#include "attack.h"

#include <sys/resource.h>

static struct rlimit before;
static volatile sig_atomic_t handled;

static void limit_to(rlim_t bytes)
{
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, before.rlim_max}) == 0);
}

static void handle(int number)
{
    (void)number;
    handled++;
}

static int is_pending(void)
{
    sigset_t set;
    CHECK(sigpending(&set) == 0);
    return sigismember(&set, SIGXFSZ);
}

static void block_and_raise(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(pthread_kill(pthread_self(), SIGXFSZ) == 0);
    CHECK(is_pending());
}

static int is_expected(int code)
{
    return code == RL_EIO || code == RL_EFULL;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    struct score *score = new_score();
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    int keeps_pending = strcmp(words[3], "pending") == 0;
    if (strcmp(words[3], "handled") == 0)
        CHECK(signal(SIGXFSZ, handle) == SIG_DFL);
    if (keeps_pending)
        block_and_raise();

    rl_limiter *limiter = NULL;
    if (strcmp(words[2], "open") == 0) {
        limit_to(1000);
        int code = rl_open(words[1], POLICY, NULL, &limiter);
        CHECK(is_expected(code));
        CHECK(limiter == NULL);
        CHECK(access(words[1], F_OK) != 0);
    } else {
        limiter = open_store(words[1], RL_ON);
        hits(score, limiter, 50);
        limit_to(20000);
        rl_result result;
        for (int number = 0; number < 5; number++) {
            memset(&result, 1, sizeof result);
            int code = rl_hit(limiter, NULL, "k1", 2, 1, RL_NOW, &result);
            CHECK(is_expected(code));
            CHECK(result.allowed == 0 && result.count == 0);
            CHECK(is_pending() == keeps_pending);
        }
    }
    CHECK(is_pending() == keeps_pending);
    CHECK(handled == 0);

    limit_to(before.rlim_cur);
    if (limiter == NULL)
        limiter = open_store(words[1], RL_ON);
    hits(score, limiter, 50);
    rl_close(limiter);
    CHECK(is_pending() == keeps_pending);
    print_score(score);
    printf("stored=%ld\n", stored(words[1]));
    return 0;
}
