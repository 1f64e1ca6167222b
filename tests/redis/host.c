/* A host of the library, for what Rust's own programs hide:   host MODE STORE
 *
 * pipes      writes to connections that the server has closed, with SIGPIPE as the system has it
 * fork       parent, busy threads and child go on with one limiter; prints hits=N connections=N
 * daemon     closes every descriptor after the last rl_close(), and uses the numbers itself
 * few        one descriptor is missing for a connection
 * stack      a thread of 64 KiB opens, connects, hits and closes
 */
#define _GNU_SOURCE
#include "expect.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY "one client", 10

static rl_limiter *open_with(const char *store, int64_t keep_open, int64_t timeout_ms) {
    rl_options options = {.struct_size = sizeof options, .keep_open = keep_open,
                          .connect_timeout_ms = timeout_ms, .command_timeout_ms = timeout_ms};
    rl_limiter *limiter;
    EXPECT_EQ(RL_OK, rl_open(store, "9007199254740991/366d", &options, &limiter));
    return limiter;
}

static int64_t hit(rl_limiter *limiter) {
    rl_result result;
    EXPECT_EQ(RL_OK, rl_hit(limiter, NULL, KEY, 1, RL_NOW, &result));
    return result.count;
}

#ifdef WITHOUT_NOSIGNAL
/* As a library would write that asks for no protection: the test must notice. */
ssize_t send(int socket, const void *bytes, size_t size, int flags) {
    return sendto(socket, bytes, size, flags & ~MSG_NOSIGNAL, NULL, 0);
}
#endif

/* Answers a login, then ends the connection in the way that makes the next write fail by EPIPE. */
static void *end_connections(void *listener) {
    for (;;) {
        char bytes[512];
        int socket = accept(*(int *)listener, NULL, NULL);
        if (socket < 0) return NULL;
        if (recv(socket, bytes, sizeof bytes, 0) > 0) {
            struct linger at_once = {1, 0};
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            send(socket, "+OK\r\n", 5, MSG_NOSIGNAL);
            shutdown(socket, SHUT_WR);
        }
        close(socket);
    }
}

static void pipes(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    EXPECT(!bind(listener, (struct sockaddr *)&address, length) && !listen(listener, 9));
    EXPECT(!getsockname(listener, (struct sockaddr *)&address, &length));
    pthread_t server;
    EXPECT(!pthread_create(&server, NULL, end_connections, &listener));
    char store[100];
    snprintf(store, sizeof store, "redis://:word@127.0.0.1:%d/1", ntohs(address.sin_port));
    EXPECT(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    int broken = 0;
    for (int i = 0; i < 200; i++) {
        rl_limiter *limiter = open_with(store, RL_OFF, 1000);
        rl_result result;
        EXPECT_EQ(RL_EUNAVAILABLE, rl_hit(limiter, NULL, KEY, 1, RL_NOW, &result));
        broken += !!strstr(rl_last_error(), "Broken pipe");
        rl_close(limiter);
    }
    printf("broken=%d\n", broken);
}

enum { THREADS = 3, HITS = 300, ROUNDS = 5 };
static atomic_int stop, busy;
static atomic_long *total;

static void *keep_busy(void *limiter) {
    busy++;
    while (!stop) {
        hit(limiter);
        ++*total;
    }
    return NULL;
}

static void forks(const char *store) {
    total = mmap(NULL, sizeof *total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rl_limiter *limiter = open_with(store, RL_ON, 10000);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        EXPECT(!pthread_create(&threads[i], NULL, keep_busy, limiter));
    while (busy < THREADS) usleep(1000);
    hit(limiter);
    ++*total;
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        EXPECT(child >= 0);
        for (int i = 0; i < HITS; i++) {
            hit(limiter);
            ++*total;
        }
        if (!child) {
            rl_close(limiter);
            _exit(0);
        }
        int status;
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT_EQ(0, status);
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++) EXPECT(!pthread_join(threads[i], NULL));
    rl_result result;
    EXPECT_EQ(RL_OK, rl_status(limiter, NULL, KEY, RL_NOW, &result));
    EXPECT_EQ(*total, result.count);
    printf("hits=%ld forks=%d threads=%d\n", *total, ROUNDS, THREADS);
    rl_close(limiter);
}

static void daemonize(const char *store) {
    rl_limiter *limiter = open_with(store, RL_ON, 1000);
    EXPECT_EQ(1, hit(limiter));
    rl_close(limiter);
    for (int fd = 3; fd < 64; fd++) close(fd);
    /* Ours now, of the kinds that a connection's number may stand for. */
    int own[8];
    struct stat before[8], after;
    for (int i = 0; i < 8; i++) {
        own[i] = i % 2 ? open("/dev/null", O_RDWR) : socket(AF_INET, SOCK_STREAM, 0);
        EXPECT(!fstat(own[i], &before[i]));
    }
    /* A child of theirs has them, too. */
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 8; i++) EXPECT(!fstat(own[i], &after) && after.st_ino == before[i].st_ino);
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    limiter = open_with(store, RL_ON, 1000);
    EXPECT_EQ(2, hit(limiter));
    rl_close(limiter);
    /* Still the same, and not something that was opened in its place. */
    for (int i = 0; i < 8; i++) {
        EXPECT(!fstat(own[i], &after));
        EXPECT_EQ(before[i].st_ino, after.st_ino);
    }
}

static void few(const char *store) {
    rl_limiter *limiter = open_with(store, RL_OFF, 1000);
    rl_result result;
    struct rlimit before, none;
    EXPECT(!getrlimit(RLIMIT_NOFILE, &before));
    none = before;
    none.rlim_cur = 3;
    EXPECT(!setrlimit(RLIMIT_NOFILE, &none));
    EXPECT_EQ(RL_EMFILE, rl_hit(limiter, NULL, KEY, 1, RL_NOW, &result));
    EXPECT(!setrlimit(RLIMIT_NOFILE, &before));
    for (int tries = 0; rl_hit(limiter, NULL, KEY, 1, RL_NOW, &result) != RL_OK; tries++) {
        EXPECT(tries < 300);
        usleep(10000);
    }
    rl_close(limiter);
}

static void *in_little_room(void *store) {
    rl_limiter *limiter = open_with(store, RL_OFF, 5000);
    rl_result result;
    char text[4096];
    hit(limiter);
    EXPECT_EQ(RL_OK, rl_status(limiter, NULL, KEY, RL_NOW, &result));
    EXPECT_EQ(RL_OK, rl_refund(limiter, NULL, KEY, 1, RL_NOW, &result));
    EXPECT(rl_info(limiter, text, sizeof text) > 0);
    rl_close(limiter);
    return NULL;
}

static void stack(char *store) {
    pthread_t thread;
    pthread_attr_t little;
    EXPECT(!pthread_attr_init(&little) && !pthread_attr_setstacksize(&little, 64 << 10));
    EXPECT(!pthread_create(&thread, &little, in_little_room, store));
    EXPECT(!pthread_join(thread, NULL));
}

int main(int argc, char **argv) {
    EXPECT(argc == 3);
    if (!strcmp(argv[1], "pipes")) pipes();
    else if (!strcmp(argv[1], "fork")) forks(argv[2]);
    else if (!strcmp(argv[1], "daemon")) daemonize(argv[2]);
    else if (!strcmp(argv[1], "few")) few(argv[2]);
    else if (!strcmp(argv[1], "stack")) stack(argv[2]);
    else return 2;
    return 0;
}
