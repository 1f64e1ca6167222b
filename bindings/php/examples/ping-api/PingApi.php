<?php

declare(strict_types=1);

use RateLite\Limiter;
use RateLite\Options;
use RateLite\RateLimitExceededException;

/**
 * A small API with three budgets on one store.
 *
 *     GET /ping            3 in 60 s a client, unless configured
 *     GET /search          100 a minute a client
 *     GET /export          5 a minute a client
 *     GET /status?key=…    how often a client asked for /ping; counts nothing
 *
 * The client is whom X-Client-Key names; those without one share the key 127.0.0.1.
 */
final class PingApi
{
    private const SHARED_KEY = '127.0.0.1';

    private readonly Limiter $ping;

    // Named, since unnamed policies on one store share a counter.
    private readonly Limiter $global;

    private readonly Limiter $strict;

    /** @var \Closure(): bool */
    private readonly \Closure $timeToPrune;

    /**
     * @param string                     $store         Path of the store, or a server's address.
     * @param int                        $limit         Requests to /ping that a client has in a window.
     * @param int                        $windowSeconds Length of that window.
     * @param (\Closure(): bool)|null    $timeToPrune   Whether this request tidies up; null: one in a hundred does.
     */
    public function __construct(string $store, int $limit = 3, int $windowSeconds = 60, ?\Closure $timeToPrune = null)
    {
        // With audit, each request that passes is a row of api_calls, in the transaction that counts it. A server has no rows.
        $options = new Options(audit: !str_contains($store, '://'));
        $this->ping = new Limiter($store, "ping: $limit/{$windowSeconds}s", $options);
        $this->global = new Limiter($store, 'global: 100/min', $options);
        $this->strict = new Limiter($store, 'strict: 5/min', $options);
        $this->timeToPrune = $timeToPrune ?? static fn (): bool => random_int(1, 100) === 1;
    }

    /**
     * @param array<string, mixed> $server $_SERVER.
     * @param int|null             $nowMs  Milliseconds since the epoch; null for the system clock.
     *
     * @return array{int, array<string, string>, string} Status, header fields, body.
     */
    public function answer(array $server, ?int $nowMs = null): array
    {
        $key = ($server['HTTP_X_CLIENT_KEY'] ?? '') ?: self::SHARED_KEY;
        if (($this->timeToPrune)()) {
            $this->ping->prune($nowMs);
        }

        return match ($server['REQUEST_METHOD'] . ' ' . parse_url($server['REQUEST_URI'], PHP_URL_PATH)) {
            'GET /ping' => $this->limited($this->ping, $key, $nowMs, ['pong' => true]),
            'GET /search' => $this->limited($this->global, $key, $nowMs, ['found' => []]),
            'GET /export' => $this->limited($this->strict, $key, $nowMs, ['rows' => []]),
            'GET /status' => $this->status($server['QUERY_STRING'] ?? '', $nowMs),
            default => self::json(404, ['type' => 'about:blank', 'title' => 'Not Found', 'status' => 404]),
        };
    }

    /**
     * @param array<string, mixed> $body
     *
     * @return array{int, array<string, string>, string}
     */
    private function limited(Limiter $limiter, string $key, ?int $nowMs, array $body): array
    {
        try {
            $result = $limiter->check($key, nowMs: $nowMs);
        } catch (RateLimitExceededException $refusal) {
            return [
                429,
                $limiter->headers($refusal->result) + ['Content-Type' => 'application/problem+json'],
                $limiter->problem($refusal->result),
            ];
        }

        return self::json(200, $body, $limiter->headers($result));
    }

    /**
     * @return array{int, array<string, string>, string}
     */
    private function status(string $query, ?int $nowMs): array
    {
        parse_str($query, $parameters);
        $key = is_string($parameters['key'] ?? null) && $parameters['key'] !== '' ? $parameters['key'] : self::SHARED_KEY;
        $result = $this->ping->status($key, nowMs: $nowMs);

        return self::json(200, [
            'count' => $result->count,
            'limit' => $result->limit,
            'remaining' => $result->remaining,
            'reset_at' => $result->resetAt,
        ]);
    }

    /**
     * @param array<string, mixed>  $body
     * @param array<string, string> $headers
     *
     * @return array{int, array<string, string>, string}
     */
    private static function json(int $status, array $body, array $headers = []): array
    {
        $type = $status < 400 ? 'application/json' : 'application/problem+json';

        return [$status, $headers + ['Content-Type' => $type], json_encode($body, JSON_THROW_ON_ERROR)];
    }
}
