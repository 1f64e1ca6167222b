<?php

declare(strict_types=1);

namespace RateLite\Tests;

use Illuminate\Container\Container;
use Illuminate\Events\Dispatcher;
use Illuminate\Http\Request;
use Illuminate\Routing\Router;
use RateLite\Durability;
use RateLite\Laravel\ThrottleRequests;
use RateLite\Limiter;
use RateLite\OnError;
use RateLite\Options;
use RateLite\Result;
use RateLite\Tests\Support\TestCase;
use Symfony\Component\HttpFoundation\Response;

/**
 * On Laravel's own container, router and requests.
 */
final class LaravelMiddlewareTest extends TestCase
{
    private Router $router;

    private Container $container;

    protected function setUp(): void
    {
        parent::setUp();
        $this->container = new Container();
        $this->router = new Router(new Dispatcher($this->container), $this->container);
        $this->router->get('/ping', static fn (Request $request): string => (string) $request->attributes->get(Result::class)->count)
            ->middleware(ThrottleRequests::class . ':api');
        $this->router->post('/login', static fn (): string => 'in')->middleware(ThrottleRequests::class . ':login');
        $this->router->get('/export', static fn (): string => 'rows')->middleware(ThrottleRequests::class . ':api,2');
        $this->router->get('/wrong', static fn (): string => '')->middleware(ThrottleRequests::class . ':api,two');
        $this->bind(OnError::Raise);
    }

    private function bind(OnError $onError): void
    {
        $this->container->instance(Limiter::class, new Limiter(
            $this->store(),
            'login: 1/366d; api: 3/366d',
            // Hits at an interval do not wait for the file, so none of them fails.
            new Options(busyTimeoutMs: -1, durability: Durability::Hit),
            $onError,
            static fn () => null,
        ));
    }

    private function send(string $method, string $path, string $peer = '192.0.2.1'): Response
    {
        $request = Request::create($path, $method, [], [], [], ['REMOTE_ADDR' => $peer]);
        $this->container->instance(Request::class, $request);

        return $this->router->dispatch($request);
    }

    public function test_the_container_makes_it_and_headers_are_on_every_response(): void
    {
        foreach (['2', '1', '0'] as $remaining) {
            $response = $this->send('GET', '/ping');
            self::assertSame(200, $response->getStatusCode());
            self::assertSame(['3', $remaining], [$response->headers->get('X-RateLimit-Limit'), $response->headers->get('X-RateLimit-Remaining')]);
        }
        self::assertSame('3', $response->getContent(), 'the handler finds the result');
        $refusal = $this->send('GET', '/ping');
        self::assertSame(429, $refusal->getStatusCode());
        self::assertSame('application/problem+json', $refusal->headers->get('Content-Type'));
        self::assertGreaterThan(0, (int) $refusal->headers->get('Retry-After'));
        self::assertSame('rate-limit-exceeded', json_decode((string) $refusal->getContent())->type);
    }

    public function test_a_rule_per_route_and_a_budget_per_client(): void
    {
        self::assertSame(200, $this->send('POST', '/login')->getStatusCode());
        self::assertSame(429, $this->send('POST', '/login')->getStatusCode());
        self::assertSame(200, $this->send('GET', '/ping')->getStatusCode());
        self::assertSame(200, $this->send('POST', '/login', '192.0.2.2')->getStatusCode());
        self::assertSame(200, $this->send('POST', '/login', '2001:db8::1')->getStatusCode());
        self::assertSame(429, $this->send('POST', '/login', '2001:db8::2')->getStatusCode());
    }

    public function test_a_route_may_cost_more_and_a_cost_that_is_no_number_is_refused(): void
    {
        self::assertSame('1', $this->send('GET', '/export')->headers->get('X-RateLimit-Remaining'));
        self::assertSame(429, $this->send('GET', '/export')->getStatusCode());
        self::assertSame(200, $this->send('GET', '/ping')->getStatusCode());
        $this->expectException(\InvalidArgumentException::class);
        $this->send('GET', '/wrong');
    }

    public function test_a_key_closure_says_who_is_charged(): void
    {
        $this->container->bind(ThrottleRequests::class, static fn (Container $container): ThrottleRequests => new ThrottleRequests(
            $container->make(Limiter::class),
            static fn (Request $request): string => 'user ' . $request->query('user'),
        ));
        self::assertSame(200, $this->send('POST', '/login?user=1')->getStatusCode());
        self::assertSame(200, $this->send('POST', '/login?user=2')->getStatusCode());
        self::assertSame(429, $this->send('POST', '/login?user=1', '192.0.2.9')->getStatusCode());
    }

    public function test_a_store_that_fails_passes_or_refuses_with_503_as_was_chosen(): void
    {
        $this->bind(OnError::Deny);
        $host = new \PDO("sqlite:{$this->store()}");
        $host->exec('BEGIN IMMEDIATE');
        $refusal = $this->send('POST', '/login');
        self::assertSame([503, '1'], [$refusal->getStatusCode(), $refusal->headers->get('Retry-After')]);
        $host->exec('ROLLBACK');
        $this->bind(OnError::Allow);
        $host->exec('BEGIN IMMEDIATE');
        self::assertSame(200, $this->send('POST', '/login')->getStatusCode());
        $host->exec('ROLLBACK');
    }
}
