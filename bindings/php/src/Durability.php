<?php

declare(strict_types=1);

namespace RateLite;

/**
 * When a hit is in the store's file.
 */
enum Durability: int
{
    /** As the version of the library prefers; `Limiter::info()` says which is in force. */
    case Default = 0;

    /** Before it is answered. */
    case Hit = 1;

    /** At most `Options::$flushIntervalMs` after it was answered. */
    case Interval = 2;
}
