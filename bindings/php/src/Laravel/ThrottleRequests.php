<?php

declare(strict_types=1);

namespace RateLite\Laravel;

use Illuminate\Http\Request;
use RateLite\HeaderStyle;
use RateLite\IpKey;
use RateLite\Limiter;
use RateLite\Result;
use Symfony\Component\HttpFoundation\Response;

/**
 * In place of Laravel's `throttle`: charges a request to a rule of the limiter's policy, in one
 * atomic step.
 *
 *     $this->app->singleton(Limiter::class, fn () => new Limiter($path, 'login: 3/10s; api: 60/min'));
 *     Route::middleware(ThrottleRequests::class . ':login')->post('/login', …);
 *
 * Who is charged: what the $key closure says; else the address that Laravel takes for the client's,
 * `$request->ip()`, which trusts the proxies that you told it to trust. The handler finds the Result
 * as the request's attribute `RateLite\Result`. A denied request gets 429 with problem details, or 503
 * if the store failed and the limiter's OnError is Deny.
 */
final class ThrottleRequests
{
    /** @var \Closure(Request): string */
    private readonly \Closure $key;

    /**
     * @param Limiter                             $limiter Judges the requests.
     * @param (\Closure(Request): string)|null    $key     Who is charged, any bytes, not empty.
     * @param HeaderStyle                         $style   Which header fields are sent.
     */
    public function __construct(
        private readonly Limiter $limiter,
        ?\Closure $key = null,
        private readonly HeaderStyle $style = HeaderStyle::X,
    ) {
        $this->key = $key ?? static fn (Request $request): string => IpKey::of((string) $request->ip());
    }

    /**
     * @param Request                     $request The request.
     * @param \Closure(Request): Response $next    What comes after.
     * @param string|null                 $rule    Name of the rule; null for the only rule of a policy that has one.
     * @param string|int                  $cost    Units the request costs: digits, as Laravel hands on parameters.
     */
    public function handle(Request $request, \Closure $next, ?string $rule = null, string|int $cost = 1): Response
    {
        $units = filter_var($cost, FILTER_VALIDATE_INT);
        if ($units === false) {
            throw new \InvalidArgumentException("the cost of a throttled route is a whole number, not \"$cost\"");
        }
        $result = $this->limiter->hit(($this->key)($request), $rule, $units);
        if ($result->allowed) {
            $request->attributes->set(Result::class, $result);
            $response = $next($request);
        } else {
            $type = ['Content-Type' => 'application/problem+json'];
            $response = $result->failure === null
                ? new Response($this->limiter->problem($result), 429, $type)
                : new Response($this->limiter->problem($result), 503, $type + ['Retry-After' => '1']);
        }
        foreach ($this->limiter->headers($result, $this->style) as $name => $value) {
            $response->headers->set($name, $value);
        }

        return $response;
    }
}
