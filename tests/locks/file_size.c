/*
 * The process may not let a file grow, so the store's writes raise SIGXFSZ, which kills.
 *
 *     file_size STORE hit|live|open|open-table|open-again default|handled|pending
 *     file_size STORE frame STRIDE
 *
 * hit: one that is in the file before it is answered. live: one of a live key, at an interval.
 * open-table: there is room for the store, but not for its table. open-again: of a store that nobody
 * has open, so that its -shm is to be made. frame: at each byte near both ends of a frame of the log,
 * and at every STRIDE-th between.
 */
#include "attack.h"

#include <sys/resource.h>

static struct rlimit before;
static volatile sig_atomic_t handled;

static void limit_to(rlim_t bytes)
{
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, before.rlim_max}) == 0);
}

static void handle(int number)
{
    (void)number;
    handled++;
}

static int is_pending(void)
{
    sigset_t set;
    CHECK(sigpending(&set) == 0);
    return sigismember(&set, SIGXFSZ);
}

static void block_and_raise(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(pthread_kill(pthread_self(), SIGXFSZ) == 0);
    CHECK(is_pending());
}

static int is_expected(int code)
{
    return code == RL_EIO || code == RL_EFULL;
}

/* With no room for a -shm, nor for the byte that SQLite writes first. */
static void open_again(struct score *score, const char *path, int keeps_pending)
{
    static const char *const endings[] = {"-wal", "-shm"};
    pid_t maker = fork();
    if (maker == 0) {
        rl_limiter *limiter = open_store(path, RL_OFF);
        hits(score, limiter, 50);
        rl_close(limiter);
        _exit(0);
    }
    reap(score, maker);
    for (rlim_t bytes = 0; bytes < 4; bytes++) {
        for (int index = 0; index < 2; index++) {
            char file[4200];
            snprintf(file, sizeof file, "%s%s", path, endings[index]);
            CHECK(unlink(file) == 0 || errno == ENOENT);
        }
        pid_t child = fork();
        if (child == 0) {
            if (keeps_pending)
                block_and_raise();
            limit_to(bytes);
            rl_limiter *limiter = NULL;
            int code = rl_open(path, POLICY, NULL, &limiter);
            if (code != RL_EIO)
                die("rl_open() with a limit of %d bytes = %d", (int)bytes, code);
            CHECK(limiter == NULL && handled == 0 && is_pending() == keeps_pending);
            _exit(0);
        }
        reap(score, child);
    }
}

enum { LOG_HEADER = 32, FRAME_HEADER = 24, FRAME = FRAME_HEADER + 1024 };
enum { WHOLE_FRAMES = 3, MORE_HITS = 3 };

/* Until the limit, and a bit longer. Nothing but the log grows: a hit more of a key is a frame. */
static void hit_until_refused(struct score *score, rl_limiter *limiter)
{
    rl_result result;
    int refused = 0;
    for (int number = 0; refused < MORE_HITS; number++) {
        CHECK(number < 4 * WHOLE_FRAMES);
        int code = rl_hit(limiter, NULL, "k1", 2, 1, RL_NOW, &result);
        if (code == RL_OK)
            score->acknowledged++;
        else if (code == RL_EIO)
            refused++;
        else
            die("rl_hit() at the limit = %d: %s", code, rl_last_error());
    }
}

/* At each offset a process is killed after it was refused; what is in its log, others read. */
static void meet_frame(struct score *score, const char *path, int stride)
{
    for (int offset = 0; offset <= FRAME; offset++) {
        int is_near_an_end = offset <= FRAME_HEADER + 1 || offset >= FRAME - FRAME_HEADER - 1;
        if (!is_near_an_end && offset % stride != 0)
            continue;
        pid_t child = fork();
        if (child == 0) {
            rl_limiter *limiter =
                open_store_with(path, (rl_options){.durability = RL_DURABLE_HIT});
            hit(score, limiter, 1);
            limit_to(LOG_HEADER + WHOLE_FRAMES * FRAME + offset);
            hit_until_refused(score, limiter);
            kill(getpid(), SIGKILL);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        long sum = granted_in_file(path);
        if (sum != score->acknowledged)
            die("limit at byte %d of a frame: acknowledged %ld, stored %ld", offset,
                score->acknowledged, sum);
    }
}

static void open_in_vain(const char *path, rlim_t bytes)
{
    rl_limiter *limiter = NULL;
    limit_to(bytes);
    CHECK(is_expected(rl_open(path, POLICY, NULL, &limiter)));
    CHECK(limiter == NULL);
}

static rl_limiter *be_refused(struct score *score, const char *path, int keeps_pending)
{
    rl_limiter *limiter = open_store_with(path, (rl_options){.durability = RL_DURABLE_HIT});
    hits(score, limiter, 50);
    limit_to(20000);
    rl_result result;
    for (int number = 0; number < 5; number++) {
        memset(&result, 1, sizeof result);
        int code = rl_hit(limiter, NULL, "k1", 2, 1, RL_NOW, &result);
        CHECK(is_expected(code));
        CHECK(result.allowed == 0 && result.count == 0);
        CHECK(is_pending() == keeps_pending);
    }
    return limiter;
}

/* Its hits go on, and that the file lags behind is told, until there is room again. */
static rl_limiter *go_on(struct score *score, const char *path, int keeps_pending)
{
    rl_limiter *limiter = open_store_with(path, (rl_options){.durability = RL_DURABLE_INTERVAL});
    hits(score, limiter, 50);
    limit_to(20000);
    double end = seconds() + 10;
    char text[4000] = "";
    for (int number = 0; strstr(text, "\"cause\":\"") == NULL; number++) {
        CHECK(hit(score, limiter, number) == RL_OK);
        CHECK(is_pending() == keeps_pending);
        CHECK(rl_info(limiter, text, sizeof text) > 0);
        CHECK(seconds() < end);
    }
    CHECK(told(limiter, "unwritten") > 0);
    int64_t removed;
    CHECK(is_expected(rl_prune(limiter, 0, &removed)));
    limit_to(before.rlim_cur);
    CHECK(rl_prune(limiter, 0, &removed) == RL_OK);
    CHECK(told(limiter, "unwritten") == 0);
    CHECK(rl_info(limiter, text, sizeof text) > 0 && strstr(text, "\"cause\":null") != NULL);
    return limiter;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    struct score *score = new_score();
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    int keeps_pending = strcmp(words[3], "pending") == 0;
    if (strcmp(words[3], "handled") == 0)
        CHECK(signal(SIGXFSZ, handle) == SIG_DFL);
    if (keeps_pending)
        block_and_raise();

    rl_limiter *limiter = NULL;
    if (strcmp(words[2], "open-again") == 0) {
        open_again(score, words[1], keeps_pending);
    } else if (strcmp(words[2], "frame") == 0) {
        meet_frame(score, words[1], atoi(words[3]));
    } else if (strcmp(words[2], "open") == 0) {
        open_in_vain(words[1], 1000);
        CHECK(access(words[1], F_OK) != 0);
    } else if (strcmp(words[2], "open-table") == 0) {
        open_in_vain(words[1], 1 << 20);
    } else if (strcmp(words[2], "live") == 0) {
        limiter = go_on(score, words[1], keeps_pending);
    } else {
        limiter = be_refused(score, words[1], keeps_pending);
    }
    CHECK(is_pending() == keeps_pending);
    CHECK(handled == 0);

    limit_to(before.rlim_cur);
    if (limiter == NULL)
        limiter = open_store(words[1], RL_ON);
    hits(score, limiter, 50);
    rl_close(limiter);
    CHECK(is_pending() == keeps_pending);
    print_score(score);
    printf("stored=%ld\n", granted(words[1]));
    return 0;
}
