<?php

declare(strict_types=1);

namespace RateLite\Bench;

/**
 * A rate limiter under test. Constructing it is what a request does first; dropping it closes it.
 */
interface Peer
{
    /** What is done once and not by each request, such as making tables. */
    public static function install(Job $job): void;

    public function __construct(Job $job);

    /** Whether it was allowed; a failure is an exception. */
    public function hit(string $key): bool;

    /** How many expired rows went. */
    public function prune(): int;

    /** What it is and on what it counts, without PHP. */
    public function version(): string;
}
