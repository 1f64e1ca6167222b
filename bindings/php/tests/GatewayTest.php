<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Tests\Support\Http;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;

/**
 * The gateway lesson on the wire. Windows are long, so that none ends during a test.
 */
final class GatewayTest extends TestCase
{
    private Process $server;

    private string $url;

    protected function setUp(): void
    {
        parent::setUp();
        $port = Process::freePort();
        $this->server = new Process(
            [PHP_BINARY, '-d', 'ffi.enable=true', '-S', "127.0.0.1:$port", 'bindings/php/examples/gateway/index.php'],
            ['RATELITE_STORE' => $this->store(), 'GATEWAY_POLICY' => 'login: POST /login 3/366d; api: * 10/366d', 'GATEWAY_KEY_HEADER' => 'X-Client-Key'],
            "$this->directory/server.log",
            self::repository(),
        );
        Process::awaitPort($port, "$this->directory/server.log");
        $this->url = "http://127.0.0.1:$port";
    }

    protected function tearDown(): void
    {
        $this->server->stop();
        parent::tearDown();
    }

    private function send(string $method, string $target, string $client = ''): Http
    {
        return Http::request($method, $this->url . $target, $client === '' ? [] : ["X-Client-Key: $client"]);
    }

    public function test_three_failed_logins_leave_the_api_budget_whole_and_the_reverse(): void
    {
        $logins = array_map(fn (): int => $this->send('POST', '/login')->status, range(1, 4));
        self::assertSame([200, 200, 200, 429], $logins);
        $calls = array_map(fn (): int => $this->send('GET', '/orders')->status, range(1, 11));
        self::assertSame([...array_fill(0, 10, 200), 429], $calls);
        self::assertSame(200, $this->send('POST', '/login', 'somebody else')->status);
    }

    public function test_a_query_does_not_make_another_route_and_another_path_does(): void
    {
        $rule = fn (string $method, string $target): string => json_decode($this->send($method, $target)->body)->rule;
        self::assertSame('login', $rule('POST', '/login?next=%2Fhome'));
        foreach ([['POST', '/login/'], ['POST', '/loginx'], ['GET', '/login'], ['POST', '//login'], ['POST', '/Login']] as [$method, $target]) {
            self::assertSame('api', $rule($method, $target), "$method $target");
        }
    }

    public function test_every_counted_response_says_where_the_client_stands(): void
    {
        for ($remaining = 2; $remaining >= 0; $remaining--) {
            $answer = $this->send('POST', '/login');
            self::assertSame((string) $remaining, $answer->headers['x-ratelimit-remaining']);
            self::assertSame($remaining, json_decode($answer->body)->remaining);
            self::assertMatchesRegularExpression('/^\d{10}$/', $answer->headers['x-ratelimit-reset']);
            self::assertArrayNotHasKey('retry-after', $answer->headers);
        }
        $refusal = $this->send('POST', '/login');
        self::assertSame(['3', '0'], [$refusal->headers['x-ratelimit-limit'], $refusal->headers['x-ratelimit-remaining']]);
        self::assertGreaterThan(0, (int) $refusal->headers['retry-after']);
        $order = array_values(array_filter(array_keys($refusal->headers), static fn (string $name): bool => str_contains($name, 'rate') || $name === 'retry-after'));
        self::assertSame(['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'], $order);
    }

    public function test_on_both_sides_of_a_boundary_a_client_gets_two_windows(): void
    {
        // The lesson's burst, at given times: six within three seconds under three in ten.
        $limiter = new \RateLite\Limiter($this->store(), 'lesson: 3/10s');
        $end = 1767225650000;
        $allowed = 0;
        foreach ([-2000, -1500, -1000, -1, 0, 500, 999, 1000] as $offset) {
            $allowed += (int) $limiter->hit('alice', nowMs: $end + $offset)->allowed;
        }
        self::assertSame(6, $allowed);
    }
}
