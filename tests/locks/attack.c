/*
 * One thread hits, one uses the host's own SQLite on the same file, and a second process hits.
 *
 *     attack STORE HOST MANNER hit|interval MILLISECONDS
 *
 * HOST: reads, writes, plain, checkpoints, mix, writer. MANNER, of the thread that hits: stays,
 * closes (every 10 hits), forks (every 50). hit, interval: when a hit is in the file.
 */
#include "attack.h"

static const char *path, *shm_path, *manner;
static struct score *score;
static rl_options options = {.flush_interval_ms = 1};

static rl_limiter *open_limiter(int keep_open)
{
    rl_options own = options;
    own.keep_open = keep_open;
    return open_store_with(path, own);
}

static void host_note(sqlite3 *database)
{
    int code = sqlite3_exec(database, "INSERT INTO host_notes VALUES (1)", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        score->host_commits++;
    else
        score->host_code = code;
}

static void host_runs(const char *sql)
{
    sqlite3 *database;
    int code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    sqlite3_busy_handler(database, wait_a_little, NULL);
    if (code == SQLITE_OK && sql == NULL)
        host_note(database);
    else if (code == SQLITE_OK)
        code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_close(database);
    if (code != SQLITE_OK && code != SQLITE_BUSY)
        score->host_code = code;
}

static void host_reads(void)
{
    host_runs("SELECT count(*), sum(attempts) FROM rate_limit_windows");
}

static void host_writes(void)
{
    host_runs(NULL);
}

static void host_opens_plainly(void)
{
    const char *paths[] = {path, shm_path};
    for (int index = 0; index < 2; index++) {
        int fd = open(paths[index], O_RDWR);
        if (fd >= 0)
            close(fd);
    }
}

static void host_checkpoints(void)
{
    static const char *const modes[] = {"PRAGMA wal_checkpoint(PASSIVE)",
                                        "PRAGMA wal_checkpoint(FULL)",
                                        "PRAGMA wal_checkpoint(RESTART)",
                                        "PRAGMA wal_checkpoint(TRUNCATE)"};
    static int turn;
    host_runs(modes[turn++ % 4]);
}

static void host_mixes(void)
{
    static void (*const actions[])(void) = {host_reads, host_writes, host_opens_plainly,
                                            host_checkpoints};
    static int turn;
    actions[turn++ % 4]();
}

static void *host_loops(void *action)
{
    while (!score->stop)
        ((void (*)(void))action)();
    return NULL;
}

static void *host_stays_and_writes(void *unused)
{
    sqlite3 *database = host_open(path);
    while (!score->stop)
        host_note(database);
    sqlite3_close(database);
    return unused;
}

static void *hit_and_stay(void *unused)
{
    rl_limiter *limiter = open_limiter(RL_ON);
    for (int number = 0; !score->stop; number++)
        hit(score, limiter, number);
    rl_close(limiter);
    return unused;
}

static void *hit_and_close(void *unused)
{
    while (!score->stop) {
        rl_limiter *limiter = open_limiter(RL_OFF);
        hits(score, limiter, 10);
        rl_close(limiter);
    }
    return unused;
}

static void *hit_and_fork(void *unused)
{
    rl_limiter *limiter = open_limiter(RL_ON);
    while (!score->stop) {
        hits(score, limiter, 50);
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            hits(score, limiter, 5);
            _exit(0);
        }
        hits(score, limiter, 10);
        reap(score, child);
    }
    rl_close(limiter);
    return unused;
}

static void second_process(int go)
{
    char byte;
    die_with_parent();
    CHECK(read(go, &byte, 1) == 1);
    hit_and_stay(NULL);
    _exit(0);
}

static void *(*host_by_name(const char *name, void **argument))(void *)
{
    static const struct {
        const char *name;
        void (*action)(void);
    } hosts[] = {{"reads", host_reads},
                 {"writes", host_writes},
                 {"plain", host_opens_plainly},
                 {"checkpoints", host_checkpoints},
                 {"mix", host_mixes}};
    for (size_t index = 0; index < sizeof hosts / sizeof *hosts; index++) {
        if (strcmp(name, hosts[index].name) == 0) {
            *argument = (void *)hosts[index].action;
            return host_loops;
        }
    }
    CHECK(strcmp(name, "writer") == 0);
    return host_stays_and_writes;
}

static void *(*hitter_by_name(const char *name))(void *)
{
    if (strcmp(name, "stays") == 0)
        return hit_and_stay;
    if (strcmp(name, "closes") == 0)
        return hit_and_close;
    CHECK(strcmp(name, "forks") == 0);
    return hit_and_fork;
}

static void make_tables(void)
{
    rl_close(open_limiter(RL_OFF));
    sqlite3 *database = host_open(path);
    CHECK(sqlite3_exec(database, "CREATE TABLE host_notes (n); CREATE TABLE shell_notes (n)", NULL,
                       NULL, NULL) == SQLITE_OK);
    sqlite3_close(database);
}

int main(int count, char **words)
{
    CHECK(count == 6);
    path = words[1];
    manner = words[3];
    int at_interval = strcmp(words[4], "interval") == 0;
    options.durability = at_interval ? RL_DURABLE_INTERVAL : RL_DURABLE_HIT;
    char shm[4096];
    snprintf(shm, sizeof shm, "%s-shm", path);
    shm_path = shm;
    score = new_score();

    int go[2];
    CHECK(pipe(go) == 0);
    pid_t second = fork();
    if (second == 0)
        second_process(go[0]);

    make_tables();
    puts("ready");
    fflush(stdout);
    CHECK(write(go[1], "", 1) == 1);

    void *action = NULL;
    void *(*host)(void *) = host_by_name(words[2], &action);
    pthread_t hitting, hosting;
    CHECK(pthread_create(&hitting, NULL, hitter_by_name(manner), NULL) == 0);
    CHECK(pthread_create(&hosting, NULL, host, action) == 0);
    run_for(atol(words[5]));
    score->stop = 1;
    pthread_join(hitting, NULL);
    pthread_join(hosting, NULL);
    reap(score, second);
    if (at_interval)
        write_all_out(path);

    print_score(score);
    printf("host_commits=%ld host_code=%ld\n", score->host_commits, score->host_code);
    return 0;
}
