/*
 * The host's own wall clock: the loader finds this clock_gettime before the C library's, for the
 * library too. The monotonic clock stays the system's.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include "attack.h"

#include <sys/syscall.h>

static atomic_long clock_ms;       /* what the wall clock says; it stands still */
static atomic_long clock_readings; /* how often anybody asked */

int clock_gettime(clockid_t which, struct timespec *time)
{
    if (which != CLOCK_REALTIME)
        return syscall(SYS_clock_gettime, which, time);
    clock_readings++;
    long ms = clock_ms, second = ms / 1000 - (ms % 1000 < 0);
    *time = (struct timespec){second, (ms - second * 1000) * 1000000};
    return 0;
}

#define SECOND 1000L
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY + 6 * HOUR)

#endif
