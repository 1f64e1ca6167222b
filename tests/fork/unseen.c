/*
 * Children that were made without fork handlers: every call that needs a store is RL_EFORK, and
 * nothing is counted.
 *
 *     unseen STORE _Fork|clone CHILDREN BUSY_THREADS
 */
#include "attack.h"

#include <sys/syscall.h>

static struct score *score;
static rl_limiter *limiter;
static const char *path;

static void *keep_busy(void *unused)
{
    while (!score->stop)
        hits(score, limiter, 7);
    return unused;
}

static int is_zero(const rl_result *result)
{
    static const rl_result zero;
    return memcmp(result, &zero, sizeof zero) == 0;
}

#define REFUSED(call) CHECK((call) == RL_EFORK)

static void be_refused(void)
{
    rl_result result;
    int64_t removed = 7;
    char text[4000];
    rl_limiter *other = limiter;
    memset(&result, 1, sizeof result);
    REFUSED(rl_hit(limiter, NULL, "k1", 2, 1, RL_NOW, &result));
    CHECK(is_zero(&result));
    CHECK(strstr(rl_last_error(), "fork") != NULL);
    REFUSED(rl_status(limiter, NULL, "k1", 2, RL_NOW, &result));
    REFUSED(rl_refund(limiter, NULL, "k1", 2, 1, RL_NOW, &result));
    REFUSED(rl_reset(limiter, NULL, "k1", 2, &removed));
    CHECK(removed == 0);
    REFUSED(rl_prune(limiter, RL_NOW, &removed));
    REFUSED(rl_info(limiter, text, sizeof text));
    REFUSED(rl_open(path, POLICY, NULL, &other));
    CHECK(other == NULL);
    CHECK(strcmp(rl_rule_name(limiter, 0), "attack") == 0);
    rl_close(limiter);
}

static void be_refused_alone(void)
{
    alarm(30);
    be_refused();
    _exit(0);
}

/* A child made by fork() of such a child is one too: its parent's stores were not closed. (Not with
 * busy threads: fork() takes the allocator's locks, which one of them may have held.) */
static void be_refused_with_a_child(void)
{
    alarm(30);
    pid_t child = fork();
    CHECK(child >= 0);
    be_refused();
    if (child == 0)
        _exit(0);
    reap(score, child);
    _exit(0);
}

static pid_t make_child(const char *how)
{
    if (strcmp(how, "_Fork") == 0)
        return _Fork();
    CHECK(strcmp(how, "clone") == 0);
    return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

int main(int count, char **words)
{
    CHECK(count == 5);
    path = words[1];
    int busy = atoi(words[4]);
    CHECK(busy <= 16);
    score = new_score();
    limiter = open_store(path, RL_ON);
    hit(score, limiter, 1);
    pthread_t threads[16];
    for (int index = 0; index < busy; index++)
        CHECK(pthread_create(&threads[index], NULL, keep_busy, NULL) == 0);
    for (int number = 0; number < atoi(words[3]); number++) {
        hit(score, limiter, number);
        pid_t child = make_child(words[2]);
        CHECK(child >= 0);
        if (child == 0 && busy)
            be_refused_alone();
        if (child == 0)
            be_refused_with_a_child();
        hit(score, limiter, number);
        reap(score, child);
    }
    score->stop = 1;
    for (int index = 0; index < busy; index++)
        pthread_join(threads[index], NULL);
    rl_close(limiter);
    print_score(score);
    printf("stored=%ld\n", stored(path));
    return 0;
}
