<?php

declare(strict_types=1);

namespace RateLite\Symfony;

use RateLite\Limiter;
use Symfony\Component\RateLimiter\LimiterInterface;

/**
 * In place of Symfony's RateLimiterFactory: what asks it for a limiter by key goes on as before, and
 * the counting is exact without a lock.
 *
 *     $factory = new RateLimiterFactory(new Limiter($path, 'login: 5/min'));
 *     $factory->create($request->getClientIp())->consume()->ensureAccepted();
 */
final class RateLimiterFactory implements FactoryInterface
{
    // create() without a key is one budget for everybody. No client can be named this.
    private const EVERYBODY = "\0";

    /**
     * @param Limiter     $limiter Judges.
     * @param string|null $rule    Name of the rule; null for the only rule of a policy that has one.
     */
    public function __construct(private readonly Limiter $limiter, private readonly ?string $rule = null)
    {
    }

    /**
     * @param string|null $key Who is charged, any bytes; null is one budget for everybody. An empty key is refused
     *                         when it is used.
     */
    public function create(#[\SensitiveParameter] ?string $key = null): LimiterInterface
    {
        return new KeyLimiter($this->limiter, $this->rule, $key ?? self::EVERYBODY);
    }
}
