<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Bench\Job;
use Symfony\Component\Cache\Adapter\AbstractAdapter;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require_once 'Symfony/Component/RateLimiter/autoload.php';

/**
 * Symfony's RateLimiter on one of Symfony's caches. Without a lock, which is the factory's default.
 */
final class Symfony
{
    private readonly RateLimiterFactory $factory;

    public function __construct(Job $job, AbstractAdapter $cache)
    {
        $cache->setLogger(new CacheFailures());
        $this->factory = new RateLimiterFactory(
            [
                'id' => 'bench',
                'policy' => 'fixed_window',
                'limit' => $job->limit,
                'interval' => "{$job->windowSeconds()} seconds",
            ],
            new CacheStorage($cache),
        );
    }

    public function hit(string $key): bool
    {
        return $this->factory->create($key)->consume()->isAccepted();
    }

    /** Debian's package knows: the component has no constant for it. */
    public static function version(): string
    {
        $version = exec("dpkg-query -W -f '\${Version}' php-symfony-rate-limiter");

        return 'symfony/rate-limiter ' . strtok($version, '+');
    }
}
