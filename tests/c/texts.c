/* Texts that the library writes and returns: lengths, small buffers, lifetimes. */
#include "expect.h"

#include <pthread.h>

#define NOW INT64_C(1767225645000)

static rl_limiter *limiter;
static rl_result denied;

static int headers(char *buf, size_t cap) {
    return rl_headers(limiter, &denied, RL_HEADERS_X, buf, cap);
}
static int problem(char *buf, size_t cap) { return rl_problem(limiter, &denied, buf, cap); }
static int ip_key(char *buf, size_t cap) { return rl_ip_key("2001:db8::1", 0, buf, cap); }
static int info(char *buf, size_t cap) { return rl_info(limiter, buf, cap); }

/* Every size of buffer: the text or "", its length either way, and no byte beyond either. */
static void fits_or_says_how_long_it_is(const char *name, int (*write)(char *, size_t)) {
    about("%s", name);
    int length = write(NULL, 0);
    EXPECT(length > 0 && length < 4000);
    char text[4096];
    EXPECT_EQ(length, write(text, sizeof text));
    EXPECT_EQ(length, (int64_t)strlen(text));
    for (size_t cap = 0; cap <= (size_t)length + 2; cap++) {
        char *buf = malloc(cap + 1); /* of the exact size: valgrind and ASan watch its end */
        EXPECT(buf);
        memset(buf, '#', cap + 1);
        EXPECT_EQ(length, write(buf, cap));
        if (cap > 0) EXPECT_TEXT(cap > (size_t)length ? text : "", buf);
        EXPECT_EQ('#', buf[cap]);
        free(buf);
    }
}

static void a_failed_call_leaves_an_empty_text(void) {
    char text[] = "not set";
    rl_result zeroed = {0};
    EXPECT_ERROR(RL_EINVAL, rl_headers(limiter, &zeroed, RL_HEADERS_X, text, sizeof text));
    EXPECT_TEXT("", text);
    strcpy(text, "not set");
    EXPECT_ERROR(RL_EINVAL, rl_ip_key("nonsense", 0, text, sizeof text));
    EXPECT_TEXT("", text);
}

/* Whatever a limiter did not fill is refused, by all three styles and the body. */
static void refused(rl_result result, const char *what) {
    about("%s", what);
    for (int style = RL_HEADERS_X; style <= RL_HEADERS_IETF; style++)
        EXPECT_ERROR(RL_EINVAL, rl_headers(limiter, &result, style, NULL, 0));
    EXPECT_ERROR(RL_EINVAL, rl_problem(limiter, &result, NULL, 0));
}

#define REFUSED(field, value)               \
    do {                                    \
        rl_result result = denied;          \
        result.field = (value);             \
        refused(result, #field " " #value); \
    } while (0)

static void foreign_results_are_refused(void) {
    rl_limiter *other = open_store(":memory:", "a: 3/h; b: 7/min");
    rl_result foreign;
    EXPECT_EQ(RL_OK, rl_hit(other, "b", "k", 1, 1, NOW, &foreign));
    refused(foreign, "another policy's");
    EXPECT_EQ(RL_OK, rl_hit(other, "a", "k", 1, 1, NOW, &foreign));
    refused(foreign, "a rule of the same index, of other windows");
    rl_close(other);
    refused((rl_result){0}, "zeroed");
    memset(&foreign, 0xff, sizeof foreign);
    refused(foreign, "all ones");
    memset(&foreign, 0x7f, sizeof foreign);
    refused(foreign, "large numbers");
    REFUSED(allowed, 2);
    REFUSED(allowed, 1); /* yet retry_after is not 0 */
    REFUSED(limit, 4);
    REFUSED(count, -1);
    REFUSED(remaining, -1);
    REFUSED(remaining, 4);
    REFUSED(reset_at, 0);
    REFUSED(retry_after, 0);
    REFUSED(retry_after, INT64_MIN);
    REFUSED(window_start_ms, NOW);
    REFUSED(window_start_ms, INT64_MIN);
    REFUSED(window_ms, 59999);
    REFUSED(window_ms, INT64_MAX);
    REFUSED(now_ms, NOW - 60000);
    REFUSED(now_ms, NOW + 60000);
    REFUSED(now_ms, INT64_MAX);
    REFUSED(rule, 1);
    REFUSED(rule, -1);
    REFUSED(rule, INT64_MAX);
    REFUSED(limit_index, 1);
    REFUSED(limit_index, INT64_MIN);
    REFUSED(reserved[0], 1);
    REFUSED(reserved[3], 1);
    REFUSED(insured, 1); /* this limiter has no insurance */
    REFUSED(insured, 2);
}

static void a_problem_says_when_to_come_back(void) {
    char text[512];
    EXPECT(rl_problem(limiter, &denied, text, sizeof text) > 0);
    EXPECT_TEXT("{\"type\":\"rate-limit-exceeded\",\"title\":\"Too Many Requests\","
                "\"status\":429,\"detail\":\"The limit of 3 per 1m leaves no room; retry after "
                "15 s.\",\"limit\":3,\"remaining\":2,\"retry_after\":15}",
                text);
    rl_result never;
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "k", 1, 4, NOW, &never));
    EXPECT_EQ(-1, never.retry_after);
    EXPECT(rl_problem(limiter, &never, text, sizeof text) > 0);
    EXPECT(strstr(text, "\"limit\":3,\"remaining\":2}") && !strstr(text, "retry_after"));
}

static void codes_have_words(void) {
    for (int code = RL_EINTERNAL; code <= RL_OK; code++) {
        about("code %d", code);
        EXPECT(*rl_strerror(code) && strcmp(rl_strerror(code), rl_strerror(RL_EINTERNAL - 1)));
    }
    const int unknown[] = {RL_EINTERNAL - 1, INT32_MIN, 1, INT32_MAX};
    for (int i = 0; i < 4; i++) EXPECT(*rl_strerror(unknown[i]));
}

static void rule_names_last_until_close(void) {
    rl_limiter *two = open_store(":memory:", "login: POST /login 3/10s; api: * 10/10s");
    const char *first = rl_rule_name(two, 0), *routed;
    EXPECT_EQ(RL_OK, rl_route(two, "GET", "/x", &routed));
    for (int i = 0; i < 1000; i++) {
        rl_result result;
        const char *again;
        EXPECT_EQ(RL_OK, rl_hit(two, routed, (const char *)&i, sizeof i, 1, NOW, &result));
        EXPECT_EQ(RL_ENORULE, rl_hit(two, "none", "k", 1, 1, NOW, &result));
        EXPECT_EQ(RL_OK, rl_route(two, "POST", "/login?next=/", &again));
        EXPECT(again == first);
    }
    EXPECT_TEXT("login", first);
    EXPECT_TEXT("api", routed);
    EXPECT(routed == rl_rule_name(two, 1));
    const int64_t no_rule[] = {2, -1, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; i++) EXPECT(!rl_rule_name(two, no_rule[i]));
    rl_close(two);
}

static void *another_thread(void *unused) {
    EXPECT_TEXT("", rl_last_error());
    EXPECT_ERROR(RL_EINVAL, rl_ip_key("other", 0, NULL, 0));
    return unused;
}

static void the_last_error_is_the_threads_own(void) {
    rl_result result;
    pthread_t thread;
    char kept[512];
    EXPECT_ERROR(RL_ENORULE, rl_hit(limiter, "none", "k", 1, 1, NOW, &result));
    const char *text = rl_last_error();
    snprintf(kept, sizeof kept, "%s", text);
    EXPECT(!pthread_create(&thread, NULL, another_thread, NULL) && !pthread_join(thread, NULL));
    /* Functions without a code leave it as it is. */
    rl_strerror(RL_EIO);
    rl_version();
    rl_abi_version();
    rl_rule_name(limiter, 99);
    EXPECT(text == rl_last_error());
    EXPECT_TEXT(kept, text);
    EXPECT_EQ(RL_OK, rl_status(limiter, NULL, "k", 1, NOW, &result));
    EXPECT_TEXT("", rl_last_error());
    EXPECT_ERROR(RL_EINVAL, rl_ip_key("", 0, NULL, 0));
    EXPECT(rl_ip_key("192.0.2.1", 0, NULL, 0) > 0);
    EXPECT_TEXT("", rl_last_error());
}

/* Keys end up in logs through messages, headers and bodies, unless nothing ever holds one. */
static void no_text_holds_a_key(void) {
    const char *key = "the-clients-name";
    rl_result result;
    char text[1024];
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, key, strlen(key), 1, NOW, &result));
    for (int style = RL_HEADERS_X; style <= RL_HEADERS_IETF; style++) {
        EXPECT(rl_headers(limiter, &result, style, text, sizeof text) > 0);
        EXPECT(!strstr(text, key));
    }
    EXPECT(rl_problem(limiter, &result, text, sizeof text) > 0 && !strstr(text, key));
    EXPECT(rl_hit(limiter, "none", key, strlen(key), 1, NOW, &result));
    EXPECT(!strstr(rl_last_error(), key));
    EXPECT(rl_hit(limiter, NULL, key, strlen(key), -1, NOW, &result));
    EXPECT(!strstr(rl_last_error(), key));
    EXPECT(rl_info(limiter, text, sizeof text) > 0 && !strstr(text, key));
}

int main(void) {
    limiter = open_store(":memory:", "default: 3/min");
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "k", 1, 1, NOW, &denied));
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, "k", 1, 3, NOW, &denied));
    EXPECT(!denied.allowed && denied.remaining == 2);

    fits_or_says_how_long_it_is("rl_headers", headers);
    fits_or_says_how_long_it_is("rl_problem", problem);
    fits_or_says_how_long_it_is("rl_ip_key", ip_key);
    fits_or_says_how_long_it_is("rl_info", info);
    a_failed_call_leaves_an_empty_text();
    foreign_results_are_refused();
    a_problem_says_when_to_come_back();
    codes_have_words();
    rule_names_last_until_close();
    the_last_error_is_the_threads_own();
    no_text_holds_a_key();
    EXPECT_TEXT(RL_VERSION, rl_version());
    EXPECT_EQ(RL_ABI_VERSION, rl_abi_version());
    rl_close(limiter);
    return 0;
}
