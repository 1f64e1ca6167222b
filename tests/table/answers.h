/*
 * What the programs of this folder share: answers written down where they survive whoever writes
 * them, keys of every length, and words of the command line.
 */
#ifndef ANSWERS_H
#define ANSWERS_H

#include "attack.h"

enum call { HIT = 1, STATUS, REFUND, RESET };

/* As check.rs reads it. Of a reset only `removed` means something. */
struct answer {
    int64_t begun_ns, ended_ns, start_ms, now_ms;
    int32_t key, cost, count, remaining, limit, removed;
    uint8_t call, rule, allowed, limit_index;
    int32_t spare;
};
_Static_assert(sizeof(struct answer) == 64, "check.rs reads 64 bytes");

/* Room for `most` answers in a new file; what is left of it stays zero and means nothing. */
__attribute__((unused)) static struct answer *map_answers(const char *folder, const char *name,
                                                          long most)
{
    char path[520];
    snprintf(path, sizeof path, "%s/%s.answers", folder, name);
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, most * sizeof(struct answer)) == 0);
    void *room = mmap(NULL, most * sizeof(struct answer), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(room != MAP_FAILED && close(fd) == 0);
    return room;
}

__attribute__((unused)) static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((unused)) static void note(struct answer *answer, enum call call, int rule, int key,
                                         int64_t cost, int64_t begun_ns, const rl_result *result)
{
    CHECK(result->limit <= INT32_MAX || result->limit == RL_MAX_UNITS);
    int is_endless = result->limit == RL_MAX_UNITS;
    *answer = (struct answer){
        .begun_ns = begun_ns,
        .ended_ns = clock_ns(),
        .start_ms = result->window_start_ms,
        .now_ms = result->now_ms,
        .key = key,
        .cost = cost,
        .count = result->count,
        .remaining = is_endless ? INT32_MAX - (result->limit - result->remaining) : result->remaining,
        .limit = is_endless ? INT32_MAX : result->limit,
        .rule = rule,
        .allowed = result->allowed,
        .limit_index = result->limit_index,
    };
    /* The last: before, the entry means nothing. */
    __atomic_store_n(&answer->call, call, __ATOMIC_RELEASE);
}

enum { LONGEST_KEY = 100 };

/*
 * Most keys are short. Some differ only in what a slot's second line holds, some only where a key is
 * no longer kept as it is.
 */
__attribute__((unused)) static size_t key_of(int number, char *key)
{
    static const char filling[] =
        "................................................................................"
        "....................";
    switch (number % 8) {
    case 0:
        return sprintf(key, "%.34s%06d", filling, number);
    case 1:
        return sprintf(key, "%.66s%06d", filling, number);
    case 2:
        return sprintf(key, "%06d%.94s", number, filling);
    default:
        return sprintf(key, "k%d", number);
    }
}

__attribute__((unused)) static int is_key_in_full(int number)
{
    return number % 8 != 2;
}

/* Marsaglia's xorshift: what it lacks in randomness the scheduler has. */
__attribute__((unused)) static unsigned below(uint64_t *dice, unsigned end)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    return (*dice >> 11) % end;
}

__attribute__((unused)) static uint64_t new_dice(unsigned seed)
{
    uint64_t dice = (seed + 1) * 0x9E3779B97F4A7C15u | 1;
    for (int warm = 0; warm < 8; warm++)
        below(&dice, 2);
    return dice;
}

static char **settings;

/* The word of the command line that is `name=...`. */
__attribute__((unused)) static const char *setting(const char *name, const char *otherwise)
{
    size_t length = strlen(name);
    for (char **word = settings; *word != NULL; word++)
        if (strncmp(*word, name, length) == 0 && (*word)[length] == '=')
            return *word + length + 1;
    return otherwise;
}

__attribute__((unused)) static long number_of(const char *name, long otherwise)
{
    const char *text = setting(name, NULL);
    return text == NULL ? otherwise : atol(text);
}

/* `durability`: hit, interval, or mixed, when every other process has the one and the other. */
__attribute__((unused)) static rl_options options_of(int process)
{
    const char *durability = setting("durability", "interval");
    int is_hit = strcmp(durability, "hit") == 0 ||
                 (strcmp(durability, "mixed") == 0 && process % 2 == 0);
    return (rl_options){
        .struct_size = sizeof(rl_options),
        .busy_timeout_ms = 20000,
        .durability = is_hit ? RL_DURABLE_HIT : RL_DURABLE_INTERVAL,
        .flush_interval_ms = number_of("interval", 10),
        .table_slots = number_of("slots", 4096),
    };
}

__attribute__((unused)) static rl_limiter *open_limiter(const char *path, const char *policy,
                                                        const rl_options *options)
{
    rl_limiter *limiter;
    int code = rl_open(path, policy, options, &limiter);
    if (code != RL_OK)
        die("rl_open() = %d: %s", code, rl_last_error());
    return limiter;
}

/* Writes everything into the database, and removes nothing. */
__attribute__((unused)) static void write_out(rl_limiter *limiter)
{
    int64_t removed = -1;
    int code = rl_prune(limiter, 0, &removed);
    if (code != RL_OK || removed != 0)
        die("rl_prune(0) = %d, %ld removed: %s", code, (long)removed, rl_last_error());
}

__attribute__((unused)) static void *shared_memory(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* The child's number in a new process, -1 in the old one. */
__attribute__((unused)) static int fork_all(pid_t *children, int count)
{
    for (int index = 0; index < count; index++) {
        children[index] = fork();
        CHECK(children[index] >= 0);
        if (children[index] == 0) {
            die_with_parent();
            return index;
        }
    }
    return -1;
}

/* What a row says; -1 in both where there is none. `window` is as in rate_limit_status. */
__attribute__((unused)) static void stored_counter(sqlite3 *database, const char *rule,
                                                   const char *window, int key, int64_t *attempts,
                                                   int64_t *admitted)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    sqlite3_stmt *row;
    const char *sql = "SELECT attempts, admitted FROM rate_limit_status "
                      "WHERE rule = ?1 AND window = ?2 AND key = ?3";
    if (sqlite3_prepare_v2(database, sql, -1, &row, NULL) != SQLITE_OK)
        die("the host's \"%s\": %s", sql, sqlite3_errmsg(database));
    sqlite3_bind_text(row, 1, rule, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, window, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 3, text, length, SQLITE_STATIC);
    int is_there = sqlite3_step(row) == SQLITE_ROW;
    *attempts = is_there ? sqlite3_column_int64(row, 0) : -1;
    *admitted = is_there ? sqlite3_column_int64(row, 1) : -1;
    if (sqlite3_finalize(row) != SQLITE_OK)
        die("the host's \"%s\": %s", sql, sqlite3_errmsg(database));
}

#endif
