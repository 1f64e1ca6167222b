/*
 * A host loads and unloads the library again and again, and forks in between.
 *
 *     dlclose LIBRARY STORE TIMES
 */
#include "attack.h"

#include <dlfcn.h>

static void *need(void *pointer)
{
    if (pointer == NULL)
        die("%s", dlerror());
    return pointer;
}

static void use(const char *library, const char *store)
{
    void *loaded = need(dlopen(library, RTLD_NOW | RTLD_LOCAL));
    __typeof__(rl_open) *open_limiter = need(dlsym(loaded, "rl_open"));
    __typeof__(rl_hit) *hit_once = need(dlsym(loaded, "rl_hit"));
    __typeof__(rl_close) *close_limiter = need(dlsym(loaded, "rl_close"));
    rl_limiter *limiter;
    rl_result result;
    CHECK(open_limiter(store, POLICY, NULL, &limiter) == RL_OK);
    CHECK(hit_once(limiter, NULL, "k", 1, 1, RL_NOW, &result) == RL_OK);
    close_limiter(limiter);
    CHECK(dlclose(loaded) == 0);
}

int main(int count, char **words)
{
    CHECK(count == 4);
    struct score *score = new_score();
    int before = count_descriptors();
    for (int time = 0; time < atoi(words[3]); time++) {
        use(words[1], words[2]);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            use(words[1], words[2]);
            _exit(0);
        }
        reap(score, child);
    }
    printf("hung=%ld descriptors=%d stored=%ld\n", score->hung, count_descriptors() - before,
           stored(words[2]));
    return 0;
}
