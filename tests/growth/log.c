/*
 * Processes that write as fast as they can, and perhaps a reader that keeps one moment of the
 * store. How long does the log get, and does it get short again when the reader has gone?
 *
 *     log STORE WRITERS MILLISECONDS READER_MILLISECONDS
 *
 * READER_MILLISECONDS: at least so long, and until the log has grown.
 */
#include "attack.h"

static struct score *score;
static char log_path[512];

static void write_without_end(const char *path, int writer)
{
    alarm(120);
    rl_limiter *limiter = open_store(path, RL_ON);
    for (int number = 0; !score->stop; number++) {
        char key[32];
        int length = snprintf(key, sizeof key, "%d:%d", writer, number);
        rl_result result;
        if (rl_hit(limiter, NULL, key, length, 1, RL_NOW, &result) == RL_OK)
            score->acknowledged++;
        else
            score->failed++;
    }
    _exit(0);
}

static long log_bytes(void)
{
    struct stat facts;
    return stat(log_path, &facts) == 0 ? facts.st_size : 0;
}

static long most_within(double duration)
{
    double end = seconds() + duration;
    long most = 0;
    while (seconds() < end) {
        if (log_bytes() > most)
            most = log_bytes();
        run_for(1);
    }
    return most;
}

int main(int count, char **words)
{
    CHECK(count == 5);
    const char *path = words[1];
    snprintf(log_path, sizeof log_path, "%s-wal", path);
    score = new_score();
    /* Too few for the keys, so that hits at an interval write too. */
    rl_close(open_store_with(path, (rl_options){.keep_open = RL_OFF, .table_slots = 256}));
    int writers = atoi(words[2]);
    for (int writer = 0; writer < writers; writer++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            write_without_end(path, writer);
    }
    while (score->acknowledged < 100)
        sched_yield();

    sqlite3 *reader = NULL;
    long with_reader = 0;
    double reads_for = atol(words[4]) / 1000.0, wait = 0;
    if (reads_for > 0) {
        reader = host_open(path);
        CHECK(sqlite3_exec(reader, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
        host_number(reader, "SELECT count(*) FROM rate_limit_windows");
        double enough = seconds() + 30;
        with_reader = most_within(reads_for);
        while (with_reader < 40 << 20 && seconds() < enough)
            with_reader = most_within(0.1);
        sqlite3_close(reader);
        double gone = seconds();
        while (log_bytes() > 32 << 20 && seconds() < gone + 30)
            run_for(1);
        wait = seconds() - gone;
    }
    long most = most_within(atol(words[3]) / 1000.0);
    score->stop = 1;
    for (int writer = 0; writer < writers; writer++)
        reap(score, -1);
    print_score(score);
    printf("most_kib=%ld with_reader_kib=%ld wait_ms=%.0f\n", most >> 10, with_reader >> 10,
           wait * 1000);
    return 0;
}
