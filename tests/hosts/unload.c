/*
 * The host unloads the library while limiters are open and threads that used it are alive, and
 * loads it again.
 *
 *     unload LIBRARY STORE TIMES
 */
#include "attack.h"

#include <dlfcn.h>

static pthread_barrier_t barrier;
static __typeof__(rl_hit) *hit_once;
static rl_limiter *limiter;

static void *need(void *pointer)
{
    if (pointer == NULL)
        die("%s", dlerror());
    return pointer;
}

static void hit_in_this_thread(void)
{
    rl_result result;
    CHECK(hit_once(limiter, NULL, "k", 1, 1, RL_NOW, &result) == RL_OK);
}

/* What the library keeps for this thread is cleared when the thread ends, after the unloading. */
static void *outlive(void *unused)
{
    hit_in_this_thread();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void use(const char *library, const char *store)
{
    void *loaded = need(dlopen(library, RTLD_NOW | RTLD_LOCAL));
    __typeof__(rl_open) *open_limiter = need(dlsym(loaded, "rl_open"));
    hit_once = need(dlsym(loaded, "rl_hit"));
    CHECK(open_limiter(store, POLICY, NULL, &limiter) == RL_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, outlive, NULL) == 0);
    pthread_barrier_wait(&barrier);
    hit_in_this_thread();
    CHECK(dlclose(loaded) == 0);
    pthread_barrier_wait(&barrier);
    CHECK(pthread_join(thread, NULL) == 0);
    /* As an event that was registered with it may come late. */
    hit_in_this_thread();
}

int main(int count, char **words)
{
    CHECK(count == 4);
    alarm(60);
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    int before = count_descriptors();
    for (int time = 0; time < atoi(words[3]); time++)
        use(words[1], words[2]);
    int descriptors = count_descriptors() - before;
    printf("stored=%ld descriptors=%d\n", stored(words[2]), descriptors);
    return 0;
}
