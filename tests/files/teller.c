/*
 * Opens a store, and does what it reads, a word a line, until there is no more: `hit` (prints what was
 * counted), `status` (what is left). Prints a code instead where that fails.
 *
 *     teller STORE FLUSH_INTERVAL_MS
 */
#include "attack.h"

int main(int count, char **words)
{
    CHECK(count == 3);
    alarm(60);
    rl_options options = {.struct_size = sizeof options, .flush_interval_ms = atoi(words[2])};
    rl_limiter *limiter;
    int code = rl_open(words[1], "r: 100/366d", &options, &limiter);
    printf("%d\n", code);
    fflush(stdout);
    char word[20];
    while (code == RL_OK && scanf("%19s", word) == 1) {
        rl_result result;
        int is_hit = strcmp(word, "hit") == 0;
        int done = is_hit ? rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result)
                          : rl_status(limiter, NULL, "k", 1, RL_NOW, &result);
        printf("%ld\n", done != RL_OK ? done : is_hit ? (long)result.count : (long)result.remaining);
        fflush(stdout);
    }
    rl_close(limiter);
    return 0;
}
