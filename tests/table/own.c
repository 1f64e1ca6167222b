/*
 * Each thread asks about keys of its own, which nobody else knows, in a table that is too small for
 * all. So it knows every answer of every function before it asks.
 *
 *     own STORE FOLDER [NAME=VALUE ...]
 *
 *     processes, threads, keys, ms, seed    keys: of each thread; nothing is left in FOLDER
 *     slots, interval, durability           see answers.h
 */
#include "answers.h"

enum { MOST_PROCESSES = 16, MOST_THREADS = 4, MOST_KEYS = 200, RULES = 4, MOST_LIMITS = 2 };

#define OWN_POLICY                                                                                 \
    "one: 20/366d; two: 15/366d, 40/365d; tie: 3/365d, 3/366d; none: 0/366d"

static const struct rule {
    const char *name;
    int limits;
    struct { int64_t units, days; } limit[MOST_LIMITS];
} rules[RULES] = {
    {"one", 1, {{20, 366}}},
    {"two", 2, {{15, 366}, {40, 365}}},
    {"tie", 2, {{3, 365}, {3, 366}}},
    {"none", 1, {{0, 366}}},
};

struct counter {
    int64_t attempts, admitted;
};

/* In shared memory, so that a child of fork can go on with it. */
struct model {
    struct counter counters[MOST_KEYS][RULES][MOST_LIMITS];
    uint64_t dice;
    long calls, looks;
};

struct caller {
    int process, first_key, keys, is_child;
    rl_options options;
    rl_limiter *limiter;
    struct model *model;
};

static const char *path;
static int processes, threads;
static atomic_int *ready;
static double end;

static int64_t length_ms(const struct rule *rule, int index)
{
    return rule->limit[index].days * 86400000;
}

/* On an allowance too, when there is no refusing one: the least remaining. */
static int refusing(const struct rule *rule, const struct counter *counters, int64_t cost,
                    int64_t now)
{
    for (int index = 0; index < rule->limits; index++)
        if (cost > rule->limit[index].units)
            return index;
    int last = -1;
    int64_t last_end = -1;
    for (int index = 0; index < rule->limits; index++) {
        int64_t length = length_ms(rule, index), window_end = now - now % length + length;
        int refuses = counters[index].admitted + cost > rule->limit[index].units;
        if (refuses && window_end > last_end) {
            last = index;
            last_end = window_end;
        }
    }
    return last;
}

static int scarcest(const struct rule *rule, const struct counter *counters)
{
    int least = 0;
    for (int index = 1; index < rule->limits; index++)
        if (rule->limit[index].units - counters[index].admitted <
            rule->limit[least].units - counters[least].admitted)
            least = index;
    return least;
}

static void must_be(const char *call, const struct caller *caller, int key, const struct rule *rule,
                    const struct counter *counters, int is_allowed, int index,
                    const rl_result *result)
{
    int64_t units = rule->limit[index].units, remaining = units - counters[index].admitted;
    int64_t start = result->now_ms - result->now_ms % length_ms(rule, index);
    if (result->allowed != is_allowed || result->limit_index != index || result->limit != units ||
        result->count != counters[index].attempts || result->remaining != remaining ||
        result->window_start_ms != start)
        die("%s of \"%s\", key %d of process %d: allowed %ld, limit %ld, count %ld, remaining %ld; "
            "not %d, %d, %ld, %ld", call, rule->name, key, caller->process, (long)result->allowed,
            (long)result->limit_index, (long)result->count, (long)result->remaining, is_allowed,
            index, (long)counters[index].attempts, (long)remaining);
}

static void must_be_status(const char *call, const struct caller *caller, int key,
                           const struct rule *rule, const struct counter *counters,
                           const rl_result *result)
{
    int refuses = refusing(rule, counters, 1, result->now_ms);
    int index = refuses >= 0 ? refuses : scarcest(rule, counters);
    must_be(call, caller, key, rule, counters, refuses < 0, index, result);
}

static void in_time(const char *call, int code)
{
    if (code != RL_OK)
        die("%s = %d: %s", call, code, rl_last_error());
}

/* What is in the file, by another SQLite, is what was counted. */
static void look(struct caller *caller, int key, const struct rule *rule,
                 const struct counter *counters)
{
    /* The host's SQLite knows nothing of forks: another thread may have been in the midst of it. */
    int may_hang = caller->is_child && threads > 1;
    if (may_hang || !is_key_in_full(caller->first_key + key))
        return;
    sqlite3 *host = host_open(path);
    for (int index = 0; index < rule->limits; index++) {
        char window[40];
        snprintf(window, sizeof window, "%ld s", (long)rule->limit[index].days * 86400);
        struct counter stored;
        stored_counter(host, rule->name, window, caller->first_key + key, &stored.attempts,
                       &stored.admitted);
        int is_gone = stored.attempts < 0 && counters[index].attempts == 0;
        if (!is_gone && memcmp(&stored, &counters[index], sizeof stored) != 0)
            die("limit %d of \"%s\", key %d of process %d: %ld and %ld are stored; not %ld and %ld",
                index, rule->name, key, caller->process, (long)stored.attempts,
                (long)stored.admitted, (long)counters[index].attempts,
                (long)counters[index].admitted);
    }
    sqlite3_close(host);
    caller->model->looks++;
}

static void hit_one(struct caller *caller, int key, const struct rule *rule,
                    struct counter *counters, const char *text, size_t length)
{
    uint64_t *dice = &caller->model->dice;
    /* Beyond the limits sometimes, and nothing at all. */
    int64_t cost = below(dice, 50) ? (int64_t)below(dice, 6) : 41;
    rl_result result;
    in_time("rl_hit()", rl_hit(caller->limiter, rule->name, text, length, cost, RL_NOW, &result));
    if (cost == 0) {
        must_be_status("rl_hit(0)", caller, key, rule, counters, &result);
        return;
    }
    int refuses = refusing(rule, counters, cost, result.now_ms);
    for (int index = 0; index < rule->limits; index++) {
        counters[index].attempts += cost;
        counters[index].admitted += refuses < 0 ? cost : 0;
    }
    int index = refuses >= 0 ? refuses : scarcest(rule, counters);
    must_be("rl_hit()", caller, key, rule, counters, refuses < 0, index, &result);
    if (caller->options.durability == RL_DURABLE_HIT && !below(dice, 50))
        look(caller, key, rule, counters);
}

static void refund_one(struct caller *caller, int key, const struct rule *rule,
                       struct counter *counters, const char *text, size_t length)
{
    int64_t cost = below(&caller->model->dice, 8);
    rl_result result;
    in_time("rl_refund()",
            rl_refund(caller->limiter, rule->name, text, length, cost, RL_NOW, &result));
    for (int index = 0; index < rule->limits; index++) {
        counters[index].admitted -= cost;
        if (counters[index].admitted < 0)
            counters[index].admitted = 0;
    }
    must_be_status("rl_refund()", caller, key, rule, counters, &result);
}

static void reset_one(struct caller *caller, int key, int only, const char *text, size_t length)
{
    int64_t removed, counted = 0;
    in_time("rl_reset()", rl_reset(caller->limiter, only < 0 ? NULL : rules[only].name, text,
                                   length, &removed));
    for (int number = 0; number < RULES; number++) {
        struct counter *counters = caller->model->counters[key][number];
        if (only >= 0 && only != number)
            continue;
        counted += counters[0].attempts > 0 ? rules[number].limits : 0;
        memset(counters, 0, sizeof caller->model->counters[key][number]);
    }
    if (removed != counted)
        die("rl_reset() of %s, key %d of process %d: %ld removed; not %ld",
            only < 0 ? "all" : rules[only].name, key, caller->process, (long)removed,
            (long)counted);
}

static void calls(struct caller *caller, int count);

static void fork_and_call(struct caller *caller)
{
    struct score *score = new_score();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        die_with_parent();
        caller->is_child = 1;
        calls(caller, 20);
        _exit(0);
    }
    reap(score, child);
    munmap(score, sizeof *score);
}

static void call(struct caller *caller)
{
    struct model *model = caller->model;
    int key = below(&model->dice, caller->keys), number = below(&model->dice, RULES);
    const struct rule *rule = &rules[number];
    struct counter *counters = model->counters[key][number];
    char text[LONGEST_KEY + 1];
    size_t length = key_of(caller->first_key + key, text);
    rl_result result;
    unsigned which = below(&model->dice, 1000);
    model->calls++;
    if (which < 750) {
        hit_one(caller, key, rule, counters, text, length);
    } else if (which < 850) {
        in_time("rl_status()",
                rl_status(caller->limiter, rule->name, text, length, RL_NOW, &result));
        must_be_status("rl_status()", caller, key, rule, counters, &result);
    } else if (which < 950) {
        refund_one(caller, key, rule, counters, text, length);
    } else if (which < 985) {
        reset_one(caller, key, which % 3 ? number : -1, text, length);
    } else if (which < 992) {
        write_out(caller->limiter);
        look(caller, key, rule, counters);
    } else if (which < 995) {
        int64_t removed;
        in_time("rl_prune()", rl_prune(caller->limiter, RL_NOW, &removed));
        CHECK(removed == 0);
    } else if (which < 998 && threads == 1) {
        rl_close(caller->limiter);
        caller->limiter = open_limiter(path, OWN_POLICY, &caller->options);
    } else {
        fork_and_call(caller);
    }
}

static void calls(struct caller *caller, int count)
{
    while (count-- > 0)
        call(caller);
}

static void *call_until_the_end(void *argument)
{
    struct caller *caller = argument;
    ++*ready;
    while (*ready < processes * threads)
        sched_yield();
    while (seconds() < end)
        calls(caller, 20);
    return argument;
}

static void process(int number, struct model *models, int keys)
{
    struct caller callers[MOST_THREADS];
    pthread_t running[MOST_THREADS];
    rl_options options = options_of(number);
    rl_limiter *limiter = open_limiter(path, OWN_POLICY, &options);
    for (int index = 0; index < threads; index++) {
        int all = number * threads + index;
        callers[index] = (struct caller){
            .process = number,
            .first_key = all * keys,
            .keys = keys,
            .options = options,
            .limiter = limiter,
            .model = &models[all],
        };
        models[all].dice = new_dice(number_of("seed", 1) * 100 + all);
        CHECK(pthread_create(&running[index], NULL, call_until_the_end, &callers[index]) == 0);
    }
    for (int index = 0; index < threads; index++)
        CHECK(pthread_join(running[index], NULL) == 0);
    _exit(0);
}

/* Every key of every process, by one who was not there. */
static void come_after(struct model *models, int keys)
{
    unsetenv("RATELITE_POINTS");
    rl_options options = options_of(0);
    rl_limiter *limiter = open_limiter(path, OWN_POLICY, &options);
    for (int all = 0; all < processes * threads; all++) {
        struct caller caller = {
            .process = all / threads, .first_key = all * keys, .model = &models[all]};
        for (int key = 0; key < keys; key++) {
            for (int number = 0; number < RULES; number++) {
                char text[LONGEST_KEY + 1];
                size_t length = key_of(caller.first_key + key, text);
                rl_result result;
                in_time("rl_status()",
                        rl_status(limiter, rules[number].name, text, length, RL_NOW, &result));
                must_be_status("rl_status() at the end", &caller, key, &rules[number],
                               models[all].counters[key][number], &result);
            }
        }
    }
    write_out(limiter);
    rl_close(limiter);
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count >= 3);
    path = words[1], settings = words + 3;
    processes = number_of("processes", 8), threads = number_of("threads", 1);
    int keys = number_of("keys", 40);
    CHECK(processes <= MOST_PROCESSES && threads <= MOST_THREADS && keys <= MOST_KEYS);
    struct model *models = shared_memory(processes * threads * sizeof *models);
    ready = shared_memory(sizeof *ready);
    end = seconds() + number_of("ms", 1000) / 1e3;
    struct score *score = new_score();
    pid_t children[MOST_PROCESSES];
    int number = fork_all(children, processes);
    if (number >= 0)
        process(number, models, keys);
    for (int index = 0; index < processes; index++)
        reap(score, children[index]);
    if (fork_all(children, 1) >= 0)
        come_after(models, keys);
    reap(score, children[0]);
    long calls_made = 0, looks = 0, sum = 0;
    for (int all = 0; all < processes * threads; all++) {
        calls_made += models[all].calls;
        looks += models[all].looks;
        for (int key = 0; key < keys; key++)
            for (int rule = 0; rule < RULES; rule++)
                for (int index = 0; index < MOST_LIMITS; index++)
                    sum += models[all].counters[key][rule][index].attempts;
    }
    printf("calls=%ld looks=%ld counted=%ld stored=%ld\n", calls_made, looks, sum, stored(path));
    return 0;
}
