/*
 * A process opens a store and forks; its child opens the store by a second name too. One thread of
 * the child stands where it gives up the store's write lock, until another one, which hits by the
 * other name, is in the midst of its write, or is told that it came in vain.
 *
 *     two_names STORE SECOND_NAME
 */
#include "attack.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { WRITE_LOCK = 120, PATIENCE_MS = 100 };
enum { BEGUN, AT_UNLOCK, AT_WRITE, UNLOCKED };

static struct score *score;
static rl_limiter *first, *second;
static int wal_index;
static atomic_int stage, second_is_through, unguarded;
static __thread int is_first, is_second;

static int is_locked(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = WRITE_LOCK, .l_len = 1};
    CHECK(syscall(SYS_fcntl, wal_index, F_OFD_GETLK, &lock) == 0);
    return lock.l_type != F_UNLCK;
}

static int unlock_in_time(int fd, int command, void *argument)
{
    stage = AT_UNLOCK;
    while (stage != AT_WRITE && !second_is_through)
        sched_yield();
    int answer = syscall(SYS_fcntl, fd, command, argument);
    stage = UNLOCKED;
    return answer;
}

static int lock_or_not(int fd, int command, void *argument)
{
    struct flock *lock = argument;
    if (is_first && stage == BEGUN && command == F_OFD_SETLK && lock->l_type == F_UNLCK &&
        lock->l_start == WRITE_LOCK)
        return unlock_in_time(fd, command, argument);
    return syscall(SYS_fcntl, fd, command, argument);
}

WRAP_FCNTL(fcntl, lock_or_not)
WRAP_FCNTL(fcntl64, lock_or_not)

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    if (is_second && stage == AT_UNLOCK) {
        stage = AT_WRITE;
        while (stage != UNLOCKED)
            sched_yield();
        unguarded += !is_locked();
    }
    __typeof__(&pwritev64) real = (__typeof__(&pwritev64))dlsym(RTLD_NEXT, "pwritev64");
    return real(fd, parts, count, at);
}

static void *hit_by_first_name(void *unused)
{
    is_first = 1;
    CHECK(hit(score, first, 1) == RL_OK);
    return unused;
}

static void *hit_by_second_name(void *unused)
{
    is_second = 1;
    while (stage == BEGUN)
        sched_yield();
    int code = hit(score, second, 1);
    CHECK(code == RL_OK || code == RL_EBUSY);
    second_is_through = 1;
    return unused;
}

static void use_both(const char *path, const char *other_name)
{
    char file[4200];
    snprintf(file, sizeof file, "%s-shm", path);
    wal_index = open(file, O_RDWR);
    CHECK(wal_index >= 0);
    second = open_store_with(other_name, (rl_options){.durability = RL_DURABLE_HIT,
                                                      .busy_timeout_ms = PATIENCE_MS});
    CHECK(hit(score, second, 1) == RL_OK && hit(score, first, 1) == RL_OK);
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, hit_by_first_name, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, hit_by_second_name, NULL) == 0);
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
    CHECK(stage == UNLOCKED);
    printf("unguarded=%d ", (int)unguarded);
    fflush(stdout);
    _exit(0);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    score = new_score();
    first = open_store_with(words[1], (rl_options){.durability = RL_DURABLE_HIT});
    hit(score, first, 1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        use_both(words[1], words[2]);
    reap(score, child);
    print_score(score);
    printf("stored=%ld\n", granted(words[1]));
    return 0;
}
