/* A gateway that limits each client by class of route, with the time given instead of waited for.
 *
 *     cc gateway.c -lratelite -o gateway && ./gateway limits.db
 */
#include <inttypes.h>
#include <ratelite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIDNIGHT INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

static const char *const POLICY =
    "login: POST /login  3/10s\n"
    "api:   *            10/10s\n";

static const struct request {
    int64_t ms; /* after midnight */
    const char *ip, *method, *target;
} REQUESTS[] = {
    {8000, "192.0.2.7", "POST", "/login"},
    {9000, "192.0.2.7", "POST", "/login"},
    {9500, "192.0.2.7", "POST", "/login?next=/"},
    {9900, "192.0.2.7", "POST", "/login"},
    {10000, "192.0.2.7", "POST", "/login"}, /* the next window opens */
    {10400, "192.0.2.7", "POST", "/login"},
    {10900, "::ffff:192.0.2.7", "POST", "/login"}, /* the same client */
    {11000, "192.0.2.7", "POST", "/login"},
    {11000, "192.0.2.7", "GET", "/items"}, /* a budget of its own */
    {11000, "2001:db8:7::1", "POST", "/login"},
};
#define COUNT (sizeof REQUESTS / sizeof *REQUESTS)

static void die(void) {
    fprintf(stderr, "%s\n", rl_last_error());
    exit(1);
}

/* The key of a request's client, and its length. */
static size_t name_client(const struct request *request, char client[44]) {
    int length = rl_ip_key(request->ip, 0, client, 44);
    if (length < 0) die();
    return (size_t)length;
}

/* What a gateway does for each request: name the client, find the rule, hit. */
static rl_result pass(rl_limiter *limiter, const struct request *request) {
    char client[44];
    const char *rule;
    rl_result result;
    size_t length = name_client(request, client);
    if (rl_route(limiter, request->method, request->target, &rule) != RL_OK ||
        rl_hit(limiter, rule, client, length, 1, MIDNIGHT + request->ms, &result) != RL_OK)
        die();
    printf("%6.1f  %-18s  %-4s %-14s %-6s", (double)request->ms / 1000, client, request->method,
           request->target, rule);
    if (result.allowed)
        printf("200  %" PRId64 " left\n", result.remaining);
    else
        printf("429  retry after %" PRId64 " s\n", result.retry_after);
    return result;
}

/* It is always the same ten seconds here: without this, a second run would find them spent. */
static void forget_earlier_runs(rl_limiter *limiter) {
    for (size_t i = 0; i < COUNT; i++) {
        char client[44];
        int64_t removed;
        size_t length = name_client(&REQUESTS[i], client);
        if (rl_reset(limiter, NULL, client, length, &removed) != RL_OK) die();
    }
}

static void respond(rl_limiter *limiter, const rl_result *result) {
    char headers[512], body[512] = "";
    if (rl_headers(limiter, result, RL_HEADERS_X, headers, sizeof headers) < 0) die();
    if (!result->allowed && rl_problem(limiter, result, body, sizeof body) < 0) die();
    printf("\nHTTP/1.1 %s\r\n%s", result->allowed ? "200 OK" : "429 Too Many Requests", headers);
    if (*body) printf("Content-Type: application/problem+json\r\n\r\n%s\n", body);
}

int main(int argc, char **argv) {
    rl_limiter *limiter;
    if (rl_open(argc > 1 ? argv[1] : "limits.db", POLICY, NULL, &limiter) != RL_OK) die();
    forget_earlier_runs(limiter);

    rl_result first = {0}, refused = {0};
    printf("%s\n     s  client              request             rule  answer\n", POLICY);
    for (size_t i = 0; i < COUNT; i++) {
        rl_result result = pass(limiter, &REQUESTS[i]);
        if (i == 0) first = result;
        if (!result.allowed) refused = result;
    }
    puts("\nSix logins within three seconds, under three per ten: the price of fixed windows. What\n"
         "is left at the end of one and what the next one grants can be spent together.");
    respond(limiter, &first);
    respond(limiter, &refused);
    rl_close(limiter);
    return 0;
}
