/*
 * Fills the disk that holds the store, goes on, makes room, and goes on.
 *
 *     disk_full DIRECTORY opened|new|closed
 *
 * opened: the limiter is open when the disk fills. new: no store is there yet. closed: one is, but
 * nobody has it open.
 */
#include "attack.h"

static const char *directory;
static char path[4096], ballast[4096];

/* A key of its own for each hit: a counter that has a row needs no more room. */
static int hit_anew(struct score *score, rl_limiter *limiter, int number)
{
    char key[72];
    memset(key, 'k', sizeof key);
    snprintf(key, sizeof key, "%d", number);
    rl_result result, none = {0};
    memset(&result, 0xA5, sizeof result);
    int code = rl_hit(limiter, NULL, key, sizeof key, 1, RL_NOW, &result);
    if (code == RL_OK)
        score->acknowledged++;
    else
        CHECK(memcmp(&result, &none, sizeof none) == 0);
    return code;
}

/* To the last byte, in a file that goes again. */
static void fill_disk(void)
{
    static char block[4096];
    int fd = open(ballast, O_CREAT | O_WRONLY | O_APPEND, 0600);
    CHECK(fd >= 0);
    for (size_t size = sizeof block; size > 0; size /= 2)
        while (write(fd, block, size) > 0) {
        }
    CHECK(errno == ENOSPC);
    close(fd);
}

static rl_limiter *open_on_full_disk(void)
{
    rl_limiter *limiter;
    fill_disk();
    int code = rl_open(path, POLICY, NULL, &limiter);
    if (code != RL_EFULL)
        die("rl_open() on a full disk = %d: %s", code, rl_last_error());
    CHECK(limiter == NULL);
    CHECK(unlink(ballast) == 0);
    return open_store(path, RL_ON);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    directory = words[1];
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(ballast, sizeof ballast, "%s/ballast", directory);
    struct score *score = new_score();
    if (strcmp(words[2], "closed") == 0)
        rl_close(open_store(path, RL_OFF));
    int is_opened = strcmp(words[2], "opened") == 0;
    rl_limiter *limiter = is_opened ? open_store(path, RL_ON) : open_on_full_disk();
    CHECK(hit_anew(score, limiter, 0) == RL_OK);
    fill_disk();

    int number = 1, code = RL_OK;
    while ((code = hit_anew(score, limiter, number)) == RL_OK && number < 100000)
        number++;
    int first = number;
    for (int more = 0; more < 300; more++) {
        if (code != RL_EFULL)
            die("hit %d on a full disk = %d: %s", number, code, rl_last_error());
        code = hit_anew(score, limiter, ++number);
        if (code == RL_OK)
            code = RL_EFULL; /* a row that had room after all */
    }
    rl_result result;
    char key[72];
    memset(key, 'k', sizeof key);
    snprintf(key, sizeof key, "%d", 0);
    CHECK(rl_status(limiter, NULL, key, sizeof key, RL_NOW, &result) == RL_OK);
    CHECK(result.count == 1);
    long before = score->acknowledged;
    CHECK(unlink(ballast) == 0);
    for (int more = 0; more < 20; more++)
        CHECK(hit_anew(score, limiter, ++number) == RL_OK);
    rl_close(limiter);
    printf("full_at=%d acknowledged_full=%ld acknowledged=%ld stored=%ld\n", first, before,
           score->acknowledged, stored(path));
    return 0;
}
