/* What a library must not do to its host:   hygiene DIRECTORY [ROUNDS]
 *
 * Prints nothing, so that whatever comes out was the library's. */
#include "expect.h"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW INT64_C(1767225645000)

static int rounds = 1000;

static int open_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    int count = -3; /* ".", ".." and the directory's own */
    EXPECT(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static int64_t resident_bytes(void) {
    long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

static int64_t allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

static void use(const char *store, int64_t keep_open) {
    rl_options options = {.struct_size = sizeof options, .keep_open = keep_open, .audit = RL_ON};
    rl_limiter *limiter;
    rl_result result;
    EXPECT_EQ(RL_OK, rl_open(store, "a: 3/min; b: 5/s, 9/day", &options, &limiter));
    EXPECT_EQ(RL_OK, rl_hit(limiter, "b", "key", 3, 1, NOW, &result));
    rl_close(limiter);
}

static void kept_open(void) { use("kept.db", RL_ON); }
static void closed(void) { use("closed.db", RL_OFF); }
static void in_memory(void) { use(":memory:", RL_DEFAULT); }

static void policy_refused(void) {
    rl_limiter *limiter;
    EXPECT_ERROR(RL_EPOLICY, rl_open("kept.db", "nonsense", NULL, &limiter));
}

static void file_refused(void) {
    rl_limiter *limiter;
    EXPECT_ERROR(RL_ENOTSTORE, rl_open("foreign.txt", "1/s", NULL, &limiter));
}

static void deleted(void) {
    use("deleted.db", RL_OFF);
    EXPECT(!unlink("deleted.db"));
}

/* Rounds beyond the first few take no more descriptors and no more memory. */
static void nothing_grows(const char *name, void (*round)(void)) {
    about("%s", name);
    for (int i = 0; i < 20; i++) round();
    int descriptors = open_descriptors();
    int64_t allocated = allocated_bytes(), resident = resident_bytes();
    for (int i = 0; i < rounds; i++) round();
    EXPECT_EQ(descriptors, open_descriptors());
    /* A leak of 20 bytes a round would show. */
    EXPECT(allocated_bytes() - allocated < 20 * 1000);
    /* With few rounds it is valgrind's or a sanitizer's own memory that grows. */
    if (rounds >= 1000) EXPECT(resident_bytes() - resident < 2 << 20);
}

/* What a process has one of. */
struct host {
    mode_t mask;
    void (*handlers[64])(int);
    int flags[64], blocked[64];
    char directory[4096];
};

static void look(struct host *host) {
    memset(host, 0, sizeof *host);
    umask(host->mask = umask(0));
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int signal = 1; signal < 64; signal++) {
        struct sigaction action = {0};
        sigaction(signal, NULL, &action);
        host->handlers[signal] = action.sa_handler;
        host->flags[signal] = action.sa_flags;
        host->blocked[signal] = sigismember(&blocked, signal);
    }
    EXPECT(getcwd(host->directory, sizeof host->directory));
}

static void on_signal(int signal) { (void)signal; }

static void the_host_stays_as_it_was(void) {
    static struct host before, after;
    umask(027);
    signal(SIGUSR1, on_signal);
    signal(SIGPIPE, SIG_DFL); /* the start of a Rust program ignores it: a library must not */
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_BLOCK, &some, NULL);
    look(&before);
    kept_open();
    closed();
    in_memory();
    policy_refused();
    file_refused();
    look(&after);
    EXPECT(!memcmp(&before, &after, sizeof before));
}

int main(int argc, char **argv) {
    EXPECT(argc >= 2 && !chdir(argv[1]));
    if (argc > 2) rounds = atoi(argv[2]);
    FILE *foreign = fopen("foreign.txt", "w");
    EXPECT(foreign && fputs("This is not a store.\n", foreign) > 0 && !fclose(foreign));

    the_host_stays_as_it_was();
    nothing_grows("kept open", kept_open);
    nothing_grows("closed each time", closed);
    nothing_grows("in memory", in_memory);
    nothing_grows("policy refused", policy_refused);
    nothing_grows("file refused", file_refused);
    nothing_grows("file deleted each time", deleted);
    return 0;
}
