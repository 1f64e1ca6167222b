/* Bad arguments of every function:   arguments DIRECTORY
 *
 * Each gives its code and a line of text, zeroes the result, and leaves the store as it was. */
#include "expect.h"

#include <unistd.h>

#define NOW INT64_C(1767225645000)
#define LAST INT64_C(253370764799999)
#define MISALIGNED(type) ((type *)(void *)((char *)space + 1))

static rl_limiter *limiter, *of_two_rules;
static int64_t space[32];

/* A refused call, with the result full of ones before it. */
#define REFUSED(code, call)                     \
    do {                                        \
        rl_result result;                       \
        memset(&result, 0xff, sizeof result);   \
        about("%s", #call);                     \
        EXPECT_ERROR(code, call);               \
        EXPECT_ZERO(result);                    \
    } while (0)

#define REFUSED_COUNT(code, call) \
    do {                          \
        int64_t removed = 7;      \
        about("%s", #call);       \
        EXPECT_ERROR(code, call); \
        EXPECT_EQ(0, removed);    \
    } while (0)

#define REFUSED_BARE(code, call)  \
    do {                          \
        about("%s", #call);       \
        EXPECT_ERROR(code, call); \
    } while (0)

static void opening(const char *store) {
    rl_limiter *opened;
#define REFUSED_OPEN(code, call)   \
    do {                           \
        opened = (rl_limiter *)-1; \
        REFUSED_BARE(code, call);  \
        EXPECT(!opened);           \
    } while (0)
    REFUSED_OPEN(RL_EINVAL, rl_open(NULL, "1/s", NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open(store, NULL, NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open("", "1/s", NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open("file:limits.db", "1/s", NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open("mysql://localhost", "1/s", NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open("/no/such/directory/limits.db", "1/s", NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open("no\nsuch/limits.db", "1/s", NULL, &opened));
    REFUSED_OPEN(RL_EPOLICY, rl_open(store, "", NULL, &opened));
    REFUSED_OPEN(RL_EPOLICY, rl_open(store, "\xff\xfe", NULL, &opened));
    REFUSED_OPEN(RL_EINVAL, rl_open(store, "1/s", MISALIGNED(rl_options), &opened));
    REFUSED_BARE(RL_EINVAL, rl_open(store, "1/s", NULL, NULL));
    REFUSED_BARE(RL_EINVAL, rl_open(store, "1/s", NULL, MISALIGNED(rl_limiter *)));
    REFUSED_BARE(RL_EINVAL, rl_open(NULL, NULL, NULL, NULL));
}

static void asking(void) {
    rl_limiter *bad = MISALIGNED(rl_limiter);
    REFUSED_BARE(RL_EINVAL, rl_hit(limiter, NULL, "k", 1, 1, NOW, NULL));
    REFUSED_BARE(RL_EINVAL, rl_status(limiter, NULL, "k", 1, NOW, NULL));
    REFUSED_BARE(RL_EINVAL, rl_refund(limiter, NULL, "k", 1, 1, NOW, NULL));
    REFUSED_BARE(RL_EINVAL, rl_hit(limiter, NULL, "k", 1, 1, NOW, MISALIGNED(rl_result)));
    REFUSED_BARE(RL_EINVAL, rl_hit(NULL, NULL, NULL, 0, 0, 0, NULL));
    REFUSED(RL_EINVAL, rl_hit(NULL, NULL, "k", 1, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_hit(bad, NULL, "k", 1, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_status(NULL, NULL, "k", 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_refund(NULL, NULL, "k", 1, 1, NOW, &result));

    REFUSED(RL_EINVAL, rl_hit(limiter, NULL, NULL, 1, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_hit(limiter, NULL, NULL, 0, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_hit(limiter, NULL, NULL, SIZE_MAX, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_hit(limiter, NULL, "k", SIZE_MAX, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_hit(limiter, NULL, "", 0, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_status(limiter, NULL, NULL, SIZE_MAX, NOW, &result));
    REFUSED(RL_EINVAL, rl_status(limiter, NULL, "", 0, NOW, &result));
    REFUSED(RL_EINVAL, rl_refund(limiter, NULL, NULL, 1, 1, NOW, &result));
    REFUSED(RL_EINVAL, rl_refund(limiter, NULL, "", 0, 1, NOW, &result));

    const int64_t not_a_cost[] = {-1, INT64_MIN, RL_MAX_UNITS + 1, INT64_MAX};
    const int64_t not_a_time[] = {-2, INT64_MIN, LAST + 1, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        REFUSED(RL_EINVAL, rl_hit(limiter, NULL, "k", 1, not_a_cost[i], NOW, &result));
        REFUSED(RL_EINVAL, rl_refund(limiter, NULL, "k", 1, not_a_cost[i], NOW, &result));
        REFUSED(RL_EINVAL, rl_hit(limiter, NULL, "k", 1, 1, not_a_time[i], &result));
        REFUSED(RL_EINVAL, rl_hit(limiter, NULL, "k", 1, 0, not_a_time[i], &result));
        REFUSED(RL_EINVAL, rl_status(limiter, NULL, "k", 1, not_a_time[i], &result));
        REFUSED(RL_EINVAL, rl_refund(limiter, NULL, "k", 1, 1, not_a_time[i], &result));
        REFUSED_COUNT(RL_EINVAL, rl_prune(limiter, not_a_time[i], &removed));
    }

    const char *const no_rule[] = {"", "other", "Default", "default ", "two\nlines", "\xff"};
    for (int i = 0; i < 6; i++) {
        REFUSED(RL_ENORULE, rl_hit(limiter, no_rule[i], "k", 1, 1, NOW, &result));
        REFUSED(RL_ENORULE, rl_status(limiter, no_rule[i], "k", 1, NOW, &result));
        REFUSED(RL_ENORULE, rl_refund(limiter, no_rule[i], "k", 1, 1, NOW, &result));
        REFUSED_COUNT(RL_ENORULE, rl_reset(limiter, no_rule[i], "k", 1, &removed));
    }
    REFUSED(RL_ENORULE, rl_hit(of_two_rules, NULL, "k", 1, 1, NOW, &result));
    REFUSED(RL_ENORULE, rl_status(of_two_rules, NULL, "k", 1, NOW, &result));
    REFUSED(RL_ENORULE, rl_refund(of_two_rules, NULL, "k", 1, 1, NOW, &result));
}

static void the_rest(void) {
    REFUSED_COUNT(RL_EINVAL, rl_prune(NULL, NOW, &removed));
    REFUSED_BARE(RL_EINVAL, rl_prune(limiter, NOW, NULL));
    REFUSED_BARE(RL_EINVAL, rl_prune(limiter, NOW, MISALIGNED(int64_t)));
    REFUSED_COUNT(RL_EINVAL, rl_reset(NULL, NULL, "k", 1, &removed));
    REFUSED_COUNT(RL_EINVAL, rl_reset(limiter, NULL, NULL, 1, &removed));
    REFUSED_COUNT(RL_EINVAL, rl_reset(limiter, NULL, NULL, SIZE_MAX, &removed));
    REFUSED_COUNT(RL_EINVAL, rl_reset(limiter, NULL, "", 0, &removed));
    REFUSED_BARE(RL_EINVAL, rl_reset(limiter, NULL, "k", 1, NULL));

    const char *rule;
#define REFUSED_ROUTE(code, call) \
    do {                          \
        rule = "not set";         \
        REFUSED_BARE(code, call); \
        EXPECT(!rule);            \
    } while (0)
    REFUSED_ROUTE(RL_EINVAL, rl_route(NULL, "GET", "/", &rule));
    REFUSED_ROUTE(RL_EINVAL, rl_route(limiter, NULL, "/", &rule));
    REFUSED_ROUTE(RL_EINVAL, rl_route(limiter, "GET", NULL, &rule));
    REFUSED_ROUTE(RL_ENORULE, rl_route(of_two_rules, "GET", "/nowhere", &rule));
    REFUSED_BARE(RL_EINVAL, rl_route(limiter, "GET", "/", NULL));

    char text[64];
    rl_result result;
    EXPECT_EQ(RL_OK, rl_status(limiter, NULL, "k", 1, NOW, &result));
    REFUSED_BARE(RL_EINVAL, rl_headers(NULL, &result, RL_HEADERS_X, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_headers(limiter, NULL, RL_HEADERS_X, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_headers(limiter, &result, RL_HEADERS_X, NULL, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_headers(limiter, MISALIGNED(rl_result), RL_HEADERS_X, text, 64));
    REFUSED_BARE(RL_EINVAL, rl_headers(limiter, &result, -1, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_headers(limiter, &result, 3, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_problem(NULL, &result, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_problem(limiter, NULL, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_problem(limiter, &result, NULL, 1));
    REFUSED_BARE(RL_EINVAL, rl_ip_key(NULL, 0, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_ip_key("192.0.2.1", 0, NULL, 1));
    REFUSED_BARE(RL_EINVAL, rl_ip_key("\xff", 0, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_info(NULL, text, sizeof text));
    REFUSED_BARE(RL_EINVAL, rl_info(limiter, NULL, 1));
    EXPECT(!rl_rule_name(NULL, 0));
    rl_close(NULL);
}

/* The store file's whole content, as the sqlite3 shell sees it, with all that was counted. */
static char *dump(const char *store) {
    char command[512];
    int64_t removed;
    EXPECT_EQ(RL_OK, rl_prune(limiter, 0, &removed));
    EXPECT_EQ(0, removed);
    snprintf(command, sizeof command, "sqlite3 '%s' .dump", store);
    FILE *shell = popen(command, "r");
    char *text = calloc(1, 1 << 16);
    EXPECT(shell && text && fread(text, 1, 1 << 16, shell) < 1 << 16);
    EXPECT(!pclose(shell) && strstr(text, "INSERT INTO rate_limit_windows"));
    return text;
}

int main(int argc, char **argv) {
    EXPECT(argc == 2 && !chdir(argv[1]));
    const char *store = "limits.db";
    rl_result result;
    int64_t removed;
    limiter = open_store(store, "3/min, 9/day");
    of_two_rules = open_store(store, "a: GET /a 1/s; b: GET /b 1/s");
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "k", 1, 1, NOW, &result));
    EXPECT_EQ(RL_OK, rl_hit(of_two_rules, "a", "k", 1, 1, NOW, &result));

    char *before = dump(store);
    opening(store);
    asking();
    the_rest();
    char *after = dump(store);
    EXPECT_TEXT(before, after);

    /* The ends of every range are inside it. */
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "l", 1, RL_MAX_UNITS, 0, &result));
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "l", 1, 0, LAST, &result));
    EXPECT_EQ(RL_OK, rl_refund(limiter, NULL, "l", 1, RL_MAX_UNITS, LAST, &result));
    EXPECT_EQ(RL_OK, rl_prune(limiter, 0, &removed));
    EXPECT_EQ(0, removed);
    /* NULL is every rule for rl_reset alone. */
    EXPECT_EQ(RL_OK, rl_reset(of_two_rules, NULL, "k", 1, &removed));
    EXPECT_EQ(1, removed);
    rl_close(limiter);
    rl_close(of_two_rules);
    free(before);
    free(after);
    return 0;
}
