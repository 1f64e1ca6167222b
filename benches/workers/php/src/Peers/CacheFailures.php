<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use Psr\Log\AbstractLogger;

/**
 * Makes a failure of Symfony's cache an exception. The cache only logs it and goes on, so that a
 * counter which could not be read or written would pass as an allowance.
 */
final class CacheFailures extends AbstractLogger
{
    /**
     * @param mixed                $level
     * @param string|\Stringable   $message
     * @param array<string, mixed> $context
     */
    public function log($level, $message, array $context = []): void
    {
        $failure = $context['exception'] ?? null;
        throw new \RuntimeException($failure?->getMessage() ?? (string) $message, 0, $failure);
    }
}
