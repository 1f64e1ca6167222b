<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Bench\Job;
use RateLite\Bench\Peer;
use Symfony\Component\Cache\Adapter\ApcuAdapter;

require_once 'Symfony/Component/Cache/autoload.php';

final class SymfonyApcu implements Peer
{
    private readonly Symfony $limiter;

    public static function install(Job $job): void
    {
    }

    public function __construct(Job $job)
    {
        $this->limiter = new Symfony($job, new ApcuAdapter());
    }

    public function hit(string $key): bool
    {
        return $this->limiter->hit($key);
    }

    /** APCu drops what has expired by itself. */
    public function prune(): int
    {
        return 0;
    }

    public function version(): string
    {
        return Symfony::version() . ', APCu ' . phpversion('apcu');
    }
}
