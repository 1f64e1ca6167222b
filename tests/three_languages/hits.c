/* hits STORE POLICY KEY NOW_MS HITS: says "ready", waits for a line, hits, and prints the count and
 * the verdict of each hit. With 0 hits: prints the status. */
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
    if (argc != 6)
        return 2;
    const char *key = argv[3];
    int64_t now_ms = strtoll(argv[4], NULL, 10);
    long hits = strtol(argv[5], NULL, 10);

    rl_limiter *limiter;
    rl_result result;
    if (rl_open(argv[1], argv[2], NULL, &limiter) != RL_OK)
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
    while (hits-- > 0) {
        if (rl_hit(limiter, NULL, key, strlen(key), 1, now_ms, &result) != RL_OK)
            return failed();
        printf("%" PRId64 " %" PRId64 "\n", result.count, result.allowed);
    }
    rl_close(limiter);
    return 0;
}
