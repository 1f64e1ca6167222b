/* All of tests/cases through the C ABI:   cases DIRECTORY
 *
 * Every case runs on a store file of its own in DIRECTORY, and again in memory. */
#include "cases.h"
#include "expect.h"
#include TABLES

#include <unistd.h>

static void compare(const rl_result *expected, const rl_result *actual) {
    EXPECT_EQ(expected->allowed, actual->allowed);
    EXPECT_EQ(expected->limit, actual->limit);
    EXPECT_EQ(expected->count, actual->count);
    EXPECT_EQ(expected->remaining, actual->remaining);
    EXPECT_EQ(expected->reset_at, actual->reset_at);
    EXPECT_EQ(expected->retry_after, actual->retry_after);
    EXPECT_EQ(expected->window_start_ms, actual->window_start_ms);
    EXPECT_EQ(expected->window_ms, actual->window_ms);
    EXPECT_EQ(expected->now_ms, actual->now_ms);
    EXPECT_EQ(expected->rule, actual->rule);
    EXPECT_EQ(expected->limit_index, actual->limit_index);
    EXPECT_EQ(0, actual->insured);
    EXPECT_ZERO(actual->reserved);
}

/* What every rule says of every key and time of a scenario. */
typedef struct picture {
    rl_result answers[1024];
} picture;

static void take_picture(rl_limiter *limiter, const scenario *scenario, picture *picture) {
    size_t count = 0;
    const char *rule;
    memset(picture, 0, sizeof *picture);
    for (int64_t index = 0; (rule = rl_rule_name(limiter, index)); index++)
        for (size_t i = 0; i < scenario->count; i++) {
            const step *step = &scenario->steps[i];
            EXPECT(count < LENGTH(picture->answers));
            rl_status(limiter, rule, step->key, step->key_len, step->now_ms,
                      &picture->answers[count++]);
        }
}

static void route(rl_limiter *limiter, const step *step) {
    const char *rule = "not set";
    EXPECT_EQ(step->code, rl_route(limiter, step->method, step->target, &rule));
    if (step->route)
        EXPECT_TEXT(step->route, rule);
    else
        EXPECT(!rule);
}

static int ask(rl_limiter *limiter, const step *step, rl_result *result) {
    const char *rule = step->rule, *key = step->key;
    if (step->op == STATUS)
        return rl_status(limiter, rule, key, step->key_len, step->now_ms, result);
    return (step->op == HIT ? rl_hit : rl_refund)(limiter, rule, key, step->key_len, step->cost,
                                                  step->now_ms, result);
}

static void refused(rl_limiter *limiter, const scenario *scenario, const step *step) {
    static picture before, after;
    rl_result result;
    memset(&result, 0xff, sizeof result);
    take_picture(limiter, scenario, &before);
    EXPECT_ERROR(step->code, ask(limiter, step, &result));
    EXPECT_ZERO(result);
    take_picture(limiter, scenario, &after);
    EXPECT(!memcmp(&before, &after, sizeof before));
}

/* With a small table, since there are many stores. */
static rl_limiter *open_small(const char *store, const char *policy) {
    rl_options options = {.struct_size = sizeof options, .table_slots = 256};
    rl_limiter *limiter;
    EXPECT_EQ(RL_OK, rl_open(store, policy, &options, &limiter));
    return limiter;
}

static void run(const scenario *scenario, const char *store) {
    rl_limiter *limiter = open_small(store, scenario->policy);
    for (size_t i = 0; i < scenario->count; i++) {
        const step *step = &scenario->steps[i];
        rl_result result;
        about("%s, step %zu on %s", scenario->name, i, store);
        if (step->op == ROUTE) {
            route(limiter, step);
        } else if (step->code) {
            refused(limiter, scenario, step);
        } else {
            EXPECT_EQ(RL_OK, ask(limiter, step, &result));
            compare(&step->result, &result);
        }
    }
    rl_close(limiter);
}

/* The message is compared where the case has one. A refused policy creates no store. */
static void refuse_policy(const char *store, const char *text, const char *message) {
    rl_limiter *limiter = (rl_limiter *)-1;
    about("policy %s on %s", text, store);
    EXPECT_ERROR(RL_EPOLICY, rl_open(store, text, NULL, &limiter));
    EXPECT(!limiter);
    if (message) EXPECT_TEXT(message, rl_last_error());
    EXPECT(access(store, F_OK));
}

static void write_headers(const header_case *given, const char *store) {
    char text[1024];
    about("headers: %s on %s", given->name, store);
    rl_limiter *limiter = open_small(store, given->policy);
    EXPECT_EQ((int64_t)strlen(given->text),
              rl_headers(limiter, &given->result, given->style, text, sizeof text));
    EXPECT_TEXT(given->text, text);
    rl_close(limiter);
}

static void make_key(const ip_case *given) {
    char key[44] = "not set";
    about("ip_key %s, %d", given->ip, given->prefix);
    EXPECT_EQ(given->code ? given->code : (int64_t)strlen(given->key),
              rl_ip_key(given->ip, given->prefix, key, sizeof key));
    EXPECT_TEXT(given->code ? "" : given->key, key);
}

int main(int argc, char **argv) {
    EXPECT(argc == 2 && !chdir(argv[1]));
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        char name[32];
        int number = 0;
#define STORE (in_memory ? ":memory:" : (sprintf(name, "%d.db", number++), name))
        for (size_t i = 0; i < LENGTH(SCENARIOS); i++) run(&SCENARIOS[i], STORE);
        for (size_t i = 0; i < LENGTH(HEADERS); i++) write_headers(&HEADERS[i], STORE);
        for (size_t i = 0; i < LENGTH(ACCEPTED); i++) {
            about("policy %s", ACCEPTED[i]);
            rl_close(open_small(STORE, ACCEPTED[i]));
        }
        for (size_t i = 0; i < LENGTH(REFUSED); i++) refuse_policy(STORE, REFUSED[i], NULL);
        for (size_t i = 0; i < LENGTH(POLICY_ERRORS); i++)
            refuse_policy(STORE, POLICY_ERRORS[i].text, POLICY_ERRORS[i].message);
    }
    for (size_t i = 0; i < LENGTH(IP_KEYS); i++) make_key(&IP_KEYS[i]);
    return 0;
}
