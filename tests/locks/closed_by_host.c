/*
 * A host closes every descriptor above 2 after rl_close(), as a daemon does, and uses the numbers
 * for files of its own. Then it opens the store again, or forks.
 *
 *     closed_by_host STORE opens|forks|forks_in_child reuses|leaves keeps|closes
 */
#include "attack.h"

enum { OWN_FILES = 24 };

static const char *path;
static struct score *score;
static int own[OWN_FILES];
static ino_t inodes[OWN_FILES];

static void close_everything(void)
{
    for (int fd = 3; fd < 256; fd++)
        close(fd);
}

static void open_own_files(void)
{
    for (int index = 0; index < OWN_FILES; index++) {
        char name[4200];
        snprintf(name, sizeof name, "%s.own-%d", path, index);
        own[index] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK(own[index] >= 3);
        CHECK(write(own[index], name, sizeof name) == sizeof name);
        struct stat facts;
        CHECK(fstat(own[index], &facts) == 0);
        inodes[index] = facts.st_ino;
    }
}

/* Open under its number, unlocked, and as it was written. */
static void check_own_files(void)
{
    for (int index = 0; index < OWN_FILES; index++) {
        char name[4200], content[4300];
        memset(name, 0, sizeof name);
        snprintf(name, sizeof name, "%s.own-%d", path, index);
        struct stat facts;
        CHECK(fstat(own[index], &facts) == 0);
        CHECK(facts.st_ino == inodes[index]);
        CHECK(pread(own[index], content, sizeof content, 0) == sizeof name);
        CHECK(strcmp(content, name) == 0);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        CHECK(fcntl(own[index], F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
        lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int other = open(name, O_RDWR);
        CHECK(fcntl(other, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
        close(other);
    }
}

static void hit_anew(int keep_open)
{
    rl_limiter *limiter = open_store(path, keep_open);
    hits(score, limiter, 10);
    rl_close(limiter);
}

int main(int count, char **words)
{
    CHECK(count == 5);
    path = words[1];
    int keep_open = strcmp(words[4], "keeps") == 0 ? RL_ON : RL_OFF;
    int reuses = strcmp(words[3], "reuses") == 0;
    score = new_score();
    hit_anew(keep_open);

    pid_t child = 0;
    if (strcmp(words[2], "forks_in_child") == 0) {
        /* What daemon programs do: fork first, close everything then. */
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            hit_anew(keep_open);
            close_everything();
            if (reuses)
                open_own_files();
            hit_anew(keep_open);
            if (reuses)
                check_own_files();
            _exit(0);
        }
    } else {
        close_everything();
        if (reuses)
            open_own_files();
    }
    if (strcmp(words[2], "forks") == 0) {
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            if (reuses)
                check_own_files();
            hit_anew(keep_open);
            if (reuses)
                check_own_files();
            _exit(0);
        }
    }
    hit_anew(keep_open);
    if (child != 0)
        reap(score, child);
    hit_anew(keep_open);
    if (reuses && strcmp(words[2], "forks_in_child") != 0)
        check_own_files();
    print_score(score);
    printf("stored=%ld\n", stored(path));
    return 0;
}
