/*
 * A clock before 1970 or after 9998: an error of every call that asks it, and of no other.
 *
 *     range DIRECTORY now|given
 */
#include "clock.h"

#define NOW INT64_C(1767225645000)
#define LAST INT64_C(253370764799999)

static rl_limiter *limiter, *audited;
static const int64_t wrong[] = {-1, -1000, -10 * YEAR, -5000000000000000, LAST + 1, 9000000000000000};

static void is_refused(int code, const rl_result *result)
{
    static const rl_result zero;
    CHECK(code == RL_EINVAL);
    CHECK(strstr(rl_last_error(), "clock") != NULL);
    CHECK(memcmp(result, &zero, sizeof zero) == 0);
}

static void every_call_that_asks_the_clock_fails(void)
{
    rl_result result;
    int64_t removed = 7;
    memset(&result, 1, sizeof result);
    is_refused(rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result), &result);
    memset(&result, 1, sizeof result);
    is_refused(rl_status(limiter, NULL, "k", 1, RL_NOW, &result), &result);
    memset(&result, 1, sizeof result);
    is_refused(rl_refund(limiter, NULL, "k", 1, 1, RL_NOW, &result), &result);
    CHECK(rl_prune(limiter, RL_NOW, &removed) == RL_EINVAL && removed == 0);
}

/* As the message of those failures advises. */
static void a_given_time_is_enough(int number)
{
    char key[16];
    int length = snprintf(key, sizeof key, "key %d", number);
    rl_limiter *limiters[] = {limiter, audited};
    rl_result result;
    for (int index = 0; index < 2; index++) {
        CHECK(rl_hit(limiters[index], NULL, key, length, 1, NOW, &result) == RL_OK);
        CHECK(result.allowed && result.now_ms == NOW);
        CHECK(rl_status(limiters[index], NULL, key, length, NOW, &result) == RL_OK);
        CHECK(rl_refund(limiters[index], NULL, key, length, 1, NOW, &result) == RL_OK);
    }
}

static void a_store_can_be_made(const char *directory, int number)
{
    char path[512];
    snprintf(path, sizeof path, "%s/made-%d.db", directory, number);
    rl_limiter *made;
    CHECK(rl_open(path, "3/min", NULL, &made) == RL_OK);
    rl_close(made);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    alarm(60);
    char path[512];
    snprintf(path, sizeof path, "%s/store.db", words[1]);
    rl_options options = {.struct_size = sizeof options, .audit = RL_ON};
    clock_ms = NOW;
    CHECK(rl_open(path, "3/min", NULL, &limiter) == RL_OK);
    CHECK(rl_open(path, "audited: 3/min", &options, &audited) == RL_OK);
    rl_result result;
    int refused = 0;
    for (int index = 0; index < 6; index++) {
        clock_ms = wrong[index];
        if (strcmp(words[2], "given") == 0) {
            a_given_time_is_enough(index);
        } else {
            every_call_that_asks_the_clock_fails();
            a_store_can_be_made(words[1], index);
        }
        /* Put right, it is right at once. */
        clock_ms = NOW;
        CHECK(rl_hit(limiter, NULL, "after", 5, 1, RL_NOW, &result) == RL_OK);
        CHECK(result.count == ++refused);
    }
    for (int index = 0; index < 2; index++) {
        clock_ms = index == 0 ? 0 : LAST;
        CHECK(rl_hit(limiter, NULL, "edge", 4, 1, RL_NOW, &result) == RL_OK);
        CHECK(result.allowed && result.now_ms == clock_ms);
    }
    rl_close(audited);
    rl_close(limiter);
    printf("times=%d\n", refused);
    return 0;
}
