/*
 * A hit is committed, then it removes expired rows, and the N-th system call of a kind fails from
 * then on. A hit that is in the file is a hit that is answered, whatever becomes of the removal.
 *
 *     housekeeping DIRECTORY KIND ERROR
 */
#include "shim.h"

enum { EXPIRED = 100, MOST_POINTS = 100 };

static char path[4096];
static rl_limiter *limiter;
static int refused, unremoved, rolls;

static void open_anew(void)
{
    /* The first new row of a connection makes it remove some. */
    rl_close(limiter);
    rl_options options = {
        .struct_size = sizeof options, .busy_timeout_ms = 30, .keep_open = RL_OFF,
        .durability = RL_DURABLE_HIT, .table_slots = 4096};
    CHECK(rl_open(path, "r: 9007199254740991/min", &options, &limiter) == RL_OK);
}

static int hit_at(const char *key, int64_t now)
{
    rl_result result, none = {0};
    memset(&result, 0xA5, sizeof result);
    int code = rl_hit(limiter, NULL, key, strlen(key), 1, now, &result);
    CHECK(code == RL_OK ? result.allowed == 1 : memcmp(&result, &none, sizeof none) == 0);
    return code;
}

static long rows(const char *of)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM rate_limit_windows WHERE CAST(key AS TEXT) %s",
             of);
    sqlite3 *database = host_open(path);
    long number = host_number(database, sql);
    sqlite3_close(database);
    return number;
}

static void make_expired_rows(void)
{
    open_anew();
    for (int number = 0; number < EXPIRED; number++) {
        char key[20];
        snprintf(key, sizeof key, "old %d", number);
        CHECK(hit_at(key, 1000) == RL_OK);
    }
}

/* Returns whether the fault was met. */
static int hit_with_fault(void)
{
    make_expired_rows();
    open_anew();
    CHECK(hit_at("old 1", 1000) == RL_OK); /* adds no row: opens everything */
    char key[20], is_key[40];
    snprintf(key, sizeof key, "new %d", ++rolls);
    snprintf(is_key, sizeof is_key, "= '%s'", key);
    arm();
    int code = hit_at(key, RL_NOW);
    disarm();
    long is_stored = rows(is_key), expired = rows("GLOB 'old *'");
    if (is_stored != (code == RL_OK))
        die("call %d: code %d, and %ld rows of it: %s", fault.number, code, is_stored,
            rl_last_error());
    refused += code != RL_OK;
    unremoved += code == RL_OK && expired == EXPIRED;
    CHECK(fault.has_fired || expired < EXPIRED);
    /* With the fault gone, other new rows remove them. */
    for (int number = 0; number < 20; number++) {
        snprintf(key, sizeof key, "later %d %d", rolls, number);
        CHECK(hit_at(key, RL_NOW) == RL_OK);
    }
    CHECK(rows("GLOB 'old *'") < EXPIRED);
    return fault.has_fired;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    alarm(60);
    snprintf(path, sizeof path, "%s/store.db", words[1]);
    fault = (__typeof__(fault)){.kind = words[2], .is_persistent = 1};
    fault.error = strcmp(words[3], "EIO") == 0 ? EIO : ENOSPC;
    do
        CHECK(++fault.number < MOST_POINTS);
    while (hit_with_fault());
    rl_close(limiter);
    printf("points=%d refused=%d unremoved=%d\n", fault.number - 1, refused, unremoved);
    return 0;
}
