<?php

declare(strict_types=1);

namespace RateLite\Bench;

/**
 * The loop of the protocol. Its clock is hrtime(true), CLOCK_MONOTONIC.
 */
final class Loop
{
    private const HITS_BETWEEN_READINGS = 64;

    private const SHORT_HIT_NS = 10_000;

    private const IDLE_SECONDS = 0.1;

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

    /** What the loop itself costs a hit. */
    public function idleNs(int $every): float
    {
        $nothing = static fn (string $key): bool => true;
        $idle = $this->run($nothing, ['seconds' => self::IDLE_SECONDS, 'every' => $every]);

        return $idle['seconds'] * 1e9 / $idle['hits'];
    }

    /**
     * @param \Closure(string): bool $hit
     * @param array<string, mixed>   $command Its members seconds, count, think_us, every and at_ns.
     *
     * @return array<string, mixed>
     */
    public function run(\Closure $hit, array $command): array
    {
        $every = $command['every'] ?? 0;
        $thinkUs = $command['think_us'] ?? 0;
        $left = $command['count'] ?? PHP_INT_MAX;
        $histogram = $every > 0 ? new Histogram() : null;
        $keys = $this->keys;
        $keyCount = count($keys);
        $next = $this->next;
        $hits = $allowed = $errors = 0;
        $error = null;
        $batch = max(1, $every);
        $start = $now = self::begin($command['at_ns'] ?? 0);
        $end = $start + ($command['seconds'] ?? INF) * 1e9;

        while ($left > 0 && $now < $end) {
            $size = min($batch, $left);
            $timed = $every > 0 ? $size : 0;
            $before = $now;
            for ($number = 1; $number <= $size; $number++) {
                $key = $keys[$next];
                if (++$next === $keyCount) {
                    $next = 0;
                }
                if ($number === $timed) {
                    $before = hrtime(true);
                }
                try {
                    $allowed += (int) $hit($key);
                } catch (\Throwable $failure) {
                    $errors++;
                    $error ??= $failure->getMessage();
                }
                if ($thinkUs > 0 && $number < $size) {
                    usleep($thinkUs);
                }
            }
            $now = hrtime(true);
            $hits += $size;
            $left -= $size;
            if ($histogram !== null) {
                $histogram->add($now - $before);
            } else {
                $batch = $now - $before < self::SHORT_HIT_NS * $size ? self::HITS_BETWEEN_READINGS : 1;
            }
            if ($thinkUs > 0 && $now < $end) {
                usleep($thinkUs);
            }
        }
        $this->next = $next;

        return [
            'hits' => $hits,
            'allowed' => $allowed,
            'errors' => $errors,
            'seconds' => (hrtime(true) - $start) / 1e9,
            'error' => $error,
            ...$histogram?->report() ?? [],
        ];
    }

    /** Waits for that moment; 0: none. Whoever gets a processor late has begun all the same. */
    private static function begin(int $atNs): int
    {
        while (($left = $atNs - hrtime(true)) > 0) {
            usleep(intdiv($left, 1000) + 1);
        }

        return $atNs > 0 ? $atNs : hrtime(true);
    }
}
