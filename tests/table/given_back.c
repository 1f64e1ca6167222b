/*
 * Hits that are written before they are answered, of more keys than the table has slots for, and with
 * little patience: many fail. What a failed hit has spent is given back, also where its slot was needed
 * for another key meanwhile.
 *
 *     given_back STORE FOLDER
 */
#include "attack.h"

enum { KEYS = 60, PROCESSES = 6, HITS = 10000 };

static struct tally {
    atomic_long allowed[KEYS], failed;
} *tally;

static rl_limiter *open_with(const char *path, int patience_ms)
{
    rl_options options = {.struct_size = sizeof options, .table_slots = 16,
        .durability = RL_DURABLE_HIT, .busy_timeout_ms = patience_ms};
    rl_limiter *limiter;
    CHECK(rl_open(path, POLICY, &options, &limiter) == RL_OK);
    return limiter;
}

static int one_of(char *key, int number)
{
    return snprintf(key, 20, "key %d", number);
}

static void hit_at_random(rl_limiter *limiter, unsigned seed)
{
    char key[20];
    rl_result result;
    for (int turn = 0; turn < HITS; turn++) {
        int number = rand_r(&seed) % KEYS;
        int length = one_of(key, number);
        if (rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result) == RL_OK)
            tally->allowed[number]++;
        else
            tally->failed++;
    }
}

int main(int count, char **words)
{
    CHECK(count == 3);
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(tally != MAP_FAILED);
    rl_limiter *limiter = open_with(words[1], 1);
    for (int process = 0; process < PROCESSES; process++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            hit_at_random(limiter, process + 1);
            _exit(0);
        }
    }
    int status;
    while (wait(&status) > 0)
        CHECK(status == 0);
    rl_close(limiter);
    limiter = open_with(words[1], 10000);
    long in_vain = 0, lost = 0;
    for (int number = 0; number < KEYS; number++) {
        char key[20];
        rl_result result;
        int length = one_of(key, number);
        CHECK(rl_status(limiter, NULL, key, length, RL_NOW, &result) == RL_OK);
        long more = result.limit - result.remaining - tally->allowed[number];
        *(more > 0 ? &in_vain : &lost) += labs(more);
    }
    rl_close(limiter);
    printf("failed=%ld in_vain=%ld lost=%ld\n", tally->failed, in_vain, lost);
    return 0;
}
