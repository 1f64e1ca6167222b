/* hits STORE hit|interval POLICY KEY NOW_MS HITS: says "ready", waits for a line, hits, and prints the
 * count and the verdict of each hit. With 0 hits: prints the status. */
#include <inttypes.h>
#include <ratelite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(void) {
    fprintf(stderr, "C: %s\n", rl_last_error());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 7)
        return 2;
    const char *key = argv[4];
    int64_t now_ms = strtoll(argv[5], NULL, 10);
    long hits = strtol(argv[6], NULL, 10);

    rl_options options = {0};
    options.struct_size = sizeof options;
    options.connect_timeout_ms = options.command_timeout_ms = 10000; /* of a server, if it is one */
    options.durability = strcmp(argv[2], "hit") == 0 ? RL_DURABLE_HIT : RL_DURABLE_INTERVAL;
    rl_limiter *limiter;
    rl_result result, *results = calloc(hits + 1, sizeof *results);
    if (results == NULL || rl_open(argv[1], argv[3], &options, &limiter) != RL_OK)
        return failed();
    if (hits == 0) {
        if (rl_status(limiter, NULL, key, strlen(key), now_ms, &result) != RL_OK)
            return failed();
        printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", result.limit,
               result.count, result.remaining, result.reset_at, result.retry_after);
    } else {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    for (long hit = 0; hit < hits; hit++)
        if (rl_hit(limiter, NULL, key, strlen(key), 1, now_ms, &results[hit]) != RL_OK)
            return failed();
    for (long hit = 0; hit < hits; hit++)
        printf("%" PRId64 " %" PRId64 "\n", results[hit].count, results[hit].allowed);
    rl_close(limiter);
    free(results);
    return 0;
}
