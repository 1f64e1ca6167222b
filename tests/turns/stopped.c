/*
 * Processes hit one key as fast as they can, while one after the other of them, and at any moment,
 * is stopped for a little and continued: with the write lock, in line, or in between.
 *
 *     stopped STORE SEED STOPS
 *
 * STOPS: at least so many, and until a few of them have met the write lock.
 */
#include "probe.h"

enum { PROCESSES = 8, WITH_WRITE_LOCK = 3, LIMIT = 1000, MOST_HITS = 4000000 };

static struct score *score;
static atomic_long *allowed;
static unsigned char *seen;
static unsigned dice;

static unsigned below(unsigned end)
{
    dice = dice * 1103515245 + 12345;
    return (dice >> 16) % end;
}

static void hit_without_end(const char *path)
{
    die_with_parent();
    rl_options options = {.struct_size = sizeof options,
                          .busy_timeout_ms = 20000,
                          .durability = RL_DURABLE_HIT};
    rl_limiter *limiter;
    CHECK(rl_open(path, "stopped: 1000/366d", &options, &limiter) == RL_OK);
    while (!score->stop) {
        rl_result result;
        CHECK(rl_hit(limiter, NULL, "one key", 7, 1, RL_NOW, &result) == RL_OK);
        CHECK(result.count >= 1 && result.count <= MOST_HITS);
        CHECK(result.allowed == (result.count <= LIMIT));
        /* Told twice shows here, and one that is left out at the end. */
        CHECK(!__atomic_exchange_n(&seen[result.count - 1], 1, __ATOMIC_SEQ_CST));
        *allowed += result.allowed;
        score->acknowledged++;
    }
    _exit(0);
}

/* Until the others have got so far, but not if they cannot. */
static void await_hits(unsigned more)
{
    long until = score->acknowledged + more;
    double end = seconds() + 0.002;
    while (score->acknowledged < until && seconds() < end) {
    }
}

/* Returns whether it had the write lock. */
static int stop_for_a_little(pid_t process)
{
    int status;
    CHECK(kill(process, SIGSTOP) == 0);
    CHECK(waitpid(process, &status, WUNTRACED) == process && WIFSTOPPED(status));
    long before = score->acknowledged;
    await_hits(20);
    int is_held = score->acknowledged == before && locked_byte(FIRST_LOCK_BYTE, 1);
    CHECK(kill(process, SIGCONT) == 0);
    return is_held;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    alarm(60);
    dice = atoi(words[2]);
    score = new_score();
    allowed = (atomic_long *)new_score();
    seen = mmap(NULL, MOST_HITS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(seen != MAP_FAILED);
    make_store(words[1]);
    pid_t processes[PROCESSES];
    for (int index = 0; index < PROCESSES; index++) {
        processes[index] = fork();
        CHECK(processes[index] >= 0);
        if (processes[index] == 0)
            hit_without_end(words[1]);
    }
    while (score->acknowledged < 100)
        sched_yield();
    probe = open_wal_index(words[1]);
    int held = 0;
    for (int stops = atoi(words[3]); stops > 0 || held < WITH_WRITE_LOCK; stops--) {
        await_hits(below(40));
        held += stop_for_a_little(processes[below(PROCESSES)]);
    }
    while (score->acknowledged < 2 * LIMIT)
        sched_yield();
    score->stop = 1;
    for (int index = 0; index < PROCESSES; index++)
        reap(score, processes[index]);
    long total = score->acknowledged;
    CHECK(memchr(seen, 0, total) == NULL);
    print_score(score);
    printf("granted=%ld stored=%ld held=%d\n", *allowed, stored(words[1]), held);
    return 0;
}
