<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use PDO;
use RateLite\Bench\Job;
use RateLite\Bench\Peer;
use Symfony\Component\Cache\Adapter\PdoAdapter;

require_once 'Symfony/Component/Cache/autoload.php';

/**
 * PDO and SQLite as they come: rollback journal, synchronous=FULL, and a wait of 60 s for others.
 */
final class SymfonyPdo implements Peer
{
    private readonly Symfony $limiter;

    private readonly PdoAdapter $cache;

    public static function install(Job $job): void
    {
        // PdoAdapter::createTable()'s, which fails if another worker was faster.
        (new PDO("sqlite:$job->store"))->exec(<<<'SQL'
            CREATE TABLE IF NOT EXISTS cache_items (
                item_id       TEXT NOT NULL PRIMARY KEY,
                item_data     BLOB NOT NULL,
                item_lifetime INTEGER,
                item_time     INTEGER NOT NULL
            )
            SQL);
    }

    public function __construct(private readonly Job $job)
    {
        $this->cache = new PdoAdapter("sqlite:$job->store");
        $this->limiter = new Symfony($job, $this->cache);
    }

    public function hit(string $key): bool
    {
        return $this->limiter->hit($key);
    }

    public function prune(): int
    {
        $before = $this->rows();
        $this->cache->prune();

        return $before - $this->rows();
    }

    public function version(): string
    {
        return Symfony::version() . ", SQLite {$this->db()->getAttribute(PDO::ATTR_SERVER_VERSION)}";
    }

    private function rows(): int
    {
        return (int) $this->db()->query('SELECT count(*) FROM cache_items')->fetchColumn();
    }

    private function db(): PDO
    {
        return new PDO("sqlite:{$this->job->store}");
    }
}
