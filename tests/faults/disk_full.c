/*
 * Fills the disk that holds the store, goes on, makes room, and goes on.
 *
 *     disk_full DIRECTORY opened|new|closed hit|interval
 *
 * opened: the limiter is open when the disk fills. new: no store is there yet. closed: one is, but
 * nobody has it open. hit, interval: when a hit is in the file.
 */
#include "attack.h"

static const char *directory;
static char path[4096], ballast[4096];
static rl_options options = {.struct_size = sizeof options, .table_slots = 256};

/* Of a key of its own needs room, if only for the row of another that goes for it. */
static int hit_key(struct score *score, rl_limiter *limiter, int number)
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
    int code = rl_open(path, POLICY, &options, &limiter);
    if (code != RL_EFULL)
        die("rl_open() on a full disk = %d: %s", code, rl_last_error());
    CHECK(limiter == NULL);
    CHECK(unlink(ballast) == 0);
    return open_store_with(path, options);
}

static int is_full(rl_limiter *limiter)
{
    char text[4000];
    CHECK(rl_info(limiter, text, sizeof text) > 0);
    return strstr(text, "\"cause\":\"the disk is full\"") != NULL;
}

/* A live key takes no room: its hits go on, and what is in the way of the file is told. */
static void go_on(struct score *score, rl_limiter *limiter)
{
    double end = seconds() + 10;
    int is_told = 0;
    for (int more = 0; more < 1000 || !is_told; more++) {
        CHECK(hit_key(score, limiter, 0) == RL_OK);
        is_told = is_told || is_full(limiter);
        CHECK(seconds() < end);
    }
    CHECK(told(limiter, "unwritten") > 0);
}

int main(int count, char **words)
{
    CHECK(count == 4);
    directory = words[1];
    int at_interval = strcmp(words[3], "interval") == 0;
    options.durability = at_interval ? RL_DURABLE_INTERVAL : RL_DURABLE_HIT;
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(ballast, sizeof ballast, "%s/ballast", directory);
    struct score *score = new_score();
    if (strcmp(words[2], "closed") == 0)
        rl_close(open_store_with(path, (rl_options){.keep_open = RL_OFF, .table_slots = 256}));
    int is_opened = strcmp(words[2], "opened") == 0;
    rl_limiter *limiter = is_opened ? open_store_with(path, options) : open_on_full_disk();
    CHECK(hit_key(score, limiter, 0) == RL_OK);
    fill_disk();
    if (at_interval)
        go_on(score, limiter);
    long of_key_0 = score->acknowledged;

    int number = 1, code = RL_OK;
    while ((code = hit_key(score, limiter, number)) == RL_OK && number < 100000)
        number++;
    int first = number;
    for (int more = 0; more < 300; more++) {
        if (code != RL_EFULL)
            die("hit %d on a full disk = %d: %s", number, code, rl_last_error());
        code = hit_key(score, limiter, ++number);
        if (code == RL_OK)
            code = RL_EFULL; /* a row that had room after all */
    }
    rl_result result;
    char key[72];
    memset(key, 'k', sizeof key);
    snprintf(key, sizeof key, "%d", 0);
    CHECK(rl_status(limiter, NULL, key, sizeof key, RL_NOW, &result) == RL_OK);
    CHECK(result.count == of_key_0);
    long before = score->acknowledged;
    CHECK(unlink(ballast) == 0);
    for (int more = 0; more < 20; more++)
        CHECK(hit_key(score, limiter, ++number) == RL_OK);
    if (at_interval) {
        int64_t removed;
        CHECK(rl_prune(limiter, 0, &removed) == RL_OK);
        CHECK(!is_full(limiter) && told(limiter, "unwritten") == 0);
    }
    rl_close(limiter);
    printf("full_at=%d acknowledged_full=%ld acknowledged=%ld stored=%ld\n", first, before,
           score->acknowledged, granted_in_file(path));
    return 0;
}
