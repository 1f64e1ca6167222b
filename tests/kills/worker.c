/*
 * Hits until it is killed, and says so byte by byte in a file that survives it.
 *
 *     worker STORE WORD MANNER
 *
 * In WORD `<` stands before each hit and `>` after its answer, `!` if the hit is audited; `+` for each
 * unit of "few" that was granted; `[` and `]` around each commit of the host's own SQLite. MANNER:
 * hits, audits, prunes, forks, hosts.
 */
#include "attack.h"

#define RULES                                                                                      \
    "attack: 9007199254740991/366d; several: 9007199254740991/366d, 9007199254740991/365d; "      \
    "few: 500/366d; audited: 9007199254740991/366d; old: 9/s"

static const char *path;
static rl_limiter *limiter;
static int word;

static void say(char byte)
{
    if (write(word, &byte, 1) != 1)
        die("the word cannot be written");
}

static int hit_rule(const char *rule, int number, int64_t now)
{
    char key[16];
    int length = snprintf(key, sizeof key, "k%d", number % 97);
    rl_result result;
    int code = rl_hit(limiter, rule, key, length, 1, now, &result);
    if (code != RL_OK)
        die("rl_hit(%s) = %d: %s", rule, code, rl_last_error());
    return result.allowed;
}

static void hit_in_word(const char *rule, int number)
{
    say('<');
    hit_rule(rule, number, RL_NOW);
    say(strcmp(rule, "audited") == 0 ? '!' : '>');
}

static void prune(void)
{
    int64_t removed;
    for (int number = 0; number < 30; number++)
        hit_rule("old", number, 1000 * (number + 1));
    int code = rl_prune(limiter, RL_NOW, &removed);
    if (code != RL_OK)
        die("rl_prune() = %d: %s", code, rl_last_error());
}

static void fork_and_hit(int number)
{
    if (fork() == 0) {
        /* Goes on for a while if its parent dies. */
        for (int more = 0; more < 20; more++)
            hit_in_word("attack", number + more);
        _exit(0);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void *host_writes(void *unused)
{
    sqlite3 *database = host_open(path);
    const char *notes = "CREATE TABLE IF NOT EXISTS host_notes (n)";
    CHECK(sqlite3_exec(database, notes, NULL, NULL, NULL) == SQLITE_OK);
    for (;;) {
        say('[');
        if (sqlite3_exec(database, "INSERT INTO host_notes VALUES (1)", NULL, NULL, NULL) == 0)
            say(']');
        host_number(database, "SELECT total(attempts) FROM rate_limit_windows");
        run_for(2);
    }
    return unused;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    path = words[1];
    const char *manner = words[3];
    word = open(words[2], O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    CHECK(word >= 0);
    rl_options options = {0};
    options.struct_size = sizeof options;
    options.busy_timeout_ms = 20000;
    options.audit = strcmp(manner, "audits") == 0 ? RL_ON : RL_DEFAULT;
    int code = rl_open(path, RULES, &options, &limiter);
    if (code != RL_OK)
        die("rl_open() = %d: %s", code, rl_last_error());
    pthread_t host;
    if (strcmp(manner, "hosts") == 0)
        CHECK(pthread_create(&host, NULL, host_writes, NULL) == 0);
    for (int number = 0;; number++) {
        hit_in_word(options.audit == RL_ON ? "audited" : number % 2 ? "attack" : "several", number);
        if (hit_rule("few", 0, RL_NOW))
            say('+');
        if (strcmp(manner, "prunes") == 0)
            prune();
        if (strcmp(manner, "forks") == 0 && number % 50 == 0)
            fork_and_hit(number);
    }
}
