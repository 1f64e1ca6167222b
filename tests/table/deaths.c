/*
 * Eight processes call, and are killed, or stopped for a little and continued; who is dead is
 * replaced. What each call began to ask for and what it answered is noted in memory that outlives
 * all of them. Then one who comes after them finds no lock taken, and what was answered counted.
 *
 *     deaths STORE FOLDER MANNER [NAME=VALUE ...]
 *
 * MANNER: `kills`, `stops` and `both` come at random moments; `crowd` kills all eight at once, again
 * and again; `points` leaves it to RATELITE_POINTS.
 *
 *     ms, keys, seed                 keys: of each rule
 *     rounds                         of `crowd`, each of so many ms
 *     enough                         of `points`: it ends early, after so many deaths and stops
 *     lost                           1: the table's file is taken away before one comes after them
 *     resets                         0: no key is reset
 *     slots, interval, durability    see answers.h
 *
 * The answers of the rules `one` and `short` are a file in FOLDER.
 */
#include "answers.h"

enum { WORKERS = 8, MOST_KEYS = 1000, MOST_COST = 3, MOST_ANSWERS = 1500000, FOR_THE_LAST = 100000 };
enum { ONE, PAIR, GIVEN, FORGOTTEN, SHORT, RULES };

/* The first limit of `pair` is out of reach, so what it reserves is taken back by the second. */
#define DEATHS_POLICY                                                                              \
    "one: 200/366d; pair: 9007199254740991/366d, 5/20ms; given: 30/366d; forgotten: 30/366d; "     \
    "short: 3/20ms"

static const char *const names[RULES] = {"one", "pair", "given", "forgotten", "short"};
static const int64_t units[RULES] = {200, RL_MAX_UNITS, 30, 30, 3};

/* Units, of calls that began and of those that were answered. */
struct tally {
    atomic_long begun, answered, granted, given_back;
};

struct shared {
    struct tally tallies[RULES][MOST_KEYS];
    atomic_long calls, used, used_by_last;
    /* Of the long limit of `pair`: attempts beyond those that began, and units beyond those that were
       granted or are in flight. */
    atomic_long twice, kept;
    atomic_int end;
};

struct worker {
    pid_t process;
    /* 0: it runs. */
    double continue_at;
};

static const char *path;
static struct shared *shared;
static struct answer *answers;
static rl_limiter *limiter;
static struct worker workers[WORKERS];
static int keys, with_resets, is_last, started, deaths, stops;
static uint64_t dice;

static void must(const char *call, int rule, int code)
{
    if (code != RL_OK)
        die("%s of \"%s\" = %d: %s", call, names[rule], code, rl_last_error());
}

/* A place in the file; without one there is no call. The last ones are for those who come after. */
static struct answer *next_answer(void)
{
    long place = is_last ? MOST_ANSWERS + shared->used_by_last++ : shared->used++;
    if (!is_last && place >= MOST_ANSWERS) {
        shared->end = 1;
        _exit(0);
    }
    CHECK(place < MOST_ANSWERS + FOR_THE_LAST);
    return &answers[place];
}

static void hit_one(int rule, int key)
{
    struct tally *tally = &shared->tallies[rule][key];
    int is_noted = rule == ONE || rule == SHORT;
    struct answer *answer = is_noted ? next_answer() : NULL;
    /* In half of the keys what is admitted follows from what is counted. */
    int64_t cost = rule == ONE && key % 2 ? 1 + below(&dice, MOST_COST) : 1;
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    int64_t begun_ns = clock_ns();
    tally->begun += cost;
    must("rl_hit()", rule, rl_hit(limiter, names[rule], text, length, cost, RL_NOW, &result));
    /* In this order: who dies in between has granted what is in flight. */
    tally->granted += result.allowed ? cost : 0;
    tally->answered += cost;
    if (is_noted)
        note(answer, HIT, rule, key, cost, begun_ns, &result);
    if (rule == FORGOTTEN) {
        int64_t remaining = result.count < units[rule] ? units[rule] - result.count : 0;
        if (result.remaining != remaining || result.allowed != (result.count <= units[rule]))
            die("key %d was forgotten: count %ld, remaining %ld", key, (long)result.count,
                (long)result.remaining);
    }
}

/* A status lies between what was answered before it and what had begun after it. */
static void status_of(int rule, int key)
{
    struct tally *tally = &shared->tallies[rule][key];
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    long least = tally->answered;
    must("rl_status()", rule, rl_status(limiter, names[rule], text, length, RL_NOW, &result));
    long most = tally->begun;
    if (result.count < least || result.count > most)
        die("key %d of \"%s\": %ld answered, %ld begun, rl_status() says %ld", key, names[rule],
            least, most, (long)result.count);
}

static void refund_one(int key)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    shared->tallies[GIVEN][key].given_back++;
    must("rl_refund()", GIVEN,
         rl_refund(limiter, names[GIVEN], text, length, 1, RL_NOW, &result));
}

static void reset_one(int key)
{
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    int64_t removed;
    must("rl_reset()", FORGOTTEN, rl_reset(limiter, names[FORGOTTEN], text, length, &removed));
    CHECK(removed == 0 || removed == 1);
}

static void call(void)
{
    int key = below(&dice, keys), which = below(&dice, 1000);
    int64_t removed;
    shared->calls++;
    if (which < 500)
        hit_one(ONE, key);
    else if (which < 700)
        hit_one(PAIR, key % 20);
    else if (which < 800)
        hit_one(SHORT, key);
    else if (which < 850)
        hit_one(GIVEN, key);
    else if (which < 880)
        refund_one(key);
    else if (which < 930)
        hit_one(FORGOTTEN, key);
    else if (which < 945 && with_resets)
        reset_one(key);
    else if (which < 995)
        status_of(below(&dice, 2) ? ONE : GIVEN, key);
    else if (which < 997)
        write_out(limiter);
    else
        must("rl_prune()", ONE, rl_prune(limiter, RL_NOW, &removed));
}

static void start(struct worker *worker)
{
    int number = started++;
    worker->continue_at = 0;
    worker->process = fork();
    CHECK(worker->process >= 0);
    if (worker->process != 0)
        return;
    die_with_parent();
    dice = new_dice(number_of("seed", 1) * 100000 + number);
    rl_options options = options_of(number);
    limiter = open_limiter(path, DEATHS_POLICY, &options);
    while (!shared->end)
        call();
    rl_close(limiter);
    _exit(0);
}

static struct worker *worker_of(pid_t process)
{
    for (int index = 0; index < WORKERS; index++)
        if (workers[index].process == process)
            return &workers[index];
    die("%d is no worker", process);
}

/* Takes notice of who has died or stopped, and lets go on whose time it is. */
static void look_after(int is_replaced)
{
    int status;
    pid_t process;
    while ((process = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        struct worker *worker = worker_of(process);
        if (WIFSTOPPED(status)) {
            stops++;
            worker->continue_at = seconds() + below(&dice, 20000) / 1e6;
        } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            deaths++;
            worker->process = 0;
            if (is_replaced)
                start(worker);
        } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && shared->end) {
            worker->process = 0;
        } else {
            die("worker %d ended with status %#x", process, status);
        }
    }
    for (int index = 0; index < WORKERS; index++) {
        struct worker *worker = &workers[index];
        if (worker->process != 0 && worker->continue_at != 0 && seconds() >= worker->continue_at) {
            worker->continue_at = 0;
            CHECK(kill(worker->process, SIGCONT) == 0);
        }
    }
}

static int are_alive(void)
{
    int alive = 0;
    for (int index = 0; index < WORKERS; index++)
        alive += workers[index].process != 0;
    return alive;
}

static void start_all(void)
{
    for (int index = 0; index < WORKERS; index++)
        start(&workers[index]);
}

static void kill_all(void)
{
    for (int index = 0; index < WORKERS; index++)
        CHECK(workers[index].process > 0 && kill(workers[index].process, SIGKILL) == 0);
    while (are_alive()) {
        look_after(0);
        sched_yield();
    }
}

static void sleep_us(long microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void attack(const char *manner, double end)
{
    int kills = strcmp(manner, "kills") == 0 || strcmp(manner, "both") == 0;
    int stopping = strcmp(manner, "stops") == 0 || strcmp(manner, "both") == 0;
    int enough = number_of("enough", INT32_MAX);
    double next = 0;
    while (seconds() < end && deaths + stops < enough && !shared->end) {
        sleep_us(200);
        look_after(1);
        if ((kills || stopping) && seconds() >= next) {
            next = seconds() + below(&dice, 10000) / 1e6;
            pid_t victim = workers[below(&dice, WORKERS)].process;
            int is_kill = kills && (!stopping || below(&dice, 2));
            CHECK(victim == 0 || kill(victim, is_kill ? SIGKILL : SIGSTOP) == 0);
        }
    }
    shared->end = 1;
    while (are_alive()) {
        look_after(0);
        sleep_us(200);
    }
    shared->end = 0;
}

/* With RL_DURABLE_HIT the answered hits are in the file, whatever becomes of the table. */
static void is_in_the_file(void)
{
    sqlite3 *host = host_open(path);
    for (int key = 0; key < keys; key++) {
        int64_t attempts, admitted;
        stored_counter(host, names[ONE], "31622400 s", key, &attempts, &admitted);
        long answered = shared->tallies[ONE][key].answered;
        if (is_key_in_full(key) && answered > 0 && attempts < answered)
            die("key %d: %ld answered, %ld in the file", key, answered, (long)attempts);
    }
    sqlite3_close(host);
}

static void is_counted_right(int rule, int key)
{
    struct tally *tally = &shared->tallies[rule][key];
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    must("rl_status()", rule, rl_status(limiter, names[rule], text, length, RL_NOW, &result));
    long admitted = units[rule] - result.remaining;
    int is_sound = tally->answered <= result.count && result.count <= tally->begun &&
                   admitted <= units[rule];
    if (rule == ONE)
        is_sound &= tally->granted <= admitted && admitted <= result.count;
    if (rule == ONE && key % 2 == 0)
        is_sound &= admitted == (result.count < units[ONE] ? result.count : units[ONE]);
    if (rule == GIVEN)
        is_sound &= tally->granted - tally->given_back <= admitted;
    if (!is_sound)
        die("key %d of \"%s\": %ld begun, %ld answered, %ld granted, %ld given back; %ld counted, "
            "%ld admitted", key, names[rule], tally->begun, tally->answered, tally->granted,
            tally->given_back, (long)result.count, admitted);
}

/* As rl_status() says; and of `pair`, whose long limit no answer tells. */
static void is_stored_right(sqlite3 *host, int rule, int key)
{
    struct tally *tally = &shared->tallies[rule][key];
    int64_t attempts, admitted;
    stored_counter(host, names[rule], "31622400 s", key, &attempts, &admitted);
    if (rule == PAIR) {
        if (attempts < tally->answered || admitted < tally->granted || admitted > attempts)
            die("key %d of \"pair\": %ld answered, %ld granted; %ld and %ld stored", key,
                tally->answered, tally->granted, (long)attempts, (long)admitted);
        /* In flight: who died between the limits, or before a reservation was taken back. */
        long most = tally->granted + tally->begun - tally->answered;
        shared->twice += attempts > tally->begun ? attempts - tally->begun : 0;
        shared->kept += admitted > most ? admitted - most : 0;
        return;
    }
    char text[LONGEST_KEY + 1];
    size_t length = key_of(key, text);
    rl_result result;
    must("rl_status()", rule, rl_status(limiter, names[rule], text, length, RL_NOW, &result));
    if (attempts != result.count || admitted != units[rule] - result.remaining)
        die("key %d of \"%s\": rl_status() says %ld and %ld, stored are %ld and %ld", key,
            names[rule], (long)result.count, (long)(units[rule] - result.remaining),
            (long)attempts, (long)admitted);
}

static void come_after(atomic_long *slowest_us)
{
    unsetenv("RATELITE_POINTS");
    alarm(60);
    is_last = 1;
    rl_options options = options_of(0);
    options.busy_timeout_ms = 5000;
    limiter = open_limiter(path, DEATHS_POLICY, &options);
    for (int rule = 0; rule < RULES; rule++) {
        for (int key = 0; key < keys; key++) {
            double began = seconds();
            hit_one(rule, key);
            long took = (seconds() - began) * 1e6;
            *slowest_us = took > *slowest_us ? took : *slowest_us;
        }
    }
    for (int key = 0; key < keys; key++) {
        is_counted_right(ONE, key);
        is_counted_right(GIVEN, key);
    }
    write_out(limiter);
    sqlite3 *host = host_open(path);
    for (int rule = ONE; rule <= FORGOTTEN; rule++)
        for (int key = 0; key < keys; key++)
            if (is_key_in_full(key))
                is_stored_right(host, rule, key);
    sqlite3_close(host);
    rl_close(limiter);
    _exit(0);
}

static void let_one_come_after(struct score *score, atomic_long *slowest_us)
{
    if (strcmp(setting("durability", ""), "hit") == 0)
        is_in_the_file();
    if (number_of("lost", 0)) {
        char table[520];
        snprintf(table, sizeof table, "%s-table", path);
        CHECK(unlink(table) == 0 || errno == ENOENT);
    }
    pid_t child;
    if (fork_all(&child, 1) >= 0)
        come_after(slowest_us);
    reap(score, child);
    CHECK(score->hung == 0);
}

int main(int count, char **words)
{
    CHECK(count >= 4);
    path = words[1], settings = words + 4;
    const char *manner = words[3];
    keys = number_of("keys", 100);
    CHECK(keys <= MOST_KEYS);
    with_resets = number_of("resets", 1);
    dice = new_dice(number_of("seed", 1));
    shared = shared_memory(sizeof *shared);
    answers = map_answers(words[2], "all", MOST_ANSWERS + FOR_THE_LAST);
    struct score *score = new_score();
    atomic_long *slowest_us = shared_memory(sizeof *slowest_us);
    double length = number_of("ms", 1000) / 1e3;
    if (strcmp(manner, "crowd") == 0) {
        for (int rounds = number_of("rounds", 8); rounds > 0; rounds--) {
            start_all();
            sleep_us(length * 1e6);
            kill_all();
            let_one_come_after(score, slowest_us);
        }
    } else {
        start_all();
        attack(manner, seconds() + length);
        let_one_come_after(score, slowest_us);
    }
    long begun = 0, answered = 0, unanswered = 0;
    for (int rule = 0; rule < RULES; rule++) {
        for (int key = 0; key < keys; key++) {
            struct tally *tally = &shared->tallies[rule][key];
            begun += tally->begun;
            answered += tally->answered;
            unanswered += rule == ONE || rule == SHORT ? tally->begun - tally->answered : 0;
        }
    }
    printf("calls=%ld begun=%ld answered=%ld unanswered=%ld deaths=%d stops=%d slowest_us=%ld "
           "twice=%ld kept=%ld stored=%ld\n", shared->calls, begun, answered, unanswered, deaths,
           stops, *slowest_us, shared->twice, shared->kept, stored(path));
    return 0;
}
