<?php

declare(strict_types=1);

namespace RateLite\Symfony;

use RateLite\Limiter;
use RateLite\Result;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\Reservation;

/**
 * One key of one rule, as Symfony's components see it.
 *
 * @internal RateLimiterFactory makes it.
 */
final class KeyLimiter implements LimiterInterface
{
    public function __construct(
        private readonly Limiter $limiter,
        private readonly ?string $rule,
        #[\SensitiveParameter]
        private readonly string $key,
    ) {
    }

    /**
     * @return never
     *
     * @throws ReserveNotSupportedException Always: windows are not lent ahead.
     */
    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        throw new ReserveNotSupportedException(self::class);
    }

    /**
     * @param int $tokens Units to spend, 0 to 2^53 - 1; 0 looks and counts nothing.
     *
     * @return RateLimit On a denial, getRetryAfter() is the end of the window.
     *
     * @throws \InvalidArgumentException As Symfony's own limiters: if so many tokens can never be had at once.
     */
    public function consume(int $tokens = 1): RateLimit
    {
        $result = $this->limiter->hit($this->key, $this->rule, $tokens);
        if ($result->limit > 0 && $tokens > $result->limit) {
            throw new \InvalidArgumentException(
                "Cannot consume more tokens ($tokens) than the size of the rate limiter ($result->limit).",
            );
        }

        return new RateLimit($result->remaining, self::retryAfter($result), $result->allowed, $result->limit);
    }

    public function reset(): void
    {
        $this->limiter->reset($this->key, $this->rule);
    }

    private static function retryAfter(Result $result): \DateTimeImmutable
    {
        $ms = $result->allowed ? $result->nowMs : $result->windowStartMs + $result->windowMs;

        return \DateTimeImmutable::createFromFormat('U.v', sprintf('%d.%03d', intdiv($ms, 1000), $ms % 1000))
            ?: throw new \LogicException("no time: $ms ms");
    }
}
