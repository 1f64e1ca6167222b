<?php

declare(strict_types=1);

namespace RateLite;

/**
 * The answer to a hit, a status or a refund. Of a rule with several limits it describes the one
 * that decided.
 */
final class Result
{
    /** `retryAfter` when no wait helps: the cost is above the limit. */
    public const NEVER = -1;

    /**
     * @param bool                   $allowed       Whether the request may go on.
     * @param int                    $limit         Units a window, 0 to 2^53 - 1.
     * @param int                    $count         Units attempted in the window, denied ones and this hit included.
     * @param int                    $remaining     Units left in the window after this call, 0 to limit.
     * @param int                    $resetAt       End of the window in epoch seconds, rounded up; then the next is open.
     * @param int                    $retryAfter    Seconds to wait: 0 if allowed, else 1 or more; NEVER (-1) if no wait
     *                                              helps.
     * @param int                    $windowStartMs Start of the window, milliseconds since the epoch.
     * @param int                    $windowMs      Length of the window in milliseconds.
     * @param int                    $nowMs         The time the decision was made for, milliseconds since the epoch.
     * @param int                    $rule          Index of the rule in the policy, from 0; Limiter::ruleName() names it.
     * @param int                    $limitIndex    Index of the deciding limit in the rule, from 0.
     * @param bool                   $insured       Whether the insurance answered, by its own limits, since the store's
     *                                              server was away; see Options.
     * @param RateLiteException|null $failure       Null, or why the store could not be asked: then OnError decided, and
     *                                              every number above but retryAfter (NEVER on a denial) is 0.
     */
    public function __construct(
        public readonly bool $allowed,
        public readonly int $limit,
        public readonly int $count,
        public readonly int $remaining,
        public readonly int $resetAt,
        public readonly int $retryAfter,
        public readonly int $windowStartMs,
        public readonly int $windowMs,
        public readonly int $nowMs,
        public readonly int $rule,
        public readonly int $limitIndex,
        public readonly bool $insured = false,
        public readonly ?RateLiteException $failure = null,
    ) {
    }

    /**
     * The answer in place of a store that failed.
     *
     * @internal
     */
    public static function withoutStore(bool $allowed, RateLiteException $failure): self
    {
        return new self($allowed, 0, 0, 0, 0, $allowed ? 0 : self::NEVER, 0, 0, 0, 0, 0, false, $failure);
    }
}
