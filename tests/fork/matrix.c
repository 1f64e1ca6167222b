/*
 * A process forks; parent and child go on. Every hit that was answered is in the file.
 *
 *     matrix DIRECTORY before|after closes|exits|goes_on BUSY inherited|own child|grandchild|daemon
 *
 * before, after: whether the parent opens the store before the fork or only then. A second store,
 * the neighbour, is always open before, BUSY threads hit one of the two all the time, and a child
 * that uses what it inherited uses the neighbour's limiter too. So `after` forks with an open
 * neighbour and a store nobody knows yet.
 * closes, exits, goes_on: what the parent does while the child hits.
 */
#include "attack.h"

#include <sys/prctl.h>

enum { OWN_HITS = 40, WATCHDOG_S = 60 };

static char store[4096], neighbour[4096];
static const char *opened, *parent_then, *handle, *generation;
static int busy_threads;
static struct score *score, *neighbour_score;
static atomic_int busy_stop, busy_now;

static int is(const char *word, const char *wanted)
{
    return strcmp(word, wanted) == 0;
}

struct side {
    struct score *score;
    rl_limiter *limiter;
};

static void *keep_busy(void *argument)
{
    struct side *side = argument;
    hit(side->score, side->limiter, 0);
    busy_now++;
    while (!busy_stop)
        hits(side->score, side->limiter, 7);
    return NULL;
}

static void child_hits(rl_limiter *mine, rl_limiter *next_door)
{
    if (is(handle, "inherited")) {
        if (mine != NULL)
            hits(score, mine, OWN_HITS);
        hits(neighbour_score, next_door, OWN_HITS);
    }
    rl_limiter *fresh = open_store(store, RL_ON);
    hits(score, fresh, OWN_HITS);
    rl_close(fresh);
}

static void be_child(rl_limiter *mine, rl_limiter *next_door)
{
    alarm(WATCHDOG_S);
    if (is(generation, "grandchild")) {
        if (is(handle, "inherited"))
            hits(neighbour_score, next_door, 3);
        pid_t grandchild = fork();
        CHECK(grandchild >= 0);
        if (grandchild == 0)
            alarm(WATCHDOG_S);
        child_hits(mine, next_door);
        if (grandchild != 0)
            reap(score, grandchild);
    } else {
        child_hits(mine, next_door);
    }
    _exit(0);
}

static void be_parent(void)
{
    struct side near = {score, NULL}, far = {neighbour_score, NULL};
    far.limiter = open_store(neighbour, RL_OFF);
    hits(neighbour_score, far.limiter, 5);
    if (is(opened, "before")) {
        near.limiter = open_store(store, RL_OFF);
        hits(score, near.limiter, 5);
    }
    pthread_t threads[16];
    for (int index = 0; index < busy_threads; index++) {
        struct side *side = near.limiter != NULL && index % 3 != 2 ? &near : &far;
        CHECK(pthread_create(&threads[index], NULL, keep_busy, side) == 0);
    }
    while (busy_now < busy_threads)
        sched_yield();
    if (is(generation, "daemon")) {
        /* The original ends inside daemon(), amid the hits of its threads. */
        CHECK(daemon(1, 1) == 0);
        be_child(near.limiter, far.limiter);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        be_child(near.limiter, far.limiter);
    if (near.limiter == NULL)
        near.limiter = open_store(store, RL_OFF);
    hits(score, near.limiter, 5);
    if (is(parent_then, "exits"))
        exit(0);
    if (is(parent_then, "goes_on"))
        hits(score, near.limiter, OWN_HITS);
    busy_stop = 1;
    for (int index = 0; index < busy_threads; index++)
        pthread_join(threads[index], NULL);
    rl_close(near.limiter);
    rl_close(far.limiter);
    reap(score, child);
    exit(0);
}

int main(int count, char **words)
{
    CHECK(count == 7);
    snprintf(store, sizeof store, "%s/store.db", words[1]);
    snprintf(neighbour, sizeof neighbour, "%s/neighbour.db", words[1]);
    opened = words[2];
    parent_then = words[3];
    busy_threads = atoi(words[4]);
    handle = words[5];
    generation = words[6];
    score = new_score();
    neighbour_score = new_score();

    /* Whoever loses its parent is given to this process, which waits for all of them. */
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t parent = fork();
    CHECK(parent >= 0);
    if (parent == 0) {
        alarm(WATCHDOG_S);
        be_parent();
    }
    int status;
    while (wait(&status) > 0) {
        if (WIFSIGNALED(status))
            score->hung++;
        else if (status != 0)
            score->failed++;
    }
    score->hung += neighbour_score->hung;
    score->failed += neighbour_score->failed;
    if (score->last_code == 0)
        score->last_code = neighbour_score->last_code;
    print_score(score);
    printf("stored=%ld neighbour_started=%ld neighbour_acknowledged=%ld neighbour_stored=%ld\n",
           stored(store), neighbour_score->started, neighbour_score->acknowledged,
           stored(neighbour));
    return 0;
}
