<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use PDO;
use PDOStatement;
use RateLite\Bench\Job;
use RateLite\Bench\Peer;

/**
 * What how-tos show: a table, an upsert, a SELECT. PDO and SQLite as they come: rollback journal,
 * synchronous=FULL, and a wait of 60 s for others.
 */
final class HowTo implements Peer
{
    private readonly PDO $db;

    private readonly PDOStatement $count;

    private readonly PDOStatement $read;

    private readonly int $window;

    private readonly int $limit;

    public static function install(Job $job): void
    {
        (new PDO("sqlite:$job->store"))->exec(<<<'SQL'
            CREATE TABLE IF NOT EXISTS rate_limits (
                client       TEXT,
                window_start TEXT,
                count        INTEGER,
                PRIMARY KEY (client, window_start)
            )
            SQL);
    }

    public function __construct(Job $job)
    {
        $this->window = $job->windowSeconds();
        $this->limit = $job->limit;
        $this->db = new PDO("sqlite:$job->store");
        // In the how-to's favour: prepared once for all hits of this connection.
        $this->count = $this->db->prepare(<<<'SQL'
            INSERT INTO rate_limits (client, window_start, count) VALUES (?, ?, 1)
            ON CONFLICT (client, window_start) DO UPDATE SET count = count + 1
            SQL);
        $this->read = $this->db->prepare('SELECT count FROM rate_limits WHERE client = ? AND window_start = ?');
    }

    public function hit(string $key): bool
    {
        $row = [$key, $this->windowStart()];
        $this->count->execute($row);
        $this->read->execute($row);
        $count = $this->read->fetchColumn();
        // Else its read transaction stays open, and nobody can commit.
        $this->read->closeCursor();

        return $count <= $this->limit;
    }

    public function prune(): int
    {
        $delete = $this->db->prepare('DELETE FROM rate_limits WHERE window_start < ?');
        $delete->execute([$this->windowStart()]);

        return $delete->rowCount();
    }

    public function version(): string
    {
        return "SQLite {$this->db->getAttribute(PDO::ATTR_SERVER_VERSION)}";
    }

    private function windowStart(): string
    {
        $now = time();

        return gmdate('Y-m-d\TH:i:s\Z', $now - $now % $this->window);
    }
}
