/*
 * What is locked in a store's -shm, by whomever: the kernel is asked on an open file description of
 * the test's own.
 */
#ifndef PROBE_H
#define PROBE_H

#include "attack.h"

enum { FIRST_LOCK_BYTE = 120, LOCK_BYTES = 8, DEADMAN_SWITCH = 128, LINE = 132 };

static int probe = -1;

__attribute__((unused)) static int open_wal_index(const char *path)
{
    char name[520];
    snprintf(name, sizeof name, "%s-shm", path);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* The first byte on which anybody has a lock, a shared one too; 0 if nobody has. */
__attribute__((unused)) static int locked_byte(int first, int length)
{
    struct flock question = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = length};
    CHECK(fcntl(probe, F_OFD_GETLK, &question) == 0);
    if (question.l_type == F_UNLCK)
        return 0;
    return question.l_start > first ? question.l_start : first;
}

/* Another process gets there, or something is wrong with it. */
__attribute__((unused)) static void until_line_is(int is_taken)
{
    double end = seconds() + 10;
    while ((locked_byte(LINE, 1) != 0) != is_taken) {
        CHECK(seconds() < end);
        sched_yield();
    }
}

__attribute__((unused)) static void make_store(const char *path)
{
    struct score *score = new_score();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rl_close(open_store(path, RL_OFF));
        _exit(0);
    }
    reap(score, child);
}

#endif
