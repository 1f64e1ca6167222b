/*
 * Lets the N-th system call of a kind fail, or kill the process, while a call of the library runs.
 *
 * What the program defines here comes before the C library's own for every shared library, so this
 * needs no LD_PRELOAD and cannot be left out by mistake.
 */
#ifndef SHIM_H
#define SHIM_H

#include "attack.h"

#include <dlfcn.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

enum effect { FAILS, SHORT, KILLS_BEFORE, KILLS_AFTER };

static struct {
    const char *kind;
    enum effect effect;
    int number, error, is_persistent;
    int is_armed, seen, has_fired;
} fault;

/* SQLite's own allocation functions, from the library's symbol table: Rust ends the process when
 * it has no memory, so only SQLite's requests are refused. */
static char *allocators[2];
enum { LENGTH_OF_ALLOCATOR = 96 };

static void arm(void)
{
    fault.seen = fault.has_fired = 0;
    fault.is_armed = 1;
}

static void disarm(void)
{
    fault.is_armed = 0;
}

/* Whether the call that is being made is the one. */
static int is_hit(const char *kind)
{
    if (!fault.is_armed || strcmp(fault.kind, kind) != 0)
        return 0;
    fault.seen++;
    int is_it = fault.is_persistent ? fault.seen >= fault.number : fault.seen == fault.number;
    fault.has_fired |= is_it;
    return is_it;
}

static void die_here(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Makes the call, or what the fault makes of it; FAILED is what the call returns when it fails. */
#define INTERPOSE(kind, failed, short_call, call)                                                  \
    do {                                                                                           \
        if (!is_hit(kind))                                                                         \
            return call;                                                                           \
        if (fault.effect == KILLS_BEFORE)                                                          \
            die_here();                                                                            \
        if (fault.effect == KILLS_AFTER) {                                                         \
            (void)!call;                                                                           \
            die_here();                                                                            \
        }                                                                                          \
        if (fault.effect == SHORT)                                                                 \
            return short_call;                                                                     \
        errno = fault.error;                                                                       \
        return failed;                                                                             \
    } while (0)

#define WRAP(kind, type, failed, name, parameters, arguments)                                      \
    type name parameters                                                                           \
    {                                                                                              \
        __typeof__(&name) real = REAL(name);                                                       \
        INTERPOSE(kind, failed, real arguments, real arguments);                                   \
    }

#define WRAP_SIZED(kind, name, parameters, arguments, half)                                        \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        __typeof__(&name) real = REAL(name);                                                       \
        INTERPOSE(kind, -1, real half, real arguments);                                            \
    }

/* Half of what is asked for; a single byte is not to be had at all. */
WRAP_SIZED("read", read, (int fd, void *to, size_t size), (fd, to, size), (fd, to, size / 2))
WRAP_SIZED("read", pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at),
           (fd, to, size / 2, at))
WRAP_SIZED("read", pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at),
           (fd, to, size / 2, at))
WRAP_SIZED("write", write, (int fd, const void *from, size_t size), (fd, from, size),
           (fd, from, size / 2))
WRAP_SIZED("write", pwrite64, (int fd, const void *from, size_t size, off64_t at),
           (fd, from, size, at), (fd, from, size / 2, at))
/* A frame of the log: without its page. */
WRAP_SIZED("write", pwritev64, (int fd, const struct iovec *parts, int count, off64_t at),
           (fd, parts, count, at), (fd, parts, count / 2, at))
WRAP("sync", int, -1, fsync, (int fd), (fd))
WRAP("sync", int, -1, fdatasync, (int fd), (fd))
WRAP("truncate", int, -1, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP("stat", int, -1, stat, (const char *path, struct stat *to), (path, to))
WRAP("stat", int, -1, lstat, (const char *path, struct stat *to), (path, to))
WRAP("stat", int, -1, fstat, (int fd, struct stat *to), (fd, to))
WRAP("stat", int, -1, stat64, (const char *path, struct stat64 *to), (path, to))
WRAP("stat", int, -1, lstat64, (const char *path, struct stat64 *to), (path, to))
WRAP("stat", int, -1, fstat64, (int fd, struct stat64 *to), (fd, to))
WRAP("stat", int, -1, statfs, (const char *path, struct statfs *to), (path, to))
WRAP("link", int, -1, linkat, (int from, const char *source, int to, const char *target, int flags),
     (from, source, to, target, flags))
WRAP("unlink", int, -1, unlink, (const char *path), (path))
WRAP("rename", int, -1, rename, (const char *from, const char *to), (from, to))
WRAP("flock", int, -1, flock, (int fd, int operation), (fd, operation))
WRAP("random", ssize_t, -1, getrandom, (void *to, size_t size, unsigned flags), (to, size, flags))
WRAP("map", void *, MAP_FAILED, mmap,
     (void *at, size_t size, int protection, int flags, int fd, off_t from),
     (at, size, protection, flags, fd, from))
WRAP("map", void *, MAP_FAILED, mmap64,
     (void *at, size_t size, int protection, int flags, int fd, off64_t from),
     (at, size, protection, flags, fd, from))

/* This one returns its error. */
int posix_fallocate(int fd, off_t at, off_t size)
{
    __typeof__(&posix_fallocate) real = REAL(posix_fallocate);
    INTERPOSE("allocate", fault.error, real(fd, at, size), real(fd, at, size));
}

static int really_open(const char *path, int flags, mode_t mode)
{
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int open_or_fail(const char *path, int flags, mode_t mode)
{
    INTERPOSE("open", -1, really_open(path, flags, mode), really_open(path, flags, mode));
}

/* The mode is there whenever it means something, and a plain register when not. */
#define WRAP_OPEN(name)                                                                            \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = va_arg(arguments, mode_t);                                                   \
        va_end(arguments);                                                                         \
        return open_or_fail(path, flags, mode);                                                    \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)

static int is_locking(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
           command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

static int lock_or_fail(int fd, int command, void *argument)
{
    if (!is_locking(command))
        return syscall(SYS_fcntl, fd, command, argument);
    int is_unlock = command != F_OFD_GETLK && ((struct flock *)argument)->l_type == F_UNLCK;
    INTERPOSE(is_unlock ? "unlock" : "lock", -1, syscall(SYS_fcntl, fd, command, argument),
              (int)syscall(SYS_fcntl, fd, command, argument));
}

WRAP_FCNTL(fcntl, lock_or_fail)
WRAP_FCNTL(fcntl64, lock_or_fail)

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);

static int is_sqlites(const char *caller)
{
    for (int index = 0; index < 2; index++) {
        const char *start = allocators[index];
        if (start != NULL && caller >= start && caller < start + LENGTH_OF_ALLOCATOR)
            return 1;
    }
    return 0;
}

void *malloc(size_t size)
{
    if (!fault.is_armed || !is_sqlites(__builtin_return_address(0)))
        return __libc_malloc(size);
    INTERPOSE("memory", NULL, NULL, __libc_malloc(size));
}

void *realloc(void *old, size_t size)
{
    if (!fault.is_armed || !is_sqlites(__builtin_return_address(0)))
        return __libc_realloc(old, size);
    INTERPOSE("memory", NULL, NULL, __libc_realloc(old, size));
}

/* Their offsets in the library, in hexadecimal. */
static void set_allocators(const char *first, const char *second)
{
    Dl_info library;
    CHECK(dladdr((void *)rl_hit, &library) != 0);
    allocators[0] = (char *)library.dli_fbase + strtoul(first, NULL, 16);
    allocators[1] = (char *)library.dli_fbase + strtoul(second, NULL, 16);
}

#endif
