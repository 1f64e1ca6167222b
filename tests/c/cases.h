/* The types of the tables that tables.rs writes from tests/cases. */
#ifndef CASES_H
#define CASES_H

#include <ratelite.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum op { HIT, STATUS, REFUND, ROUTE };

typedef struct step {
    enum op op;
    const char *rule, *key;
    size_t key_len;
    int64_t cost, now_ms;
    const char *method, *target;
    int code;
    rl_result result;  /* of HIT, STATUS and REFUND */
    const char *route; /* of ROUTE */
} step;

typedef struct scenario {
    const char *name, *policy;
    const step *steps;
    size_t count;
} scenario;

typedef struct policy_error {
    const char *text, *message;
} policy_error;

typedef struct header_case {
    const char *name, *policy;
    int style;
    rl_result result;
    const char *text;
} header_case;

typedef struct ip_case {
    const char *ip;
    int prefix, code;
    const char *key;
} ip_case;

#endif
