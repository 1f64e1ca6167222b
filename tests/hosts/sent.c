/*
 * What is written is soon on its way to the disk, too: a call of sync_file_range(), seen from outside,
 * at least each 0.1 s while there are hits, and no more often than that for each writer.
 *
 *     sent STORE hit|interval
 */
#include "attack.h"

#include <sys/syscall.h>

static atomic_int sent;

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags)
{
    sent++;
    return syscall(SYS_sync_file_range, fd, offset, length, flags);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    rl_options options = {.struct_size = sizeof options,
        .durability = strcmp(words[2], "hit") == 0 ? RL_DURABLE_HIT : RL_DURABLE_INTERVAL};
    rl_limiter *limiter = open_store_with(words[1], options);
    rl_result result;
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    double elapsed = 0;
    while (elapsed < 1.05) {
        char key[20];
        int length = snprintf(key, sizeof key, "%d", (int)(elapsed * 1000));
        CHECK(rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result) == RL_OK);
        usleep(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
        elapsed = now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9;
    }
    printf("sent=%d tenths=%d\n", sent, (int)(elapsed * 10));
    rl_close(limiter);
    return 0;
}
