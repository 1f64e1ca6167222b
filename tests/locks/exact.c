/*
 * Processes of several threads hit one key: each is told another count, and none is left out.
 *
 *     exact STORE PROCESSES THREADS HITS
 */
#include "attack.h"

static struct score *score;
static rl_limiter *limiter;
static unsigned char *seen;
static int hits_each, total;

static void *hit_one_key(void *unused)
{
    for (int number = 0; number < hits_each; number++) {
        rl_result result;
        CHECK(rl_hit(limiter, NULL, "one key", 7, 1, RL_NOW, &result) == RL_OK);
        CHECK(result.count >= 1 && result.count <= total);
        /* Told twice shows here, and with as many counts as hits, so does one left out. */
        CHECK(!__atomic_exchange_n(&seen[result.count - 1], 1, __ATOMIC_SEQ_CST));
        score->acknowledged++;
    }
    return unused;
}

static void be_process(const char *path, int threads)
{
    alarm(100);
    limiter = open_store(path, RL_ON);
    pthread_t thread[16];
    for (int index = 0; index < threads; index++)
        CHECK(pthread_create(&thread[index], NULL, hit_one_key, NULL) == 0);
    for (int index = 0; index < threads; index++)
        pthread_join(thread[index], NULL);
    rl_close(limiter);
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count == 5);
    int processes = atoi(words[2]), threads = atoi(words[3]);
    CHECK(processes <= 64 && threads <= 16);
    hits_each = atoi(words[4]);
    total = processes * threads * hits_each;
    score = new_score();
    seen = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(seen != MAP_FAILED);
    pid_t children[64];
    for (int index = 0; index < processes; index++)
        if ((children[index] = fork()) == 0)
            be_process(words[1], threads);
    for (int index = 0; index < processes; index++)
        reap(score, children[index]);

    limiter = open_store(words[1], RL_ON);
    char text[4000];
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    const char *locks = strstr(text, "\"locks\":\"");
    CHECK(locks != NULL);
    print_score(score);
    printf("stored=%ld locks=%.*s\n", stored(words[1]), (int)strcspn(locks + 9, "\""), locks + 9);
    return 0;
}
