/* Five requests of one client under a limit of three a minute.
 *
 *     cc quickstart.c -lratelite -o quickstart && ./quickstart limits.db
 */
#include <inttypes.h>
#include <ratelite.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *store = argc > 1 ? argv[1] : "limits.db";
    const char *key = "alice";

    rl_limiter *limiter;
    if (rl_open(store, "quickstart: 3/min", NULL, &limiter) != RL_OK) {
        fprintf(stderr, "%s\n", rl_last_error());
        return 1;
    }
    for (int request = 1; request <= 5; request++) {
        rl_result result;
        if (rl_hit(limiter, NULL, key, strlen(key), 1, RL_NOW, &result) != RL_OK) {
            fprintf(stderr, "%s\n", rl_last_error());
            rl_close(limiter);
            return 1;
        }
        if (result.allowed)
            printf("request %d: allowed, %" PRId64 " left\n", request, result.remaining);
        else
            printf("request %d: denied, retry after %" PRId64 " s\n", request, result.retry_after);
    }
    rl_close(limiter);
    return 0;
}
