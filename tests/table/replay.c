/*
 * Threads of several processes call as fast as they can, by the real clock, and write down every
 * answer; then a process that comes after them asks for every key, and writes everything out.
 *
 *     replay STORE FOLDER POLICY [NAME=VALUE ...]
 *
 * The answers of a thread are a file in FOLDER. The policy has one rule. Values are numbers, but for
 * durability:
 *
 *     processes, threads    how many, and of each process
 *     keys, favourites      how many, and how many of them get every other call
 *     costs                 a hit costs 1 to so much
 *     ms, most              how long, and how many answers of a thread at most
 *     statuses, refunds, resets, prunes, looks    how many of a thousand calls are that
 *     slots, interval, durability                 see answers.h
 *
 * A look is a hit of a process with RL_DURABLE_HIT, and what another SQLite then says of it.
 */
#include "answers.h"

enum { MOST_PROCESSES = 16, MOST_THREADS = 4 };

static const char *path, *folder, *policy;
static int processes, threads, keys, favourites, costs;
static long most;
static int statuses, refunds, resets, prunes, looks;
static atomic_int *ready;
static double end;

struct caller {
    int process, is_durable;
    rl_limiter *limiter;
    uint64_t dice;
    struct answer *answers;
    long count;
    sqlite3 *host;
};

static void failed(const char *call, int code)
{
    die("%s = %d: %s", call, code, rl_last_error());
}

static void look(struct caller *caller, int key, int64_t count)
{
    if (caller->host == NULL)
        caller->host = host_open(path);
    int64_t attempts, admitted;
    stored_counter(caller->host, rl_rule_name(caller->limiter, 0), setting("window", ""), key,
                   &attempts, &admitted);
    if (attempts < count)
        die("answered %ld for key %d, and then %ld is in the file", (long)count, key,
            (long)attempts);
}

static void hit_one(struct caller *caller, int key, int is_look)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    int64_t cost = 1 + below(&caller->dice, costs), begun_ns = clock_ns();
    int code = rl_hit(caller->limiter, NULL, text, length, cost, RL_NOW, &result);
    if (code != RL_OK)
        failed("rl_hit()", code);
    note(&caller->answers[caller->count++], HIT, 0, key, cost, begun_ns, &result);
    if (is_look)
        look(caller, key, result.count);
}

static void status_of(struct caller *caller, int key)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    int64_t begun_ns = clock_ns();
    int code = rl_status(caller->limiter, NULL, text, length, RL_NOW, &result);
    if (code != RL_OK)
        failed("rl_status()", code);
    note(&caller->answers[caller->count++], STATUS, 0, key, 0, begun_ns, &result);
}

static void refund_one(struct caller *caller, int key)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    int64_t cost = 1 + below(&caller->dice, costs), begun_ns = clock_ns();
    int code = rl_refund(caller->limiter, NULL, text, length, cost, RL_NOW, &result);
    if (code != RL_OK)
        failed("rl_refund()", code);
    note(&caller->answers[caller->count++], REFUND, 0, key, cost, begun_ns, &result);
}

static void reset_one(struct caller *caller, int key)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    int64_t removed, begun_ns = clock_ns();
    int code = rl_reset(caller->limiter, NULL, text, length, &removed);
    if (code != RL_OK)
        failed("rl_reset()", code);
    caller->answers[caller->count++] = (struct answer){
        .begun_ns = begun_ns, .ended_ns = clock_ns(), .key = key, .removed = removed, .call = RESET};
}

static void prune(struct caller *caller)
{
    int64_t removed;
    if (below(&caller->dice, 2)) {
        write_out(caller->limiter);
        return;
    }
    int code = rl_prune(caller->limiter, RL_NOW, &removed);
    if (code != RL_OK)
        failed("rl_prune()", code);
}

static void call(struct caller *caller)
{
    int is_favourite = favourites > 0 && below(&caller->dice, 2);
    int key = below(&caller->dice, is_favourite ? favourites : keys);
    int which = below(&caller->dice, 1000);
    if ((which -= statuses) < 0)
        status_of(caller, key);
    else if ((which -= refunds) < 0)
        refund_one(caller, key);
    else if ((which -= resets) < 0)
        reset_one(caller, key);
    else if ((which -= prunes) < 0)
        prune(caller);
    else
        hit_one(caller, key, which - looks < 0 && caller->is_durable && is_key_in_full(key));
}

static void *call_until_the_end(void *argument)
{
    struct caller *caller = argument;
    ++*ready;
    while (*ready < processes * threads)
        sched_yield();
    while (caller->count < most && seconds() < end)
        call(caller);
    if (caller->host != NULL)
        sqlite3_close(caller->host);
    return argument;
}

static void process(int number)
{
    rl_options options = options_of(number);
    rl_limiter *limiter = open_limiter(path, policy, &options);
    struct caller callers[MOST_THREADS];
    pthread_t running[MOST_THREADS];
    for (int index = 0; index < threads; index++) {
        char name[40];
        snprintf(name, sizeof name, "%d-%d", number, index);
        callers[index] = (struct caller){
            .process = number,
            .is_durable = options.durability == RL_DURABLE_HIT,
            .limiter = limiter,
            .dice = new_dice(number_of("seed", 1) * 100 + number * MOST_THREADS + index),
            .answers = map_answers(folder, name, most),
        };
        CHECK(pthread_create(&running[index], NULL, call_until_the_end, &callers[index]) == 0);
    }
    for (int index = 0; index < threads; index++)
        CHECK(pthread_join(running[index], NULL) == 0);
    rl_close(limiter);
    _exit(0);
}

static void come_after(void)
{
    unsetenv("RATELITE_POINTS");
    rl_options options = options_of(0);
    struct caller caller = {.limiter = open_limiter(path, policy, &options),
                            .answers = map_answers(folder, "after", keys)};
    for (int key = 0; key < keys; key++)
        status_of(&caller, key);
    write_out(caller.limiter);
    rl_close(caller.limiter);
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count >= 4);
    path = words[1], folder = words[2], policy = words[3], settings = words + 4;
    processes = number_of("processes", 8), threads = number_of("threads", 1);
    keys = number_of("keys", 1), favourites = number_of("favourites", 0);
    costs = number_of("costs", 1), most = number_of("most", 200000);
    statuses = number_of("statuses", 0), refunds = number_of("refunds", 0);
    resets = number_of("resets", 0), prunes = number_of("prunes", 0);
    looks = number_of("looks", 0);
    CHECK(processes <= MOST_PROCESSES && threads <= MOST_THREADS);
    ready = shared_memory(sizeof *ready);
    end = seconds() + number_of("ms", 1000) / 1e3;
    struct score *score = new_score();
    pid_t children[MOST_PROCESSES];
    int number = fork_all(children, processes);
    if (number >= 0)
        process(number);
    for (int index = 0; index < processes; index++)
        reap(score, children[index]);
    if (fork_all(children, 1) >= 0)
        come_after();
    reap(score, children[0]);
    printf("stored=%ld\n", stored(path));
    return 0;
}
