<?php

declare(strict_types=1);

namespace RateLite\Tests;

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\ServerRequest;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use RateLite\Durability;
use RateLite\HeaderStyle;
use RateLite\InvalidArgumentException;
use RateLite\Limiter;
use RateLite\OnError;
use RateLite\Options;
use RateLite\Psr15\ThrottleMiddleware;
use RateLite\Result;
use RateLite\Tests\Support\TestCase;
use Slim\Psr7\Factory\ResponseFactory;
use Slim\Psr7\Factory\ServerRequestFactory;

final class Psr15MiddlewareTest extends TestCase implements RequestHandlerInterface
{
    /** @var list<ServerRequestInterface> What came through to the handler. */
    private array $handled = [];

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $this->handled[] = $request;

        return (new Psr17Factory())->createResponse(204)->withHeader('X-RateLimit-Limit', 'the handler\'s own');
    }

    private function limiter(string $policy = 'api: 2/366d', OnError $onError = OnError::Raise): Limiter
    {
        // Hits at an interval do not wait for the file, so none of them fails.
        $options = new Options(busyTimeoutMs: -1, durability: Durability::Hit);

        return new Limiter($this->store(), $policy, $options, $onError, static fn () => null);
    }

    private static function request(string $method = 'GET', string $target = '/ping', string $peer = '192.0.2.1'): ServerRequestInterface
    {
        return new ServerRequest($method, $target, [], null, '1.1', ['REMOTE_ADDR' => $peer]);
    }

    /**
     * @return iterable<string, array{ResponseFactoryInterface, ServerRequestFactoryInterface}>
     */
    public static function implementations(): iterable
    {
        yield 'Nyholm' => [new Psr17Factory(), new Psr17Factory()];
        yield 'Slim' => [new ResponseFactory(), new ServerRequestFactory()];
    }

    /**
     * @dataProvider implementations
     */
    public function test_headers_are_on_every_response_and_a_refusal_is_problem_details(
        ResponseFactoryInterface $responses,
        ServerRequestFactoryInterface $requests,
    ): void {
        $middleware = new ThrottleMiddleware($this->limiter(), $responses);
        $request = $requests->createServerRequest('GET', 'http://x.example/ping', ['REMOTE_ADDR' => '192.0.2.1']);
        foreach (['1', '0'] as $remaining) {
            $response = $middleware->process($request, $this);
            self::assertSame(204, $response->getStatusCode());
            self::assertSame(['2', $remaining], [$response->getHeaderLine('X-RateLimit-Limit'), $response->getHeaderLine('X-RateLimit-Remaining')]);
            self::assertFalse($response->hasHeader('Retry-After'));
        }
        $refusal = $middleware->process($request, $this);
        self::assertSame(429, $refusal->getStatusCode());
        self::assertSame('application/problem+json', $refusal->getHeaderLine('Content-Type'));
        self::assertGreaterThan(0, (int) $refusal->getHeaderLine('Retry-After'));
        self::assertSame('0', $refusal->getHeaderLine('X-RateLimit-Remaining'));
        $problem = json_decode((string) $refusal->getBody(), true);
        self::assertSame(['rate-limit-exceeded', 429], [$problem['type'], $problem['status']]);
        self::assertCount(2, $this->handled);
    }

    public function test_the_client_is_the_peer_and_of_IPv6_its_network(): void
    {
        $middleware = new ThrottleMiddleware($this->limiter('api: 1/366d'), new Psr17Factory());
        $statuses = [];
        foreach (['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'] as $peer) {
            $request = self::request(peer: $peer)->withHeader('X-Forwarded-For', bin2hex(random_bytes(4)));
            $statuses[] = $middleware->process($request, $this)->getStatusCode();
        }
        self::assertSame([204, 429, 204, 429, 204], $statuses);
    }

    public function test_without_an_address_nobody_passes_uncharged(): void
    {
        $middleware = new ThrottleMiddleware($this->limiter(), new Psr17Factory());
        $this->expectException(InvalidArgumentException::class);
        $middleware->process(new ServerRequest('GET', '/'), $this);
    }

    public function test_a_key_closure_says_who_is_charged(): void
    {
        $key = static fn (ServerRequestInterface $request): string => $request->getHeaderLine('X-Api-Key');
        $middleware = new ThrottleMiddleware($this->limiter('api: 1/366d'), new Psr17Factory(), key: $key);
        self::assertSame(204, $middleware->process(self::request()->withHeader('X-Api-Key', 'a'), $this)->getStatusCode());
        self::assertSame(204, $middleware->process(self::request()->withHeader('X-Api-Key', 'b'), $this)->getStatusCode());
        self::assertSame(429, $middleware->process(self::request()->withHeader('X-Api-Key', 'a'), $this)->getStatusCode());
        $this->expectException(InvalidArgumentException::class);
        $middleware->process(self::request(), $this);
    }

    public function test_a_rule_per_route_leaves_the_other_budget_whole(): void
    {
        $limiter = $this->limiter('login: 1/366d; api: 5/366d');
        $login = new ThrottleMiddleware($limiter, new Psr17Factory(), rule: 'login');
        $api = new ThrottleMiddleware($limiter, new Psr17Factory(), rule: 'api');
        $login->process(self::request(), $this);
        self::assertSame(429, $login->process(self::request(), $this)->getStatusCode());
        self::assertSame('4', $api->process(self::request(), $this)->getHeaderLine('X-RateLimit-Remaining'));
    }

    public function test_a_policy_of_several_rules_needs_to_be_told_which(): void
    {
        $middleware = new ThrottleMiddleware($this->limiter('login: 1/366d; api: 5/366d'), new Psr17Factory());
        $this->expectException(InvalidArgumentException::class);
        $middleware->process(self::request(), $this);
    }

    public function test_by_target_the_policy_routes_and_what_fits_no_rule_passes_uncharged(): void
    {
        $limiter = $this->limiter('login: POST /login 1/366d; v1: /v1/* 2/366d');
        $middleware = new ThrottleMiddleware($limiter, new Psr17Factory(), rule: ThrottleMiddleware::byTarget($limiter));
        $limits = [];
        foreach ([['POST', '/login?next=%2Fhome'], ['GET', '/v1/users'], ['GET', '/login'], ['POST', '/login/'], ['POST', '/login']] as [$method, $target]) {
            $response = $middleware->process(self::request($method, $target), $this);
            $limits[] = [$response->getStatusCode(), $response->getHeaderLine('X-RateLimit-Limit')];
        }
        $own = 'the handler\'s own';
        self::assertSame([[204, '1'], [204, '2'], [204, $own], [204, $own], [429, '1']], $limits);
    }

    public function test_a_cost_may_depend_on_the_request(): void
    {
        $cost = static fn (ServerRequestInterface $request): int => $request->getMethod() === 'POST' ? 2 : 1;
        $middleware = new ThrottleMiddleware($this->limiter('api: 3/366d'), new Psr17Factory(), cost: $cost, style: HeaderStyle::GitHub);
        self::assertSame('1', $middleware->process(self::request('POST'), $this)->getHeaderLine('x-ratelimit-remaining'));
        self::assertSame('3', $middleware->process(self::request(), $this)->getHeaderLine('x-ratelimit-used'));
    }

    public function test_the_handler_finds_the_result(): void
    {
        (new ThrottleMiddleware($this->limiter(), new Psr17Factory()))->process(self::request(), $this);
        self::assertInstanceOf(Result::class, $this->handled[0]->getAttribute(Result::class));
        self::assertSame(1, $this->handled[0]->getAttribute(Result::class)->count);
    }

    public function test_a_store_that_fails_passes_or_refuses_with_503_as_was_chosen(): void
    {
        $allowing = new ThrottleMiddleware($this->limiter(onError: OnError::Allow), new Psr17Factory());
        $denying = new ThrottleMiddleware($this->limiter(onError: OnError::Deny), new Psr17Factory());
        $host = new \PDO("sqlite:{$this->store()}");
        $host->exec('BEGIN IMMEDIATE');
        self::assertSame(204, $allowing->process(self::request(), $this)->getStatusCode());
        $refusal = $denying->process(self::request(), $this);
        self::assertSame(503, $refusal->getStatusCode());
        self::assertSame('1', $refusal->getHeaderLine('Retry-After'));
        self::assertSame(503, json_decode((string) $refusal->getBody())->status);
        $host->exec('ROLLBACK');
    }
}
