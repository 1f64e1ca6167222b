/*
 * Every other write to the log is interrupted, or takes a part only. Then the process is killed,
 * and another one reads what is in the log.
 *
 *     cut_short STORE HITS
 */
#include "attack.h"

#include <dlfcn.h>
#include <sys/uio.h>

static int calls, interrupted, cut;

/* A frame's header has 24 bytes, and its page 1,024: about both ends of each, and within. */
static const size_t parts_of_a_frame[] = {1, 23, 24, 25, 500, 1023, 1024, 1025, 1047};
enum { PARTS = sizeof parts_of_a_frame / sizeof *parts_of_a_frame };

static size_t size_of(const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int index = 0; index < count; index++)
        size += parts[index].iov_len;
    return size;
}

static ssize_t write_some(int fd, const struct iovec *parts, int count, off64_t at, size_t size)
{
    ssize_t all = 0;
    for (int index = 0; index < count; index++) {
        size_t left = size - all, length = parts[index].iov_len;
        length = length < left ? length : left;
        ssize_t written = pwrite64(fd, parts[index].iov_base, length, at + all);
        CHECK(written >= 0);
        all += written;
    }
    cut++;
    return all;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    int number = calls++;
    if (number % 4 == 1) {
        interrupted++;
        errno = EINTR;
        return -1;
    }
    size_t most = parts_of_a_frame[number / 4 % PARTS];
    if (number % 4 == 3 && most < size_of(parts, count))
        return write_some(fd, parts, count, at, most);
    __typeof__(&pwritev64) real = (__typeof__(&pwritev64))dlsym(RTLD_NEXT, "pwritev64");
    return real(fd, parts, count, at);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    struct score *score = new_score();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rl_limiter *limiter =
            open_store_with(words[1], (rl_options){.durability = RL_DURABLE_HIT});
        hits(score, limiter, atoi(words[2]));
        printf("interrupted=%d cut=%d ", interrupted, cut);
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    print_score(score);
    printf("stored=%ld\n", in_file(words[1]));
    return 0;
}
