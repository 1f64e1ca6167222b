<?php

declare(strict_types=1);

namespace RateLite;

/**
 * A request that Limiter::check() refused. The key is a property; the message, which may end up in
 * a log or before a user, does not hold it.
 */
final class RateLimitExceededException extends \DomainException
{
    /** Units a window. */
    public readonly int $limit;

    /** Length of the window in seconds, rounded up; `$result->windowMs` has it in milliseconds. */
    public readonly int $windowSeconds;

    /** Seconds until a retry can succeed, 1 or more; Result::NEVER (-1) if no wait helps. */
    public readonly int $retryAfter;

    /**
     * @param string      $message What was exceeded, without the key.
     * @param string      $key     Who was refused: the key as it was given to check(), any bytes.
     * @param string|null $rule    The rule as it was given to check(); null for the only rule of a policy.
     * @param Result      $result  The whole answer. Its failure, if any, is the previous exception.
     */
    public function __construct(
        string $message,
        #[\SensitiveParameter]
        public readonly string $key,
        public readonly ?string $rule,
        public readonly Result $result,
    ) {
        parent::__construct($message, 0, $result->failure);
        $this->limit = $result->limit;
        $this->windowSeconds = intdiv($result->windowMs + 999, 1000);
        $this->retryAfter = $result->retryAfter;
    }
}
