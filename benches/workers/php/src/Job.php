<?php

declare(strict_types=1);

namespace RateLite\Bench;

final class Job
{
    private const PEERS = [
        'ratelite' => Peers\Ratelite::class,
        'ratelite-hit' => Peers\RateliteHit::class,
        'ratelite-redis' => Peers\RateliteRedis::class,
        'ratelite-redis-denied' => Peers\RateliteRedisDenied::class,
        'how-to' => Peers\HowTo::class,
        'symfony-apcu' => Peers\SymfonyApcu::class,
        'symfony-pdo' => Peers\SymfonyPdo::class,
        'apcu-inc' => Peers\ApcuInc::class,
    ];

    /**
     * @param class-string<Peer> $peer
     * @param list<string>       $keys
     */
    private function __construct(
        public readonly string $peer,
        public readonly string $store,
        public readonly array $keys,
        public readonly int $limit,
        public readonly int $windowMs,
        public readonly int $rules,
        public readonly int $processes,
        /** Of ratelite's table, null for its default. */
        public readonly ?int $tableSlots,
    ) {
    }

    public static function fromJson(string $json): self
    {
        $job = json_decode($json, true, flags: JSON_THROW_ON_ERROR);
        $peer = self::PEERS[$job['peer']] ?? throw new \DomainException("there is no peer \"{$job['peer']}\"");
        if (($job['threads'] ?? 1) !== 1) {
            throw new \DomainException('PHP has no threads: use "processes"');
        }
        $rules = $job['rules'] ?? 1;
        if ($rules !== 1 && !is_a($peer, Peers\Ratelite::class, true)) {
            throw new \DomainException("\"{$job['peer']}\" has one rule only");
        }

        return new self(
            $peer,
            $job['store'] ?? '',
            file($job['keys'], FILE_IGNORE_NEW_LINES) ?: throw new \DomainException("no keys in \"{$job['keys']}\""),
            $job['limit'],
            $job['window_ms'],
            $rules,
            $job['processes'] ?? 1,
            ($job['table_slots'] ?? 0) ?: null,
        );
    }

    /** For the peers that know nothing shorter. */
    public function windowSeconds(): int
    {
        return $this->windowMs % 1000 === 0
            ? intdiv($this->windowMs, 1000)
            : throw new \DomainException('this peer takes windows of whole seconds only');
    }
}
