/*
 * Two copies of the library in one process, as when two modules each bring their own. Each hits
 * the same store from a thread of its own.
 *
 *     two_copies STORE LIBRARY OTHER_LIBRARY stays|closes|forks hit|interval MILLISECONDS
 *
 * hit, interval: when a hit is in the file.
 */
#include "attack.h"

#include <dlfcn.h>

struct copy {
    const char *library;
    __typeof__(rl_open) *open;
    __typeof__(rl_hit) *hit;
    __typeof__(rl_close) *close;
};

static const char *path, *manner;
static struct score *score;
static int64_t durability;

static rl_limiter *open_with(const struct copy *copy)
{
    int keep_open = strcmp(manner, "closes") == 0 ? RL_OFF : RL_ON;
    rl_options options = {.struct_size = sizeof options, .busy_timeout_ms = 20000,
                          .keep_open = keep_open, .durability = durability,
                          .flush_interval_ms = 1};
    rl_limiter *limiter;
    int code = copy->open(path, POLICY, &options, &limiter);
    if (code != RL_OK)
        die("%s: rl_open = %d", copy->library, code);
    return limiter;
}

static void hits_with(const struct copy *copy, rl_limiter *limiter, int count)
{
    for (int number = 0; number < count; number++) {
        rl_result result;
        score->started++;
        int code = copy->hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
        if (code == RL_OK) {
            score->acknowledged++;
        } else {
            score->failed++;
            score->last_code = code;
        }
    }
}

static void *keep_hitting(void *argument)
{
    const struct copy *copy = argument;
    rl_limiter *limiter = open_with(copy);
    while (!score->stop) {
        hits_with(copy, limiter, 10);
        if (strcmp(manner, "closes") == 0) {
            copy->close(limiter);
            limiter = open_with(copy);
        } else if (strcmp(manner, "forks") == 0) {
            pid_t child = fork();
            CHECK(child >= 0);
            if (child == 0) {
                alarm(30);
                hits_with(copy, limiter, 3);
                _exit(0);
            }
            reap(score, child);
        }
    }
    copy->close(limiter);
    return NULL;
}

static void *need(void *pointer)
{
    if (pointer == NULL)
        die("%s", dlerror());
    return pointer;
}

static struct copy load(const char *library)
{
    void *loaded = need(dlopen(library, RTLD_NOW | RTLD_LOCAL));
    return (struct copy){library, need(dlsym(loaded, "rl_open")), need(dlsym(loaded, "rl_hit")),
                         need(dlsym(loaded, "rl_close"))};
}

int main(int count, char **words)
{
    CHECK(count == 7);
    path = words[1];
    manner = words[4];
    durability = strcmp(words[5], "interval") == 0 ? RL_DURABLE_INTERVAL : RL_DURABLE_HIT;
    score = new_score();
    struct copy copies[] = {load(words[2]), load(words[3])};
    CHECK(copies[0].hit != copies[1].hit);
    pthread_t threads[2];
    for (int index = 0; index < 2; index++)
        CHECK(pthread_create(&threads[index], NULL, keep_hitting, &copies[index]) == 0);
    run_for(atol(words[6]));
    score->stop = 1;
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
    print_score(score);
    printf("stored=%ld\n", durability == RL_DURABLE_HIT ? in_file(path) : counted(path));
    return 0;
}
