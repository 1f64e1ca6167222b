/*
 * Processes hit a few keys in windows of a few milliseconds, by the real clock, and write down each
 * answer. Each window's counts are 1, 2, 3 ... to its last, and each was counted in the window of its
 * time. Where hits are counted one after the other, under a lock, the clock never goes back in the order
 * of a key's counts. (In the shared table two may have read it before either counts.)
 *
 *     order STORE HITS table|rows hit|interval
 */
#include "attack.h"

enum { PROCESSES = 6, KEYS = 3, MOST_HITS = 200000, LIMIT = 10, WINDOW_MS = 3 };
#define ORDER_POLICY "order: 10/3ms"

static struct answer {
    int64_t key, start, count, now;
    int is_allowed;
} *answers;

static int one_after_the_other;
static int64_t durability;

static void hit_and_note(const char *path, struct answer *notes, int hit_count)
{
    alarm(60);
    rl_options options = {.struct_size = sizeof options,
                          .busy_timeout_ms = 20000,
                          .durability = durability,
                          /* So few that a window soon takes the place of one that is past. */
                          .table_slots = 16};
    rl_limiter *limiter;
    CHECK(rl_open(path, ORDER_POLICY, &options, &limiter) == RL_OK);
    for (int number = 0; number < hit_count; number++) {
        char key = 'a' + number % KEYS;
        rl_result result;
        CHECK(rl_hit(limiter, NULL, &key, 1, 1, RL_NOW, &result) == RL_OK);
        CHECK(result.window_ms == WINDOW_MS);
        notes[number] = (struct answer){key, result.window_start_ms, result.count, result.now_ms,
                                        result.allowed};
    }
    _exit(0);
}

static int in_order(const void *left, const void *right)
{
    const struct answer *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->count < b->count ? -1 : a->count > b->count;
}

/* Returns how many windows there were. */
static int check(int total)
{
    int windows = 0;
    for (int index = 0; index < total; index++) {
        const struct answer *answer = &answers[index];
        int is_first = index == 0 || answer[-1].key != answer->key ||
                       answer[-1].start != answer->start;
        int64_t count = is_first ? 1 : answer[-1].count + 1;
        if (answer->count != count)
            die("window %ld of %c: count %ld where %ld is next", answer->start, (int)answer->key,
                answer->count, count);
        CHECK(answer->is_allowed == (count <= LIMIT));
        CHECK(answer->start <= answer->now && answer->now < answer->start + WINDOW_MS);
        int follows = index > 0 && answer[-1].key == answer->key;
        if (one_after_the_other && follows && answer->now < answer[-1].now)
            die("count %ld of %c at %ld, the one before at %ld", count, (int)answer->key,
                answer->now, answer[-1].now);
        windows += is_first;
    }
    return windows;
}

int main(int count, char **words)
{
    CHECK(count == 5);
    one_after_the_other = strcmp(words[3], "rows") == 0;
    durability = strcmp(words[4], "hit") == 0 ? RL_DURABLE_HIT : RL_DURABLE_INTERVAL;
    alarm(60);
    int each = atoi(words[2]), total = each * PROCESSES;
    CHECK(each <= MOST_HITS);
    struct score *score = new_score();
    answers = mmap(NULL, total * sizeof *answers, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(answers != MAP_FAILED);
    for (int index = 0; index < PROCESSES; index++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            hit_and_note(words[1], answers + index * each, each);
    }
    for (int index = 0; index < PROCESSES; index++)
        reap(score, -1);
    CHECK(score->hung == 0);
    qsort(answers, total, sizeof *answers, in_order);
    printf("hits=%d windows=%d\n", total, check(total));
    return 0;
}
