/*
 * A hit under two limits has reserved a unit of the first, and stops. Meanwhile that counter is
 * forgotten, the second limit is spent by another, and the first one's counter begins anew. Then the hit
 * goes on, is refused, and gives back what it had reserved: not out of what others have spent since.
 *
 *     overtaken STORE FOLDER reset|drop
 *
 * reset: the client is reset by somebody who stops in the midst of it while the hit reserves. drop: the
 * slot is needed for others, two windows later, and nobody has written what it held.
 */
#include "answers.h"

#define HOURS "r: 5/h"
#define MONTH "r: 1/month"
#define BOTH "r: 5/h, 1/month"
#define OTHERS "x: 1000000/month"

enum { WINDOWS = 4, HOUR_MS = 3600000, OTHER_KEYS = 40 };
static const int64_t BEGIN_MS = 1699998000000; /* in the midst of a month */

static struct shared {
    int64_t now_ms, left[WINDOWS];
    int allowed;
} *shared;

static const char *path;
static int slots;

static rl_result ask(rl_limiter *limiter, int64_t now_ms)
{
    rl_result result;
    CHECK(rl_hit(limiter, NULL, "k", 1, 1, now_ms, &result) == RL_OK);
    return result;
}

static void count_in_all_windows(rl_limiter *limiter)
{
    for (int window = 0; window < WINDOWS; window++)
        CHECK(ask(limiter, BEGIN_MS + window * HOUR_MS).allowed);
}

/* For the hit, which would have to wait else: the lock of the one counter may be the other's. */
static void keep_live(rl_limiter *limiter)
{
    rl_result result = ask(limiter, BEGIN_MS);
    CHECK(rl_refund(limiter, NULL, "k", 1, 1, BEGIN_MS, &result) == RL_OK);
}

static void look(rl_limiter *limiter)
{
    rl_result result;
    for (int window = 0; window < WINDOWS; window++) {
        int64_t now_ms = BEGIN_MS + window * HOUR_MS;
        CHECK(rl_status(limiter, NULL, "k", 1, now_ms, &result) == RL_OK);
        shared->left[window] = result.remaining;
    }
}

static void spend(rl_limiter *limiter)
{
    CHECK(ask(limiter, shared->now_ms).allowed);
}

static void be_refused(rl_limiter *limiter)
{
    CHECK(!ask(limiter, shared->now_ms).allowed);
}

static void hit_once(rl_limiter *limiter)
{
    shared->allowed += ask(limiter, shared->now_ms).allowed;
}

static void hit_six_times(rl_limiter *limiter)
{
    for (int number = 0; number < 6; number++)
        hit_once(limiter);
}

static void forget(rl_limiter *limiter)
{
    int64_t removed;
    CHECK(rl_reset(limiter, NULL, "k", 1, &removed) == RL_OK && removed > 0);
}

static void need_slots(rl_limiter *limiter)
{
    rl_result result;
    for (int number = 0; number < OTHER_KEYS; number++) {
        char key[LONGEST_KEY];
        int length = sprintf(key, "other %d", number);
        int64_t now_ms = BEGIN_MS + 3 * HOUR_MS;
        CHECK(rl_hit(limiter, NULL, key, length, 1, now_ms, &result) == RL_OK);
    }
}

static int has_stopped(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, WUNTRACED) == child);
    CHECK(WIFSTOPPED(status) || status == 0);
    return WIFSTOPPED(status);
}

/* Until it stops again, or ends. */
static int goes_on(pid_t child)
{
    CHECK(kill(child, SIGCONT) == 0);
    return has_stopped(child);
}

static void let_end(pid_t child)
{
    while (goes_on(child)) {
    }
}

/* Opens the store and stops: who opened it later would write what is unwritten. */
static pid_t prepare(const char *points, const char *policy, void (*act)(rl_limiter *))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        die_with_parent();
        setenv("RATELITE_POINTS", points, 1);
        rl_options options = {
            .struct_size = sizeof options,
            .busy_timeout_ms = 20000,
            .durability = RL_DURABLE_INTERVAL,
            .flush_interval_ms = 60000,
            .table_slots = slots,
        };
        rl_limiter *limiter = open_limiter(path, policy, &options);
        raise(SIGSTOP);
        act(limiter);
        _exit(0);
    }
    CHECK(has_stopped(child));
    return child;
}

static void drop(pid_t hit)
{
    pid_t others = prepare("", OTHERS, need_slots), looker = prepare("", HOURS, look);
    pid_t spender = prepare("", MONTH, spend);
    CHECK(goes_on(hit));
    let_end(spender);
    let_end(others);
    let_end(looker);
    CHECK(shared->left[0] == 5);
}

/* The hit comes between the first and the last window that is taken out. */
static void reset(pid_t hit)
{
    let_end(prepare("", HOURS, count_in_all_windows));
    let_end(prepare("", MONTH, keep_live));
    pid_t forgetter = prepare("reset-zeroed=stop/1", HOURS, forget);
    pid_t spender = prepare("", MONTH, spend);
    int window = 0, left;
    do {
        CHECK(goes_on(forgetter));
        let_end(prepare("", MONTH, keep_live));
        let_end(prepare("", HOURS, look));
        left = 0;
        for (int index = 0; index < WINDOWS; index++) {
            left += shared->left[index] < 5;
            window = shared->left[index] < 5 ? index : window;
        }
    } while (left == WINDOWS);
    shared->now_ms = BEGIN_MS + window * HOUR_MS;
    CHECK(goes_on(hit));
    let_end(forgetter);
    let_end(spender);
}

int main(int count, char **words)
{
    CHECK(count == 4);
    path = words[1];
    int is_reset = strcmp(words[3], "reset") == 0;
    slots = is_reset ? 64 : 16;
    shared = shared_memory(sizeof *shared);
    shared->now_ms = BEGIN_MS;
    pid_t hit = prepare("reserve-first=stop/1", BOTH, be_refused);
    pid_t six = prepare("", HOURS, hit_six_times), one_more = prepare("", HOURS, hit_once);
    if (is_reset)
        reset(hit);
    else
        drop(hit);
    let_end(six);
    let_end(hit);
    let_end(one_more);
    printf("allowed=%d\n", shared->allowed);
    return 0;
}
