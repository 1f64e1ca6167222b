/* The layout that programs built against this header rely on: it must never change. */
#include <ratelite.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type)
#define FIELD(type, field, index)                                                            \
    _Static_assert(offsetof(type, field) == 8 * (index), "offset of " #type "." #field);     \
    _Static_assert(sizeof((type *)0)->field == 8, "size of " #type "." #field)

SIZE(rl_result, 16 * 8);
FIELD(rl_result, allowed, 0);
FIELD(rl_result, limit, 1);
FIELD(rl_result, count, 2);
FIELD(rl_result, remaining, 3);
FIELD(rl_result, reset_at, 4);
FIELD(rl_result, retry_after, 5);
FIELD(rl_result, window_start_ms, 6);
FIELD(rl_result, window_ms, 7);
FIELD(rl_result, now_ms, 8);
FIELD(rl_result, rule, 9);
FIELD(rl_result, limit_index, 10);
FIELD(rl_result, insured, 11);
FIELD(rl_result, reserved[0], 12);
FIELD(rl_result, reserved[3], 15);

/* Later versions append. */
SIZE(rl_options, 19 * 8);
FIELD(rl_options, struct_size, 0);
FIELD(rl_options, busy_timeout_ms, 1);
FIELD(rl_options, durability, 2);
FIELD(rl_options, flush_interval_ms, 3);
FIELD(rl_options, auto_prune, 4);
FIELD(rl_options, keep_open, 5);
FIELD(rl_options, audit, 6);
FIELD(rl_options, recover_corrupt, 7);
FIELD(rl_options, audit_retention_s, 8);
FIELD(rl_options, file_mode, 9);
FIELD(rl_options, table_slots, 10);
FIELD(rl_options, key_secret, 11);
FIELD(rl_options, key_secret_len, 12);
FIELD(rl_options, connect_timeout_ms, 13);
FIELD(rl_options, command_timeout_ms, 14);
FIELD(rl_options, remember_denied, 15);
FIELD(rl_options, insurance, 16);
FIELD(rl_options, insurance_policy, 17);
FIELD(rl_options, insurance_percent, 18);

#define CODE(name, value) _Static_assert(name == (value), #name)

CODE(RL_OK, 0);
CODE(RL_EINVAL, -1);
CODE(RL_EPOLICY, -2);
CODE(RL_ENORULE, -3);
CODE(RL_EBUSY, -4);
CODE(RL_EFULL, -5);
CODE(RL_EIO, -6);
CODE(RL_EPERM, -7);
CODE(RL_ECORRUPT, -8);
CODE(RL_ENOTSTORE, -9);
CODE(RL_EFORK, -10);
CODE(RL_EMFILE, -11);
CODE(RL_ENOMEM, -12);
CODE(RL_EUNAVAILABLE, -13);
CODE(RL_EINTERNAL, -14);
CODE(RL_NOW, -1);
CODE(RL_MAX_UNITS, (1LL << 53) - 1);
CODE(RL_DEFAULT, 0);
CODE(RL_ON, 1);
CODE(RL_OFF, 2);
CODE(RL_DURABLE_DEFAULT, 0);
CODE(RL_DURABLE_HIT, 1);
CODE(RL_DURABLE_INTERVAL, 2);
CODE(RL_HEADERS_X, 0);
CODE(RL_HEADERS_GITHUB, 1);
CODE(RL_HEADERS_IETF, 2);

/* The signatures, which bindings declare again by hand. */
int main(void) {
    int (*open)(const char *, const char *, const rl_options *, rl_limiter **) = rl_open;
    int (*hit)(rl_limiter *, const char *, const char *, size_t, int64_t, int64_t, rl_result *) =
        rl_hit;
    int (*status)(rl_limiter *, const char *, const char *, size_t, int64_t, rl_result *) =
        rl_status;
    int (*prune)(rl_limiter *, int64_t, int64_t *) = rl_prune;
    void (*close)(rl_limiter *) = rl_close;
    int (*reset)(rl_limiter *, const char *, const char *, size_t, int64_t *) = rl_reset;
    int (*refund)(rl_limiter *, const char *, const char *, size_t, int64_t, int64_t,
                  rl_result *) = rl_refund;
    int (*route)(rl_limiter *, const char *, const char *, const char **) = rl_route;
    int (*headers)(rl_limiter *, const rl_result *, int, char *, size_t) = rl_headers;
    int (*problem)(rl_limiter *, const rl_result *, char *, size_t) = rl_problem;
    int (*ip_key)(const char *, int, char *, size_t) = rl_ip_key;
    int (*info)(rl_limiter *, char *, size_t) = rl_info;
    const char *(*rule_name)(rl_limiter *, int64_t) = rl_rule_name;
    const char *(*strerror)(int) = rl_strerror;
    const char *(*last_error)(void) = rl_last_error;
    const char *(*version)(void) = rl_version;
    int (*abi_version)(void) = rl_abi_version;
    int linked = open && hit && status && prune && close && reset && refund && route && headers &&
                 problem && ip_key && info && rule_name && strerror && last_error && version;
    return linked && abi_version() == RL_ABI_VERSION ? 0 : 1;
}
