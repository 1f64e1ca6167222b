<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Bench\Job;
use RateLite\Bench\Peer;

/**
 * The least that counts in memory which processes share.
 */
final class ApcuInc implements Peer
{
    private readonly int $window;

    private readonly int $limit;

    public static function install(Job $job): void
    {
    }

    public function __construct(Job $job)
    {
        $this->window = $job->windowSeconds();
        $this->limit = $job->limit;
    }

    public function hit(string $key): bool
    {
        $count = apcu_inc($key . ':' . intdiv(time(), $this->window), 1, ttl: $this->window);

        return $count !== false ? $count <= $this->limit : throw new \RuntimeException('APCu did not count');
    }

    /** APCu drops what has expired by itself. */
    public function prune(): int
    {
        return 0;
    }

    public function version(): string
    {
        return 'APCu ' . phpversion('apcu');
    }
}
