/*
 * The host opens a store by a relative path and then goes elsewhere.
 *
 *     chdir DIRECTORY
 */
#include "attack.h"

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(60);
    struct score *score = new_score();
    CHECK(chdir(words[1]) == 0 && mkdir("here", 0700) == 0 && mkdir("there", 0700) == 0);
    CHECK(chdir("here") == 0);
    rl_limiter *limiter = open_store("store.db", RL_ON);
    hits(score, limiter, 5);
    CHECK(chdir("../there") == 0);
    hits(score, limiter, 5);

    /* The connection is opened anew after a fork, in the child and here. */
    pid_t child = fork();
    if (child == 0) {
        hits(score, limiter, 5);
        _exit(0);
    }
    reap(score, child);
    hits(score, limiter, 5);

    /* The same name here is another store, and by its whole name the first is the same. */
    struct score *others = new_score();
    rl_limiter *other = open_store("store.db", RL_ON);
    hits(others, other, 3);
    rl_limiter *again = open_store("../here/store.db", RL_ON);
    hits(score, again, 5);
    hits(score, limiter, 5);
    rl_close(again);
    rl_close(other);
    rl_close(limiter);

    print_score(score);
    printf("stored=%ld elsewhere=%ld wanted_elsewhere=%ld\n", stored("../here/store.db"),
           stored("store.db"), others->acknowledged);
    return 0;
}
