/* Eight workers hit one key at once:   exactness MODE STORE [HITS]
 *
 * Each answer tells how many units were asked for up to and including its hit, so the answers,
 * sorted by count, are the order in which the store took the hits. Replaying that order gives what
 * one process alone would have answered: the answers must be these, without a gap or a duplicate. */
#include "expect.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 8
#define MOST_HITS 50000
#define NOW INT64_C(1767225645000) /* time stands still: no window ends */
#define KEY "one client", 10

typedef struct answer {
    int64_t cost, count, allowed, remaining;
} answer;

/* Lives in memory that the processes share. */
static struct shared {
    pthread_barrier_t opening, hitting;
    answer answers[WORKERS][MOST_HITS];
} *shared;

static const struct mode {
    const char *name;
    int threads, one_handle, reopen; /* reopen: around every hit */
    int64_t keep_open;
    int costly; /* hits cost 1 to 3 */
    int two_limits;
} MODES[] = {
    {"processes", 0, 0, 0, RL_ON, 0, 0},
    {"threads", 1, 1, 0, RL_ON, 0, 0},
    {"handles", 1, 0, 0, RL_ON, 0, 0},
    {"reopening", 0, 0, 1, RL_ON, 0, 0},
    {"reopening-closed", 0, 0, 1, RL_OFF, 0, 0},
    {"reopening-threads", 1, 0, 1, RL_OFF, 0, 0},
    {"two-limits", 0, 0, 0, RL_ON, 0, 1},
    {"costs", 0, 0, 0, RL_ON, 1, 0},
};

static const char *store;
static const struct mode *mode;
static int hits = 2000; /* of each worker */
static int64_t a_day, units; /* that the policy grants a day, and in the windows of NOW */
static rl_limiter *common;

static rl_limiter *open_limiter(void) {
    /* The longest wait, for a machine that is busy with other tests too. */
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = 60000,
                          .connect_timeout_ms = 60000, .command_timeout_ms = 60000,
                          .keep_open = mode->keep_open};
    char policy[100];
    int length = snprintf(policy, sizeof policy, "exact: %" PRId64 "/day", a_day);
    if (mode->two_limits)
        snprintf(policy + length, sizeof policy - length, ", %" PRId64 "/hour", units);
    rl_limiter *limiter;
    EXPECT_EQ(RL_OK, rl_open(store, policy, &options, &limiter));
    return limiter;
}

static void hit(rl_limiter *limiter, answer *answer) {
    rl_result result;
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, KEY, answer->cost, NOW, &result));
    answer->count = result.count;
    answer->allowed = result.allowed;
    answer->remaining = result.remaining;
}

static void *work(void *own) {
    answer *answers = own;
    pthread_barrier_wait(&shared->opening);
    /* The first open is a race, too. */
    rl_limiter *limiter = mode->one_handle ? common : mode->reopen ? NULL : open_limiter();
    /* An open may take longer than all the hits. */
    pthread_barrier_wait(&shared->hitting);
    for (int i = 0; i < hits; i++) {
        answers[i].cost = mode->costly ? 1 + i % 3 : 1;
        if (mode->reopen) limiter = open_limiter();
        hit(limiter, &answers[i]);
        if (mode->reopen) rl_close(limiter);
    }
    if (!mode->one_handle && !mode->reopen) rl_close(limiter);
    return NULL;
}

static void in_processes(void) {
    for (int i = 0; i < WORKERS; i++) {
        pid_t child = fork();
        EXPECT(child >= 0);
        if (!child) {
            /* If another fails, the parent does, and nobody waits at the start for ever. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(shared->answers[i]);
            _exit(0);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        int status;
        EXPECT(wait(&status) > 0);
        EXPECT_EQ(0, status);
    }
}

static void in_threads(void) {
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        EXPECT(!pthread_create(&threads[i], NULL, work, shared->answers[i]));
    for (int i = 0; i < WORKERS; i++) EXPECT(!pthread_join(threads[i], NULL));
}

static int by_count(const void *left, const void *right) {
    const answer *a = left, *b = right;
    return (a->count > b->count) - (a->count < b->count);
}

/* Returns the units that were asked for. */
static int64_t replay(void) {
    static answer order[WORKERS * MOST_HITS];
    int64_t asked = 0, admitted = 0;
    for (int i = 0; i < WORKERS; i++)
        memcpy(order + i * hits, shared->answers[i], hits * sizeof *order);
    qsort(order, WORKERS * hits, sizeof *order, by_count);
    for (int i = 0; i < WORKERS * hits; i++) {
        about("answer %d of %d", i + 1, WORKERS * hits);
        int allowed = admitted + order[i].cost <= units;
        asked += order[i].cost;
        admitted += allowed ? order[i].cost : 0;
        EXPECT_EQ(asked, order[i].count);
        EXPECT_EQ(allowed, order[i].allowed);
        EXPECT_EQ(units - admitted, order[i].remaining);
    }
    EXPECT_EQ(units, admitted);
    return asked;
}

static void look_at_the_store(int64_t asked) {
    rl_limiter *limiter = common ? common : open_limiter();
    rl_result result;
    EXPECT_EQ(RL_OK, rl_status(limiter, NULL, KEY, NOW, &result));
    EXPECT_EQ(asked, result.count);
    EXPECT_EQ(0, result.remaining);
    if (mode->two_limits) {
        /* An hour later the day decides: what the hour refused was not spent in it. */
        EXPECT_EQ(RL_OK, rl_status(limiter, NULL, KEY, NOW + 3600000, &result));
        EXPECT_EQ(0, result.limit_index);
        EXPECT_EQ(asked, result.count);
        EXPECT_EQ(a_day - units, result.remaining);
    }
    rl_close(limiter);
}

int main(int argc, char **argv) {
    EXPECT(argc >= 3);
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (!strcmp(argv[1], MODES[i].name)) mode = &MODES[i];
    EXPECT(mode);
    store = argv[2];
    if (argc > 3) hits = atoi(argv[3]);
    EXPECT(hits > 0 && hits <= MOST_HITS);
    a_day = (int64_t)WORKERS * hits * 5 / 16;
    units = mode->two_limits ? a_day * 3 / 5 : a_day;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(shared != MAP_FAILED);
    pthread_barrierattr_t across_processes;
    pthread_barrierattr_init(&across_processes);
    pthread_barrierattr_setpshared(&across_processes, PTHREAD_PROCESS_SHARED);
    EXPECT(!pthread_barrier_init(&shared->opening, &across_processes, WORKERS));
    EXPECT(!pthread_barrier_init(&shared->hitting, &across_processes, WORKERS));

    if (mode->one_handle) common = open_limiter();
    (mode->threads ? in_threads : in_processes)();
    look_at_the_store(replay());
    return 0;
}
