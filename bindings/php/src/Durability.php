<?php

declare(strict_types=1);

namespace RateLite;

/**
 * When a hit is in the store's file. Either way it is counted exactly, at once, for all processes: in a
 * table that they share in memory.
 */
enum Durability: int
{
    /**
     * The library's choice, which is Interval. Where the filesystem cannot carry a table, and with
     * `Options::$audit`, it is Hit; `Limiter::info()` says which is in force.
     */
    case Default = 0;

    /** Before it is answered, which takes 10 to 20 µs. */
    case Hit = 1;

    /**
     * At most `Options::$flushIntervalMs` after it was answered, while anybody hits. A killed process
     * loses nothing, a power cut the last moments. `Limiter::prune(0)` writes out what is
     * counted, for a program that reads the file by other means.
     */
    case Interval = 2;
}
