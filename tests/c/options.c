/* rl_options of older and newer headers, and values out of range:   options DIRECTORY */
#include "expect.h"

#include <sys/stat.h>
#include <unistd.h>

/* A newer header's structure: this one's, and fields that this library does not know. */
union newer {
    rl_options options;
    char bytes[5000];
};

static int open_with(union newer *newer, uint64_t size) {
    rl_limiter *limiter = (rl_limiter *)-1;
    newer->options.struct_size = size;
    about("struct_size %" PRIu64, size);
    int code = rl_open(":memory:", "1/s", &newer->options, &limiter);
    EXPECT(code ? !limiter : !!limiter);
    rl_close(limiter);
    return code;
}

static void sizes(void) {
    static union newer newer;
    const uint64_t known = sizeof(rl_options), past = known + 24;
    /* Half a field is no field. */
    for (uint64_t size = 8; size <= past; size++)
        EXPECT_EQ(size % 8 ? RL_EINVAL : RL_OK, open_with(&newer, size));
    EXPECT_EQ(RL_OK, open_with(&newer, 4096));
    const uint64_t not_a_size[] = {0, 7, 4097, 5000, UINT64_MAX, (uint64_t)INT64_MIN};
    for (int i = 0; i < 6; i++) EXPECT_ERROR(RL_EINVAL, open_with(&newer, not_a_size[i]));

    /* Garbage in any byte past what is known is refused, past what is given it is not read. */
    for (uint64_t at = known; at < 4096; at++) {
        newer.bytes[at] = 1;
        EXPECT_ERROR(RL_EINVAL, open_with(&newer, at / 8 * 8 + 8));
        if (at < past) EXPECT_EQ(RL_OK, open_with(&newer, at / 8 * 8));
        newer.bytes[at] = 0;
    }

    /* A short structure hides what lies behind it, be it wrong or cut through its middle. */
    memset(&newer, 0xee, sizeof newer);
    EXPECT_EQ(RL_OK, open_with(&newer, 8));
    newer.options.busy_timeout_ms = 5;
    newer.options.durability = 0;
    EXPECT_EQ(RL_OK, open_with(&newer, offsetof(rl_options, durability)));
    EXPECT_EQ(RL_OK, open_with(&newer, offsetof(rl_options, flush_interval_ms)));
    EXPECT_ERROR(RL_EINVAL, open_with(&newer, offsetof(rl_options, auto_prune)));
}

static int open_options(rl_options options) {
    union newer newer = {options};
    return open_with(&newer, sizeof options);
}

#define ACCEPTED(field, value) EXPECT_EQ(RL_OK, open_options((rl_options){.field = (value)}))
#define REFUSED(field, value)                                                   \
    do {                                                                        \
        EXPECT_ERROR(RL_EINVAL, open_options((rl_options){.field = (value)}));  \
        EXPECT(strstr(rl_last_error(), #field)); /* The message names it. */    \
    } while (0)

static void ranges(void) {
    ACCEPTED(busy_timeout_ms, -1);
    ACCEPTED(busy_timeout_ms, 60000);
    ACCEPTED(busy_timeout_ms, INT64_MAX); /* counts as the longest */
    REFUSED(busy_timeout_ms, -2);
    ACCEPTED(durability, RL_DURABLE_INTERVAL);
    REFUSED(durability, 3);
    REFUSED(durability, -1);
    ACCEPTED(flush_interval_ms, 60000);
    REFUSED(flush_interval_ms, 60001);
    REFUSED(flush_interval_ms, -1);
    ACCEPTED(auto_prune, RL_OFF);
    REFUSED(auto_prune, 3);
    ACCEPTED(keep_open, RL_ON);
    REFUSED(keep_open, -1);
    ACCEPTED(audit, RL_ON);
    REFUSED(audit, INT64_MIN);
    ACCEPTED(recover_corrupt, RL_ON);
    REFUSED(recover_corrupt, 3);
    ACCEPTED(audit_retention_s, 315360000);
    REFUSED(audit_retention_s, 315360001);
    REFUSED(audit_retention_s, -1);
    ACCEPTED(file_mode, 0640);
    REFUSED(file_mode, 0700);
    REFUSED(file_mode, 0060);
    REFUSED(file_mode, 01600);
    ACCEPTED(table_slots, INT64_C(1) << 32);
    REFUSED(table_slots, (INT64_C(1) << 32) + 1);
    REFUSED(table_slots, -1);
    ACCEPTED(connect_timeout_ms, 60000);
    REFUSED(connect_timeout_ms, 60001);
    REFUSED(connect_timeout_ms, -1);
    ACCEPTED(command_timeout_ms, 1);
    REFUSED(command_timeout_ms, 60001);
    ACCEPTED(remember_denied, RL_ON);
    REFUSED(remember_denied, 3);
    REFUSED(insurance, "local.db"); /* of a store that is no server */
    REFUSED(insurance_policy, "1/s"); /* of no insurance */
    REFUSED(insurance_percent, 50);
    REFUSED(insurance_percent, 101);
    REFUSED(insurance_percent, -1);
    REFUSED(key_secret, ""); /* of length 0 */
    EXPECT_ERROR(RL_EINVAL, open_options((rl_options){.key_secret_len = 1}));
    EXPECT_ERROR(RL_EINVAL, open_options((rl_options){.key_secret = "s", .key_secret_len = -1}));
}

/* What is pointed to is copied: the host may wipe its secret after rl_open(). */
static void a_secret_is_copied(void) {
    char secret[] = "thirty-two bytes of a secret....";
    rl_options options = {.struct_size = sizeof options, .key_secret = secret,
                          .key_secret_len = strlen(secret)};
    rl_limiter *first, *second;
    rl_result result;
    EXPECT_EQ(RL_OK, rl_open("secret.db", "9/day", &options, &first));
    EXPECT_EQ(RL_OK, rl_hit(first, NULL, "alice", 5, 1, 0, &result));
    EXPECT_EQ(RL_OK, rl_open("secret.db", "9/day", &options, &second));
    memset(secret, 'x', sizeof secret - 1);
    EXPECT_EQ(RL_OK, rl_hit(first, NULL, "alice", 5, 1, 0, &result));
    EXPECT_EQ(2, result.count);
    EXPECT_EQ(RL_OK, rl_hit(second, NULL, "alice", 5, 1, 0, &result));
    EXPECT_EQ(3, result.count);
    rl_limiter *refused;
    EXPECT_ERROR(RL_EINVAL, rl_open("secret.db", "9/day", &options, &refused));
    EXPECT(!strstr(rl_last_error(), "secret.....") && !strstr(rl_last_error(), "xxx"));
    EXPECT_ERROR(RL_EINVAL, rl_open("secret.db", "9/day", NULL, &refused));
    rl_close(first);
    rl_close(second);
}

static int is_durable_by_default(void) {
    char text[2048];
    rl_limiter *limiter = open_store("durability.db", "1/s");
    EXPECT(rl_info(limiter, text, sizeof text) > 0);
    rl_close(limiter);
    return strstr(text, "\"durability\":\"hit\"") != NULL;
}

/* Of a server that is away: the options are judged, and the insurance answers at once. */
static void an_insurance(void) {
    const char *store = "redis://127.0.0.1:1", *policy = "a: 9/day; b: 3/day";
    rl_limiter *limiter;
    rl_options options = {.struct_size = sizeof options, .insurance = "local.db",
                          .insurance_policy = "a: 1/day; b: 1/day", .insurance_percent = 50};
    EXPECT_ERROR(RL_EINVAL, rl_open(store, policy, &options, &limiter));
    options.insurance_percent = 0;
    options.insurance_policy = "a: 1/day";
    EXPECT_ERROR(RL_EPOLICY, rl_open(store, policy, &options, &limiter));
    options.insurance_policy = "a: 1/day; b: \xff/day";
    EXPECT_ERROR(RL_EPOLICY, rl_open(store, policy, &options, &limiter));
    options.insurance_policy = NULL;
    options.insurance_percent = 50;
    options.audit = RL_ON;
    EXPECT_ERROR(RL_EINVAL, rl_open(store, policy, &options, &limiter));
    options.audit = RL_DEFAULT;
    options.durability = RL_DURABLE_HIT;
    /* Unless the library under test has that as its default. */
    if (!is_durable_by_default())
        EXPECT_ERROR(RL_EINVAL, rl_open(store, policy, &options, &limiter));
    options.durability = RL_DURABLE_DEFAULT;
    EXPECT_EQ(RL_OK, rl_open(store, policy, &options, &limiter));
    rl_result result;
    EXPECT_EQ(RL_OK, rl_hit(limiter, "a", "alice", 5, 1, 0, &result));
    EXPECT_EQ(1, result.insured);
    EXPECT_EQ(4, result.limit);
    char text[512];
    EXPECT(rl_headers(limiter, &result, RL_HEADERS_X, text, sizeof text) > 0);
    EXPECT(strstr(text, "X-RateLimit-Limit: 4\r\n"));
    rl_close(limiter);
    EXPECT_EQ(RL_OK, rl_open(store, policy, NULL, &limiter));
    EXPECT_ERROR(RL_EUNAVAILABLE, rl_hit(limiter, "a", "alice", 5, 1, 0, &result));
    EXPECT_EQ(0, result.insured);
    rl_close(limiter);
}

static void a_file_gets_the_mode_that_was_asked_for(void) {
    struct stat facts;
    rl_close(open_store("default.db", "1/s"));
    EXPECT(!stat("default.db", &facts));
    EXPECT_EQ(0600, facts.st_mode & 07777);
    rl_options options = {.struct_size = sizeof options, .file_mode = 0660};
    rl_limiter *limiter;
    umask(077);
    EXPECT_EQ(RL_OK, rl_open("group.db", "1/s", &options, &limiter));
    EXPECT(!stat("group.db", &facts));
    EXPECT_EQ(0660, facts.st_mode & 07777);
    rl_close(limiter);
}

int main(int argc, char **argv) {
    EXPECT(argc == 2 && !chdir(argv[1]));
    sizes();
    ranges();
    a_secret_is_copied();
    an_insurance();
    a_file_gets_the_mode_that_was_asked_for();
    return 0;
}
