/*
 * Opens and closes, or forks, again and again, and counts the open descriptors.
 *
 *     descriptors DIRECTORY keeps|closes|deletes|abandons|forks TIMES STORES
 *
 * deletes: closes, and deletes the file. abandons: deletes the file that the library keeps open.
 */
#include "attack.h"

static const char *directory;
static int stores;

static const char *path_of(int number)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%d.db", directory, number % stores);
    return path;
}

/* A program that the host starts must not inherit the store, and its locks. */
static void check_close_on_exec(void)
{
    for (int fd = 3; fd < 100; fd++) {
        char name[64], target[4096];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        if (strncmp(target, directory, strlen(directory)) == 0)
            CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
}

static int open_and_close(int keep_open, int number)
{
    rl_options options = {.keep_open = keep_open, .table_slots = 256};
    rl_limiter *limiter = open_store_with(path_of(number), options);
    rl_result result;
    int code = rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
    rl_close(limiter);
    return code;
}

static void fork_once(struct score *score, int before_everything)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(30);
        CHECK(count_descriptors() == before_everything);
        CHECK(open_and_close(RL_ON, 0) == RL_OK);
        _exit(0);
    }
    CHECK(open_and_close(RL_ON, 0) == RL_OK);
    reap(score, child);
}

int main(int count, char **words)
{
    CHECK(count == 5);
    directory = words[1];
    stores = atoi(words[4]);
    struct score *score = new_score();
    int before = count_descriptors(), most = 0;
    for (int number = 0; number < atoi(words[3]); number++) {
        if (strcmp(words[2], "forks") == 0) {
            open_and_close(RL_ON, number);
            fork_once(score, before);
        } else {
            int keeps = strcmp(words[2], "keeps") == 0 || strcmp(words[2], "abandons") == 0;
            int keep_open = keeps ? RL_ON : RL_OFF;
            CHECK(open_and_close(keep_open, number) == RL_OK);
        }
        int now = count_descriptors() - before;
        if (now > most)
            most = now;
        if (strcmp(words[2], "deletes") == 0 || strcmp(words[2], "abandons") == 0)
            remove_store(path_of(number));
    }
    rl_limiter *limiter = open_store(path_of(0), RL_ON);
    check_close_on_exec();
    printf("most=%d counted=%d rl_info=%ld hung=%ld\n", most, count_descriptors() - before,
           told(limiter, "descriptors"), score->hung);
    return 0;
}
