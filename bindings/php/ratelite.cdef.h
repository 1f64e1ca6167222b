typedef struct rl_limiter rl_limiter;

typedef struct rl_options {
  uint64_t struct_size;
  int64_t busy_timeout_ms;
  int64_t durability;
  int64_t flush_interval_ms;
  int64_t auto_prune;
  int64_t keep_open;
  int64_t audit;
  int64_t recover_corrupt;
  int64_t audit_retention_s;
  int64_t file_mode;
  int64_t table_slots;
  const char *key_secret;
  uint64_t key_secret_len;
  int64_t connect_timeout_ms;
  int64_t command_timeout_ms;
  int64_t remember_denied;
  const char *insurance;
  const char *insurance_policy;
  int64_t insurance_percent;
} rl_options;

typedef struct rl_result {
  int64_t allowed;
  int64_t limit;
  int64_t count;
  int64_t remaining;
  int64_t reset_at;
  int64_t retry_after;
  int64_t window_start_ms;
  int64_t window_ms;
  int64_t now_ms;
  int64_t rule;
  int64_t limit_index;
  int64_t insured;
  int64_t reserved[4];
} rl_result;

int rl_open(const char *store,
            const char *policy,
            const struct rl_options *options,
            struct rl_limiter **limiter);

int rl_hit(struct rl_limiter *limiter,
           const char *rule,
           const char *key,
           size_t key_len,
           int64_t cost,
           int64_t now_ms,
           struct rl_result *result);

int rl_status(struct rl_limiter *limiter,
              const char *rule,
              const char *key,
              size_t key_len,
              int64_t now_ms,
              struct rl_result *result);

int rl_prune(struct rl_limiter *limiter, int64_t now_ms, int64_t *removed);

void rl_close(struct rl_limiter *limiter);

int rl_reset(struct rl_limiter *limiter,
             const char *rule,
             const char *key,
             size_t key_len,
             int64_t *removed);

int rl_refund(struct rl_limiter *limiter,
              const char *rule,
              const char *key,
              size_t key_len,
              int64_t cost,
              int64_t now_ms,
              struct rl_result *result);

int rl_route(struct rl_limiter *limiter,
             const char *method,
             const char *target,
             const char **rule);

int rl_headers(struct rl_limiter *limiter,
               const struct rl_result *result,
               int style,
               char *buf,
               size_t cap);

int rl_problem(struct rl_limiter *limiter,
               const struct rl_result *result,
               char *buf,
               size_t cap);

int rl_ip_key(const char *ip, int v6_prefix, char *buf, size_t cap);

int rl_info(struct rl_limiter *limiter, char *buf, size_t cap);

const char *rl_rule_name(struct rl_limiter *limiter, int64_t rule);

const char *rl_strerror(int code);

const char *rl_last_error(void);

const char *rl_version(void);

int rl_abi_version(void);
