/*
 * Processes hit as fast as they can, each time with a key that was never seen, in short windows.
 * What is left when they end, and nobody has called rl_prune()?
 *
 *     crowd STORE PROCESSES HITS hit|interval
 */
#include "attack.h"

static void hit_new_keys(const char *path, int process, int hit_count, int64_t durability)
{
    alarm(60);
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = 20000};
    options.durability = durability;
    options.flush_interval_ms = 1;
    rl_limiter *limiter;
    CHECK(rl_open(path, "crowd: 9/10ms", &options, &limiter) == RL_OK);
    for (int number = 0; number < hit_count; number++) {
        char key[32];
        int length = snprintf(key, sizeof key, "%d:%d", process, number);
        rl_result result;
        CHECK(rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result) == RL_OK);
    }
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count == 5);
    alarm(60);
    int64_t durability = strcmp(words[4], "hit") == 0 ? RL_DURABLE_HIT : RL_DURABLE_INTERVAL;
    int processes = atoi(words[2]), each = atoi(words[3]);
    struct score *score = new_score();
    for (int process = 0; process < processes; process++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            hit_new_keys(words[1], process, each, durability);
    }
    for (int process = 0; process < processes; process++)
        reap(score, -1);
    CHECK(score->hung == 0);
    sqlite3 *database = host_open(words[1]);
    long rows = host_number(database, "SELECT count(*) FROM rate_limit_windows");
    sqlite3_close(database);
    printf("hits=%d rows=%ld\n", processes * each, rows);
    return 0;
}
