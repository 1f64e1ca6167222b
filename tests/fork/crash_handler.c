/*
 * A handler of SIGSEGV, which is not held back, forks in the midst of a hit, as a crash reporter
 * does. Its child must not share the parent's open files, whose locks would outlive the parent.
 *
 *     crash_handler STORE FORKS hits|claims
 *
 * hits: they write to the file, else there is no file to share. claims: each is of a new key.
 */
#include "signals.h"

enum { CLOSED, COVERED, SHARED };

static const char *path;
static struct score *score;
static int forks, wanted, claims, endings[3];

/* What became of the descriptors; without malloc, in whose midst the signal may have come. */
static int look_at_descriptors(void)
{
    int found = CLOSED;
    for (int fd = 3; fd < 64; fd++) {
        char name[] = "/proc/self/fd/..", target[4096];
        name[14] = '0' + fd / 10;
        name[15] = '0' + fd % 10;
        ssize_t length = readlink(fd < 10 ? (name[14] = '0' + fd, name[15] = 0, name) : name,
                                  target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        if (strncmp(target, path, strlen(path)) == 0)
            return SHARED;
        if (strcmp(target, "/dev/null") == 0)
            found = COVERED;
    }
    return found;
}

static void report_crash(int number)
{
    (void)number;
    if (forks >= wanted)
        return;
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(look_at_descriptors());
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) || WEXITSTATUS(status) > SHARED)
        score->hung++;
    else
        endings[WEXITSTATUS(status)]++;
    forks++;
}

static void claim(rl_limiter *limiter, int64_t number)
{
    rl_result result;
    score->started++;
    int code = rl_hit(limiter, NULL, (const char *)&number, sizeof number, 1, RL_NOW, &result);
    if (code == RL_OK)
        score->acknowledged++;
    else
        die("rl_hit() = %d: %s", code, rl_last_error());
}

int main(int count, char **words)
{
    CHECK(count == 4);
    path = words[1];
    claims = strcmp(words[3], "claims") == 0;
    wanted = atoi(words[2]);
    score = new_score();
    CHECK(sigaction(SIGSEGV, &(struct sigaction){.sa_handler = report_crash}, NULL) == 0);
    pid_t sender = send_to_me(SIGSEGV, score);
    rl_options options = {.durability = claims ? RL_DURABLE_INTERVAL : RL_DURABLE_HIT};
    rl_limiter *limiter = open_store_with(path, options);
    for (int number = 0; forks < wanted; number++)
        claims ? claim(limiter, number) : (void)hit(score, limiter, number);
    stop_sender(sender);
    rl_close(limiter);
    print_score(score);
    printf("closed=%d covered=%d shared=%d stored=%ld\n", endings[CLOSED], endings[COVERED],
           endings[SHARED], claims ? counted(path) : in_file(path));
    return 0;
}
