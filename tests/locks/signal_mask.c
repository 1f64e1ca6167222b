/*
 * Every call gives the thread's signal mask back as it was, whether it succeeds or fails.
 *
 *     signal_mask DIRECTORY
 */
#include "attack.h"

static sigset_t wanted;

static void is_as_it_was(const char *call)
{
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    for (int number = 1; number < 65; number++)
        if (sigismember(&mask, number) != sigismember(&wanted, number))
            die("after %s: signal %d", call, number);
}

#define CALL(wanted_code, call) \
    do { CHECK((call) == (wanted_code)); is_as_it_was(#call); } while (0)

static void call_everything(const char *path, const char *foreign)
{
    rl_limiter *limiter, *none;
    rl_result result;
    int64_t removed;
    char text[4000];
    /* One that does not write would not have to wait. */
    rl_options options = {.struct_size = sizeof options, .durability = RL_DURABLE_HIT};
    CALL(RL_OK, rl_open(path, POLICY, &options, &limiter));
    CALL(RL_ENOTSTORE, rl_open(foreign, POLICY, NULL, &none));
    CALL(RL_EPOLICY, rl_open(path, "1/", NULL, &none));
    CALL(RL_EINVAL, rl_open("/no/such/directory/store.db", POLICY, NULL, &none));
    CALL(RL_OK, rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result));
    CALL(RL_EINVAL, rl_hit(limiter, NULL, "k", 1, -1, RL_NOW, &result));
    CALL(RL_ENORULE, rl_hit(limiter, "no", "k", 1, 1, RL_NOW, &result));
    CALL(RL_OK, rl_status(limiter, NULL, "k", 1, RL_NOW, &result));
    CALL(RL_OK, rl_refund(limiter, NULL, "k", 1, 1, RL_NOW, &result));
    CALL(RL_OK, rl_reset(limiter, NULL, "k", 1, &removed));
    CALL(RL_OK, rl_prune(limiter, RL_NOW, &removed));
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    is_as_it_was("rl_info");

    /* One that waits in vain. */
    sqlite3 *host = host_open(path);
    CHECK(sqlite3_exec(host, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    CALL(RL_EBUSY, rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result));
    sqlite3_close(host);

    pid_t child = fork();
    is_as_it_was("fork");
    if (child == 0) {
        CALL(RL_OK, rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    rl_close(limiter);
    is_as_it_was("rl_close");
    rl_close(NULL);
    is_as_it_was("rl_close(NULL)");
}

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(60);
    char path[4096], foreign[4096];
    snprintf(path, sizeof path, "%s/store.db", words[1]);
    snprintf(foreign, sizeof foreign, "%s/foreign", words[1]);
    int fd = open(foreign, O_CREAT | O_WRONLY, 0600);
    CHECK(write(fd, "foreign", 7) == 7 && close(fd) == 0);

    sigemptyset(&wanted);
    call_everything(path, foreign);
    sigaddset(&wanted, SIGUSR2);
    sigaddset(&wanted, SIGXFSZ);
    sigaddset(&wanted, SIGRTMIN + 3);
    CHECK(pthread_sigmask(SIG_SETMASK, &wanted, NULL) == 0);
    call_everything(path, foreign);
    puts("mask=kept");
    return 0;
}
