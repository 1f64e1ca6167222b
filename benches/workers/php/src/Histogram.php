<?php

declare(strict_types=1);

namespace RateLite\Bench;

/**
 * Counts of times in the buckets of the protocol: 64 for each power of two.
 */
final class Histogram
{
    /** @var array<int, int> Count by bucket. */
    private array $counts = [];

    private int $max = 0;

    public function add(int $ns): void
    {
        if ($ns < 64) {
            $bucket = $ns;
        } else {
            $exponent = (int) log($ns, 2);
            $bucket = 64 * ($exponent - 5) + ($ns >> ($exponent - 6)) - 64;
        }
        $this->counts[$bucket] = ($this->counts[$bucket] ?? 0) + 1;
        $this->max = max($this->max, $ns);
    }

    /**
     * @return array{latency: list<array{int, int}>, max_ns: int}
     */
    public function report(): array
    {
        return ['latency' => self::pairs($this->counts), 'max_ns' => $this->max];
    }

    /**
     * @param list<list<array{int, int}>> $latencies
     *
     * @return list<array{int, int}>
     */
    public static function sum(array $latencies): array
    {
        $counts = [];
        foreach (array_merge(...$latencies) as [$bucket, $count]) {
            $counts[$bucket] = ($counts[$bucket] ?? 0) + $count;
        }

        return self::pairs($counts);
    }

    /**
     * @param array<int, int> $counts
     *
     * @return list<array{int, int}>
     */
    private static function pairs(array $counts): array
    {
        ksort($counts);

        return array_map(null, array_keys($counts), array_values($counts));
    }
}
