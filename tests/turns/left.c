/*
 * After each call, whatever came of it: is anything still locked in -shm?
 *
 *     left STORE STORE_AT_AN_INTERVAL
 */
#include "../faults/shim.h"

#include "probe.h"

static const char *path;
static rl_limiter *limiter;
static rl_result result;
static int64_t removed;
static int calls, faults;

static int hit_of(const char *rule, const char *key)
{
    return rl_hit(limiter, rule, key, strlen(key), 1, RL_NOW, &result);
}

static void nothing_is_left(const char *call)
{
    int byte = locked_byte(FIRST_LOCK_BYTE, LOCK_BYTES);
    if (byte == 0)
        byte = locked_byte(LINE, 1);
    if (byte != 0)
        die("byte %d is left locked by %s, number %d", byte, call, fault.number);
    /* The anchor has a shared lock there: this would see one. */
    CHECK(locked_byte(DEADMAN_SWITCH, 1) == DEADMAN_SWITCH);
    calls++;
}

#define LEAVES_NOTHING(call, code)                                                                 \
    do {                                                                                           \
        CHECK((call) == (code));                                                                   \
        nothing_is_left(#call);                                                                    \
    } while (0)

static void calls_that_succeed(void)
{
    CHECK(rl_hit(limiter, "one", "expired", 7, 1, 1000, &result) == RL_OK);
    LEAVES_NOTHING(hit_of("one", "new, and removes the expired one"), RL_OK);
    LEAVES_NOTHING(hit_of("one", "k"), RL_OK);
    LEAVES_NOTHING(hit_of("one", "k"), RL_OK);
    CHECK(result.allowed);
    LEAVES_NOTHING(hit_of("one", "k"), RL_OK);
    CHECK(!result.allowed);
    LEAVES_NOTHING(hit_of("two", "k"), RL_OK);
    LEAVES_NOTHING(hit_of("two", "k"), RL_OK);
    LEAVES_NOTHING(hit_of("two", "k"), RL_OK);
    CHECK(!result.allowed);
    LEAVES_NOTHING(rl_status(limiter, "one", "k", 1, RL_NOW, &result), RL_OK);
    LEAVES_NOTHING(rl_status(limiter, "two", "k", 1, RL_NOW, &result), RL_OK);
    LEAVES_NOTHING(rl_refund(limiter, "one", "k", 1, 1, RL_NOW, &result), RL_OK);
    LEAVES_NOTHING(rl_reset(limiter, "one", "k", 1, &removed), RL_OK);
    LEAVES_NOTHING(rl_prune(limiter, RL_NOW, &removed), RL_OK);
}

/* The library's locks are not the process's, so this ends none of them. */
static void a_close_by_the_host(void)
{
    CHECK(close(open_wal_index(path)) == 0);
    nothing_is_left("a close() of the host");
}

#define GIVES_UP(call)                                                                             \
    do {                                                                                           \
        CHECK((call) == RL_EBUSY);                                                                 \
        if (locked_byte(LINE, 1) != 0)                                                             \
            die("still in line: " #call);                                                          \
        CHECK(locked_byte(FIRST_LOCK_BYTE, 1) == FIRST_LOCK_BYTE);                                 \
        calls++;                                                                                   \
    } while (0)

static void calls_that_wait_in_vain(void)
{
    sqlite3 *host = host_open(path);
    CHECK(sqlite3_exec(host, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    GIVES_UP(hit_of("one", "k"));
    GIVES_UP(hit_of("two", "k"));
    GIVES_UP(rl_refund(limiter, "two", "k", 1, 1, RL_NOW, &result));
    GIVES_UP(rl_reset(limiter, NULL, "k", 1, &removed));
    GIVES_UP(rl_prune(limiter, RL_NOW, &removed));
    CHECK(sqlite3_exec(host, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_close(host) == SQLITE_OK);
    nothing_is_left("calls in vain");
}

/* The first system call of this kind fails, the second ... once, or from then on. */
static void hits_that_meet(const char *kind, int error)
{
    const char *rules[] = {"one", "two"};
    for (int manner = 0; manner < 4; manner++) {
        const char *rule = rules[manner / 2];
        fault = (__typeof__(fault)){.kind = kind, .error = error, .is_persistent = manner % 2};
        do {
            fault.number++;
            arm();
            int code = hit_of(rule, "faulty");
            disarm();
            CHECK(code != RL_OK || !fault.has_fired || !fault.is_persistent);
            nothing_is_left(kind);
            faults += fault.has_fired;
        } while (fault.has_fired);
    }
}

static void hits_that_move_the_log(void)
{
    struct stat before, after;
    CHECK(stat(path, &before) == 0);
    for (int number = 0; number < 9000; number++) {
        char key[20];
        snprintf(key, sizeof key, "key %d", number);
        LEAVES_NOTHING(hit_of("one", key), RL_OK);
    }
    /* Only the log's way into the database makes that longer. */
    CHECK(stat(path, &after) == 0 && after.st_size > before.st_size + 100000);
}

enum { SLOTS = 16 };

static void hit_new_key(int *code)
{
    static int number;
    char key[20];
    snprintf(key, sizeof key, "new %d", number++);
    *code = hit_of("one", key);
}

/* Each of a key that finds no slot to spare, so that what stands there is written first. */
static void hits_that_need_a_slot(const char *kind, int error)
{
    int code;
    for (int is_persistent = 0; is_persistent < 2; is_persistent++) {
        fault = (__typeof__(fault)){.kind = kind, .error = error, .is_persistent = is_persistent};
        do {
            CHECK(rl_prune(limiter, 0, &removed) == RL_OK);
            for (int slot = 0; slot < SLOTS; slot++) {
                hit_new_key(&code);
                CHECK(code == RL_OK);
            }
            fault.number++;
            arm();
            hit_new_key(&code);
            disarm();
            CHECK(code == RL_OK ? !fault.has_fired || !fault.is_persistent : fault.has_fired);
            nothing_is_left(kind);
            faults += fault.has_fired;
        } while (fault.has_fired);
    }
}

static void hits_at_an_interval(const char *store)
{
    path = store;
    rl_options options = {.struct_size = sizeof options,
                          .busy_timeout_ms = 30,
                          .durability = RL_DURABLE_INTERVAL,
                          .flush_interval_ms = 60000,
                          .table_slots = SLOTS};
    CHECK(rl_open(path, "one: 2/366d", &options, &limiter) == RL_OK);
    CHECK(close(probe) == 0);
    probe = open_wal_index(path);
    int before = faults;
    hits_that_need_a_slot("write", EIO);
    hits_that_need_a_slot("lock", EAGAIN);
    CHECK(faults > before + 5);
    rl_close(limiter);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    alarm(30);
    path = words[1];
    /* Each hit needs the write lock. */
    rl_options options = {.struct_size = sizeof options,
                          .busy_timeout_ms = 30,
                          .durability = RL_DURABLE_HIT};
    CHECK(rl_open(path, "one: 2/366d; two: 2/366d, 5/365d", &options, &limiter) == RL_OK);
    probe = open_wal_index(path);
    calls_that_succeed();
    a_close_by_the_host();
    calls_that_wait_in_vain();
    hits_that_meet("write", EIO);
    hits_that_meet("lock", EAGAIN);
    hits_that_move_the_log();
    rl_close(limiter);
    hits_at_an_interval(words[2]);
    printf("calls=%d faults=%d\n", calls, faults);
    return 0;
}
