/*
 * The host has no standard input, output and error, as a careless daemon; and it writes to them
 * all the same. No file of the store may stand behind those numbers.
 *
 *     closed_std STORE
 */
#include "attack.h"

static void write_blindly(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (write(fd, "overwritten", 11) < 0)
            errno = 0;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    struct score *score = new_score();
    /* By another process: making a store takes other descriptors than finding one. */
    pid_t maker = fork();
    if (maker == 0) {
        rl_close(open_store(words[1], RL_OFF));
        _exit(0);
    }
    reap(score, maker);
    int report = fcntl(1, F_DUPFD_CLOEXEC, 100);
    complaints = fcntl(2, F_DUPFD_CLOEXEC, 100);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    rl_limiter *limiter = open_store(words[1], RL_ON);
    hits(score, limiter, 10);
    write_blindly();
    hits(score, limiter, 10);
    rl_close(limiter);
    limiter = open_store(words[1], RL_OFF);
    hits(score, limiter, 10);
    write_blindly();
    rl_close(limiter);
    write_blindly();
    int descriptors = count_descriptors();

    CHECK(dup2(report, 1) == 1);
    print_score(score);
    printf("descriptors=%d stored=%ld\n", descriptors, stored(words[1]));
    return 0;
}
