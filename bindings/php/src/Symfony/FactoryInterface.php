<?php

declare(strict_types=1);

namespace RateLite\Symfony;

use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

// Symfony has an interface of its own for this since 7.3; with it, type hints on that one are met.
if (interface_exists(RateLimiterFactoryInterface::class)) {
    /** @internal */
    interface FactoryInterface extends RateLimiterFactoryInterface
    {
    }
} else {
    /** @internal */
    interface FactoryInterface
    {
        public function create(?string $key = null): LimiterInterface;
    }
}
