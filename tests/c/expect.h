/* Checks that say where and what. A failed one ends the process: whatever follows would mislead. */
#ifndef EXPECT_H
#define EXPECT_H

#include <inttypes.h>
#include <ratelite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char expect_subject[512];

/* Names what the next checks are about, for their message. */
#define about(...) ((void)snprintf(expect_subject, sizeof expect_subject, __VA_ARGS__))

#define FAIL(...)                                                                    \
    do {                                                                             \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                              \
        fprintf(stderr, __VA_ARGS__);                                                \
        fprintf(stderr, "\n  about: %s\n  last error: %s\n", expect_subject, rl_last_error()); \
        exit(1);                                                                     \
    } while (0)

#define EXPECT(condition)                         \
    do {                                          \
        if (!(condition)) FAIL("%s", #condition); \
    } while (0)

#define EXPECT_EQ(expected, actual)                                             \
    do {                                                                        \
        int64_t want_ = (expected), got_ = (actual);                            \
        if (want_ != got_)                                                      \
            FAIL("%s is %" PRId64 ", expected %" PRId64, #actual, got_, want_); \
    } while (0)

#define EXPECT_TEXT(expected, actual)                                                    \
    do {                                                                                 \
        const char *want_ = (expected), *got_ = (actual);                                \
        if (!got_ || strcmp(want_, got_))                                                \
            FAIL("%s is \"%s\", expected \"%s\"", #actual, got_ ? got_ : "NULL", want_); \
    } while (0)

/* What every failure promises: its code, and one line that says why. */
#define EXPECT_ERROR(code, call)                                    \
    do {                                                            \
        EXPECT_EQ(code, call);                                      \
        EXPECT(*rl_last_error() && !strchr(rl_last_error(), '\n')); \
    } while (0)

#define EXPECT_ZERO(object) EXPECT(is_zero(&(object), sizeof(object)))

static inline int is_zero(const void *object, size_t size) {
    const unsigned char *bytes = object;
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return 0;
    return 1;
}

static inline rl_limiter *open_store(const char *store, const char *policy) {
    rl_limiter *limiter;
    EXPECT_EQ(RL_OK, rl_open(store, policy, NULL, &limiter));
    return limiter;
}

#endif
