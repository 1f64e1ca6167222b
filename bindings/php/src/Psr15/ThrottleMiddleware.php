<?php

declare(strict_types=1);

namespace RateLite\Psr15;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use RateLite\HeaderStyle;
use RateLite\IpKey;
use RateLite\Limiter;
use RateLite\Result;

/**
 * Charges each request once, tells the client in headers where it stands, and answers a denied one
 * itself: 429 with problem details. The handler finds the Result as the request's attribute
 * `RateLite\Result`.
 *
 *     new ThrottleMiddleware($limiter, $psr17, rule: 'login')                  on the route of the login
 *     new ThrottleMiddleware($limiter, $psr17, rule: ThrottleMiddleware::byTarget($limiter))   a gateway
 *
 * Two of these in one pipeline charge a request twice, which is right if their rules differ.
 *
 * If the store fails, the limiter's OnError decides; a request refused for that reason gets 503,
 * since the client did nothing wrong.
 */
final class ThrottleMiddleware implements MiddlewareInterface
{
    /** @var \Closure(ServerRequestInterface): string */
    private readonly \Closure $key;

    /**
     * @param Limiter                                                   $limiter   Judges the requests.
     * @param ResponseFactoryInterface                                  $responses Makes the 429.
     * @param string|(\Closure(ServerRequestInterface): ?string)|null $rule      The rule to charge: its name, or a
     *                                                                             closure that gives it; a request for
     *                                                                             which that gives null passes without
     *                                                                             limit or headers. Null here means the
     *                                                                             only rule of a policy that has one.
     * @param (\Closure(ServerRequestInterface): string)|null           $key       Who is charged, any bytes, not empty.
     *                                                                             Null: the peer, REMOTE_ADDR through
     *                                                                             IpKey. Behind a proxy that is the
     *                                                                             proxy: then let it set REMOTE_ADDR
     *                                                                             right, or key by the user.
     * @param int|(\Closure(ServerRequestInterface): int)               $cost      Units a request costs.
     * @param HeaderStyle                                               $style     Which header fields are sent.
     */
    public function __construct(
        private readonly Limiter $limiter,
        private readonly ResponseFactoryInterface $responses,
        private readonly string|\Closure|null $rule = null,
        ?\Closure $key = null,
        private readonly int|\Closure $cost = 1,
        private readonly HeaderStyle $style = HeaderStyle::X,
    ) {
        $this->key = $key ?? static fn (ServerRequestInterface $request): string
            => IpKey::of((string) ($request->getServerParams()['REMOTE_ADDR'] ?? ''));
    }

    /**
     * A rule closure that goes by the policy's own routes, for a gateway. Behind a framework's router
     * name the rule of each route instead: see Limiter::route().
     *
     * @return \Closure(ServerRequestInterface): ?string
     */
    public static function byTarget(Limiter $limiter): \Closure
    {
        return static fn (ServerRequestInterface $request): ?string
            => $limiter->route($request->getMethod(), $request->getRequestTarget());
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $rule = $this->rule;
        if ($rule instanceof \Closure && ($rule = $rule($request)) === null) {
            return $handler->handle($request);
        }
        $cost = $this->cost instanceof \Closure ? ($this->cost)($request) : $this->cost;
        $result = $this->limiter->hit(($this->key)($request), $rule, $cost);
        $response = $result->allowed
            ? $handler->handle($request->withAttribute(Result::class, $result))
            : $this->refusal($result);
        foreach ($this->limiter->headers($result, $this->style) as $name => $value) {
            $response = $response->withHeader($name, $value);
        }

        return $response;
    }

    private function refusal(Result $result): ResponseInterface
    {
        $response = $result->failure === null
            ? $this->responses->createResponse(429)
            : $this->responses->createResponse(503)->withHeader('Retry-After', '1');
        $response = $response->withHeader('Content-Type', 'application/problem+json');
        $response->getBody()->write($this->limiter->problem($result));

        return $response;
    }
}
