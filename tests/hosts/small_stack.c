/*
 * The library in a thread with a stack of 64 KiB, its first call and all others.
 *
 *     small_stack DIRECTORY
 */
#include "attack.h"

#include <limits.h>

static const char *directory;

static void call_everything(int64_t audit)
{
    char path[512], foreign[512], text[4000], key[300];
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(foreign, sizeof foreign, "%s", directory);
    memset(key, 'k', sizeof key);
    rl_options options = {.struct_size = sizeof options, .audit = audit, .keep_open = RL_OFF,
                          .key_secret = "secret", .key_secret_len = 6};
    rl_limiter *limiter, *none;
    rl_result result;
    int64_t removed;
    const char *rule;
    CHECK(rl_open(foreign, POLICY, &options, &none) == RL_ENOTSTORE);
    CHECK(rl_open(path, "a: /x 1/", NULL, &none) == RL_EPOLICY);
    CHECK(rl_open(path, "a: POST /x 5/s, 9/min, 9/h, 9/d, 9/month; b: 3/s", &options, &limiter)
          == RL_OK);
    for (int number = 0; number < 200; number++) {
        int64_t now = INT64_C(1767225645000) + number * 500;
        CHECK(rl_hit(limiter, "a", key, sizeof key, 1, now, &result) == RL_OK);
        CHECK(rl_refund(limiter, "a", key, sizeof key, 1, now, &result) == RL_OK);
        CHECK(rl_status(limiter, "a", key, sizeof key, now, &result) == RL_OK);
    }
    CHECK(rl_headers(limiter, &result, RL_HEADERS_IETF, text, sizeof text) > 0);
    CHECK(rl_problem(limiter, &result, text, sizeof text) > 0);
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    CHECK(rl_ip_key("2001:db8::1", 0, text, sizeof text) > 0);
    CHECK(rl_route(limiter, "POST", "/x?y", &rule) == RL_OK);
    CHECK(rl_reset(limiter, NULL, key, sizeof key, &removed) == RL_OK && removed > 0);
    CHECK(rl_prune(limiter, RL_NOW, &removed) == RL_OK);
    rl_close(limiter);
}

/* An audited hit writes; others leave that to one of them. */
static void *be_small(void *unused)
{
    call_everything(RL_ON);
    call_everything(RL_OFF);
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(60);
    directory = words[1];
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
    CHECK(pthread_attr_getstacksize(&attributes, &size) == 0);
    CHECK(pthread_create(&thread, &attributes, be_small, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    printf("stack=%zu\n", size);
    return 0;
}
