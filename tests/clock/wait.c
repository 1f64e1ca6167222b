/*
 * The clock steps while a hit waits for its turn: the hit is counted in the window in which its turn
 * came, and its patience is that of another clock.
 *
 *     wait STORE
 *
 * Where rows count, its turn comes with the store's write lock, which the host holds. Where a table
 * does, the slots for its key are all taken, and none can be spared before it is written.
 */
#include "clock.h"

enum { FORMAT_TABLE = 3, SLOTS = 16 };

static rl_limiter *limiter, *others;
static rl_result result;
static atomic_int is_done;

static void *hit_and_wait(void *argument)
{
    rl_result *place = argument;
    CHECK(rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, place) == RL_OK);
    is_done = 1;
    return NULL;
}

/* Which nobody can write out while the host holds the write lock. */
static void take_all_slots(void)
{
    static int number;
    rl_result of_another;
    for (int slot = 0; slot < SLOTS; slot++) {
        char key[16];
        int length = snprintf(key, sizeof key, "other %d", number++);
        CHECK(rl_hit(others, NULL, key, length, 1, RL_NOW, &of_another) == RL_OK);
    }
}

static void step_while_waiting(const char *path, long begin, long step)
{
    clock_ms = begin;
    is_done = 0;
    sqlite3 *host = host_open(path);
    CHECK(sqlite3_exec(host, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    if (told(limiter, "format") == FORMAT_TABLE)
        take_all_slots();
    long readings = clock_readings;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, hit_and_wait, &result) == 0);
    /* Each pause asks the clock for its unevenness, so whoever asks again and again is waiting. */
    while (clock_readings < readings + 5)
        sched_yield();
    clock_ms = begin + step;
    CHECK(!is_done);
    CHECK(sqlite3_exec(host, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(host);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(result.now_ms == begin + step);
    CHECK(result.window_start_ms == (begin + step) / MINUTE * MINUTE);
    CHECK(result.allowed && result.count == 1 && result.retry_after == 0);
}

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(60);
    static const long steps[] = {SECOND, -SECOND, HOUR, -HOUR, 10 * YEAR, -10 * YEAR};
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = 20000};
    clock_ms = 1767225600000;
    options.table_slots = SLOTS;
    CHECK(rl_open(words[1], "3/min", &options, &limiter) == RL_OK);
    /* Whose hits wait for nobody. */
    options.durability = RL_DURABLE_INTERVAL;
    CHECK(rl_open(words[1], "3/min", &options, &others) == RL_OK);
    for (int index = 0; index < 6; index++) {
        int64_t removed;
        CHECK(rl_reset(limiter, NULL, "k", 1, &removed) == RL_OK);
        step_while_waiting(words[1], 1767225600000, steps[index]);
    }
    rl_close(others);
    rl_close(limiter);
    puts("steps=6");
    return 0;
}
