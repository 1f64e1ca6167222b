<?php

declare(strict_types=1);

namespace RateLite\Bench;

/**
 * The loop of the protocol. Its clock is hrtime(true), CLOCK_MONOTONIC.
 */
final class Loop
{
    private const HITS_BETWEEN_READINGS = 64;

    private const SLOW_HIT_NS = 10_000;

    /**
     * @param list<string> $keys
     * @param int          $next Index of the key that is hit first.
     */
    public function __construct(private readonly array $keys, private int $next)
    {
    }

    /** What one reading of the clock costs. */
    public static function clockNs(): float
    {
        $readings = 1_000_000;
        $start = hrtime(true);
        for ($reading = 0; $reading < $readings; $reading++) {
            hrtime(true);
        }

        return (hrtime(true) - $start) / $readings;
    }

    /**
     * @param \Closure(string): bool $hit
     * @param int                    $count Most hits.
     * @param float                  $seconds Longest time.
     *
     * @return array<string, mixed>
     */
    public function run(\Closure $hit, int $count, float $seconds, int $thinkUs, bool $each): array
    {
        $histogram = $each ? new Histogram() : null;
        $keyCount = count($this->keys);
        $hits = $allowed = $errors = 0;
        $error = null;
        $untilReading = $batch = 1;
        $longest = $seconds * 1e9;
        $start = $read = $now = hrtime(true);

        while ($hits < $count) {
            $key = $this->keys[$this->next];
            $this->next = ($this->next + 1) % $keyCount;
            $before = $histogram !== null ? hrtime(true) : 0;
            try {
                $allowed += (int) $hit($key);
            } catch (\Throwable $failure) {
                $errors++;
                $error ??= $failure->getMessage();
            }
            $hits++;

            if ($histogram !== null) {
                $now = hrtime(true);
                $histogram->add($now - $before);
            } elseif (--$untilReading === 0) {
                $now = hrtime(true);
                $batch = $untilReading = $now - $read > $batch * self::SLOW_HIT_NS ? 1 : self::HITS_BETWEEN_READINGS;
                $read = $now;
            }
            if ($now - $start >= $longest) {
                break;
            }
            if ($thinkUs > 0) {
                usleep($thinkUs);
            }
        }

        return [
            'hits' => $hits,
            'allowed' => $allowed,
            'errors' => $errors,
            'seconds' => (hrtime(true) - $start) / 1e9,
            'error' => $error,
            ...$histogram?->report() ?? [],
        ];
    }
}
