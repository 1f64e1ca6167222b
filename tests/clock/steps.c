/*
 * Hits of one key while the clock steps by anything from a second to ten years, there and back.
 * What was granted in each window is written down here, and compared.
 *
 *     steps STORE SEED STEPS prunes|keeps
 */
#include "clock.h"

#define UNITS 3
#define MOST_WINDOWS 200000

static const char *const rules[] = {"s", "ten", "min", "hour", "day", "month"};
static const long steps[] = {0, SECOND, -SECOND, HOUR, -HOUR, 10 * YEAR, -10 * YEAR, 350, -350, 7 * SECOND, MINUTE};

/* What one window of one rule has granted. */
static struct window {
    int rule;
    long start, end, granted;
    int is_second; /* since it was removed */
} windows[MOST_WINDOWS];
static int window_count;
static long latest; /* the clock's furthest: who prunes may have pruned by it */
static rl_limiter *limiter;
static long hit_count, second_budgets;

static struct window *window_of(int rule, const rl_result *result)
{
    for (int index = window_count; index-- > 0;)
        if (windows[index].rule == rule && windows[index].start == result->window_start_ms)
            return &windows[index];
    CHECK(window_count < MOST_WINDOWS);
    windows[window_count] = (struct window){rule, result->window_start_ms,
                                            result->window_start_ms + result->window_ms, 0, 0};
    return &windows[window_count++];
}

/*
 * At an interval a window may be removed before all that it granted was written. Should the clock
 * come back to it, it goes on from what was: it grants less than another whole budget.
 */
static int is_used_up(const struct window *window)
{
    int writes_late = getenv("RATELITE_TEST") == NULL;
    return window->granted >= UNITS || (window->is_second && writes_late);
}

static rl_result ask(int rule)
{
    rl_result result;
    CHECK(rl_hit(limiter, rules[rule], "k", 1, 1, RL_NOW, &result) == RL_OK);
    hit_count++;
    CHECK(result.now_ms == clock_ms);
    CHECK(result.window_start_ms <= clock_ms && clock_ms - result.window_start_ms < result.window_ms);
    CHECK(result.limit == UNITS && result.remaining >= 0 && result.remaining <= UNITS);
    return result;
}

/* Whoever waits as told gets in: nobody is denied for longer than one window. */
static void wait_as_told(int rule, const rl_result *denied)
{
    long seconds = (denied->window_ms + 999) / 1000;
    CHECK(denied->retry_after >= 1 && denied->retry_after <= seconds);
    long here = clock_ms;
    clock_ms += denied->retry_after * SECOND;
    rl_result result;
    CHECK(rl_status(limiter, rules[rule], "k", 1, RL_NOW, &result) == RL_OK);
    /* Unless that window was used up before, in a past that the clock has come back from. */
    CHECK(result.allowed || is_used_up(window_of(rule, &result)));
    CHECK(result.window_start_ms > denied->window_start_ms);
    clock_ms = here;
}

static void hit_all(int prunes)
{
    for (int rule = 0; rule < 6; rule++) {
        for (int time = 0; time < UNITS + 2; time++) {
            rl_result result = ask(rule);
            struct window *window = window_of(rule, &result);
            if (!result.allowed) {
                /* A window that was never granted anything denies nobody. */
                CHECK(is_used_up(window));
                wait_as_told(rule, &result);
                continue;
            }
            if (++window->granted > UNITS) {
                /* The window was removed, which nobody may have done before the next one's end. */
                long next_end = 2 * window->end - window->start;
                CHECK(prunes && latest >= next_end);
                second_budgets++;
                window->granted = 1;
                window->is_second = 1;
            }
        }
    }
}

int main(int count, char **words)
{
    CHECK(count == 5);
    alarm(120);
    srand(atoi(words[2]));
    int prunes = strcmp(words[4], "prunes") == 0;
    clock_ms = 1767225645123;
    rl_options options = {.struct_size = sizeof options, .auto_prune = prunes ? RL_ON : RL_OFF};
    /* A window that is past gives its slot to the next one. */
    options.table_slots = 16;
    CHECK(rl_open(words[1], "s: 3/s; ten: 3/10s; min: 3/min; hour: 3/h; day: 3/d; month: 3/month",
                  &options, &limiter) == RL_OK);
    for (int step = 0; step < atoi(words[3]); step++) {
        if (clock_ms > latest)
            latest = clock_ms;
        hit_all(prunes);
        long next = clock_ms + steps[rand() % (sizeof steps / sizeof *steps)];
        if (next >= 0 && next < 8000 * YEAR)
            clock_ms = next;
    }
    rl_close(limiter);
    printf("hits=%ld windows=%d second_budgets=%ld readings=%ld\n", hit_count, window_count,
           second_budgets, clock_readings);
    return 0;
}
