/*
 * The host has few descriptors left, one more each time until a call succeeds; then it has enough.
 *
 *     few_descriptors DIRECTORY opens|hits_after_fork|live_after_fork|first_hit|hits
 *
 * A hit that is in the file before it is answered needs the file after a fork; one of a live key at an
 * interval does not. The first hit may take one descriptor more.
 */
#include "attack.h"

#include <sys/resource.h>

static struct rlimit before;
static struct score *score;
static int refused;

/* Leaves this many numbers free. */
static void leave(int free_numbers)
{
    int next = open("/dev/null", O_RDONLY);
    CHECK(next >= 0 && close(next) == 0);
    rlim_t limit = next + free_numbers;
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, before.rlim_max}) == 0);
}

static void leave_enough(void)
{
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

static int is_refused(int code)
{
    if (code == RL_OK)
        return 0;
    if (code != RL_EMFILE)
        die("%d: %s", code, rl_last_error());
    CHECK(strstr(rl_last_error(), "ulimit -n") != NULL);
    refused++;
    return 1;
}

static int hits_once(rl_limiter *limiter)
{
    rl_result result;
    memset(&result, 1, sizeof result);
    int code = rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
    if (is_refused(code)) {
        CHECK(result.allowed == 0 && result.now_ms == 0);
        return 0;
    }
    score->acknowledged++;
    return 1;
}

static void opens(const char *directory)
{
    int succeeded = 0;
    for (int free_numbers = 0; !succeeded; free_numbers++) {
        CHECK(free_numbers < 20);
        char path[512];
        snprintf(path, sizeof path, "%s/%d.db", directory, free_numbers);
        rl_limiter *limiter;
        leave(free_numbers);
        succeeded = !is_refused(rl_open(path, POLICY, NULL, &limiter));
        CHECK(succeeded == (limiter != NULL));
        leave_enough();
        if (!succeeded)
            limiter = open_store(path, RL_ON);
        CHECK(hits_once(limiter));
        rl_close(limiter);
        CHECK(stored(path) == 1);
    }
}

/* After a fork the connection is opened anew, at a hit. */
static void hits_after_fork(const char *path, int64_t durability)
{
    rl_limiter *limiter = open_store_with(path, (rl_options){.durability = durability});
    CHECK(hits_once(limiter));
    int succeeded = 0;
    for (int free_numbers = 0; !succeeded; free_numbers++) {
        CHECK(free_numbers < 20);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            leave(free_numbers);
            int has_hit = hits_once(limiter);
            leave_enough();
            CHECK(hits_once(limiter));
            _exit(has_hit);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        CHECK(WEXITSTATUS(status) <= 1);
        succeeded = WEXITSTATUS(status);
        refused += !succeeded;
        CHECK(hits_once(limiter));
    }
    rl_close(limiter);
}

static void hits_first(const char *path)
{
    rl_limiter *limiter = open_store(path, RL_ON);
    leave(0);
    int succeeded = hits_once(limiter);
    leave_enough();
    CHECK(succeeded || hits_once(limiter));
    rl_close(limiter);
}

/* A store that has counted a hit needs no more. */
static void hits_with_none(const char *path)
{
    rl_limiter *limiter = open_store(path, RL_ON);
    CHECK(hits_once(limiter));
    leave(0);
    for (int number = 0; number < 3000; number++)
        CHECK(hits_once(limiter));
    int64_t removed;
    CHECK(rl_prune(limiter, RL_NOW, &removed) == RL_OK);
    leave_enough();
    rl_close(limiter);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    alarm(60);
    score = new_score();
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    char path[512];
    snprintf(path, sizeof path, "%s/store.db", words[1]);
    if (strcmp(words[2], "opens") == 0) {
        opens(words[1]);
        printf("refused=%d\n", refused);
        return 0;
    }
    if (strcmp(words[2], "hits") == 0)
        hits_with_none(path);
    else if (strcmp(words[2], "first_hit") == 0)
        hits_first(path);
    else if (strcmp(words[2], "hits_after_fork") == 0)
        hits_after_fork(path, RL_DURABLE_HIT);
    else
        hits_after_fork(path, RL_DURABLE_INTERVAL);
    print_score(score);
    printf("refused=%d stored=%ld\n", refused, granted(path));
    return 0;
}
