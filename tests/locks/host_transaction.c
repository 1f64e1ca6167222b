/*
 * The host has a write transaction of its own on the store for a while, and hits go on in it.
 *
 *     host_transaction STORE
 */
#include "attack.h"

static int cause_is(rl_limiter *limiter, const char *cause)
{
    char text[4000], member[100];
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    snprintf(member, sizeof member, "\"cause\":%s", cause);
    return strstr(text, member) != NULL;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(60);
    struct score *score = new_score();
    rl_options options = {.durability = RL_DURABLE_INTERVAL, .busy_timeout_ms = 10000};
    rl_limiter *limiter = open_store_with(words[1], options);
    hits(score, limiter, 97);
    sqlite3 *host = host_open(words[1]);
    CHECK(sqlite3_exec(host, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    double end = seconds() + 20, slowest = 0;
    int is_told = 0;
    for (int number = 0; number < 10000 || !is_told; number++) {
        double began = seconds();
        CHECK(hit(score, limiter, number) == RL_OK);
        if (seconds() - began > slowest)
            slowest = seconds() - began;
        is_told = is_told || cause_is(limiter, "\"the store was busy until the deadline\"");
        CHECK(seconds() < end);
    }
    CHECK(told(limiter, "unwritten") > 0);
    CHECK(sqlite3_exec(host, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(host);

    int64_t removed;
    CHECK(rl_prune(limiter, 0, &removed) == RL_OK);
    CHECK(told(limiter, "unwritten") == 0 && cause_is(limiter, "null"));
    print_score(score);
    printf("slowest_ms=%.0f stored=%ld\n", slowest * 1000, in_file(words[1]));
    return 0;
}
