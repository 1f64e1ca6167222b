<?php

declare(strict_types=1);

namespace RateLite\Internal;

use FFI\CData;
use RateLite\Result;

/**
 * Room for one `rl_result`.
 *
 * @internal
 */
final class Room
{
    /** Kept, since `$array[0]` makes an object each time, and reading through a pointer takes longer. */
    private readonly CData $struct;

    /**
     * @param CData $array `rl_result[1]`, since an array decays to the pointer that C wants.
     */
    public function __construct(public readonly CData $array)
    {
        $this->struct = $array[0];
    }

    /** What C wrote. */
    public function result(): Result
    {
        $c = $this->struct;

        return new Result(
            $c->allowed === 1,
            $c->limit,
            $c->count,
            $c->remaining,
            $c->reset_at,
            $c->retry_after,
            $c->window_start_ms,
            $c->window_ms,
            $c->now_ms,
            $c->rule,
            $c->limit_index,
            $c->insured === 1,
        );
    }

    /** What result() makes again of it. */
    public function write(Result $result): void
    {
        $c = $this->struct;
        $c->allowed = (int) $result->allowed;
        $c->limit = $result->limit;
        $c->count = $result->count;
        $c->remaining = $result->remaining;
        $c->reset_at = $result->resetAt;
        $c->retry_after = $result->retryAfter;
        $c->window_start_ms = $result->windowStartMs;
        $c->window_ms = $result->windowMs;
        $c->now_ms = $result->nowMs;
        $c->rule = $result->rule;
        $c->limit_index = $result->limitIndex;
        $c->insured = (int) $result->insured;
    }
}
