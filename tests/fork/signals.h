/* A process that sends another one a signal again and again, at any moment of its hits. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "attack.h"

/*
 * Not a thread: a handler that forks may stand in the midst of malloc, and in a process of several
 * threads fork() would then wait for its own thread.
 */
static pid_t send_to_me(int number, struct score *score)
{
    pid_t me = getpid(), sender = fork();
    CHECK(sender >= 0);
    if (sender != 0)
        return sender;
    die_with_parent();
    for (unsigned sent = 1; kill(me, number) == 0; sent++) {
        /* The next one only after another hit, else the first hit never ends; then a bit later. */
        for (long hits = score->acknowledged; score->acknowledged == hits;)
            sched_yield();
        for (volatile unsigned delay = sent * 7919 % 20000; delay > 0; delay--) {
        }
    }
    _exit(0);
}

static void stop_sender(pid_t sender)
{
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
}

#endif
