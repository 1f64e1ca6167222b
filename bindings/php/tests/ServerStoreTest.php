<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\InvalidArgumentException;
use RateLite\Limiter;
use RateLite\OnError;
use RateLite\Options;
use RateLite\RateLiteException;
use RateLite\Tests\Support\TestCase;

/**
 * A Redis as the store: the options of a server, and what its absence looks like.
 */
final class ServerStoreTest extends TestCase
{
    private const POLICY = 'api: 10/366d';

    private int $port;

    /** @var resource|null */
    private $server = null;

    protected function setUp(): void
    {
        parent::setUp();
        $free = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) substr(strrchr(stream_socket_get_name($free, false), ':'), 1);
        fclose($free);
        $this->start();
    }

    protected function tearDown(): void
    {
        $this->stop();
        parent::tearDown();
    }

    private function start(): void
    {
        $command = ['redis-server', '--port', (string) $this->port, '--dir', $this->directory, '--save', '', '--bind', '127.0.0.1'];
        $this->server = proc_open($command, [1 => ['file', '/dev/null', 'w']], $pipes);
        for ($end = microtime(true) + 10; microtime(true) < $end; usleep(10_000)) {
            $socket = @fsockopen('127.0.0.1', $this->port);
            if ($socket !== false) {
                fclose($socket);

                return;
            }
        }
        self::fail('redis-server does not answer: please install it');
    }

    private function stop(): void
    {
        if ($this->server !== null) {
            proc_terminate($this->server, 9);
            proc_close($this->server);
            $this->server = null;
        }
    }

    private function url(): string
    {
        return "redis://127.0.0.1:$this->port";
    }

    public function test_limiters_share_a_server(): void
    {
        $one = new Limiter($this->url(), self::POLICY, new Options(connectTimeoutMs: 5000, commandTimeoutMs: 5000));
        $other = new Limiter($this->url(), self::POLICY);
        self::assertSame(3, $one->hit('alice', cost: 3)->count);
        self::assertSame(7, $other->status('alice')->remaining);
        self::assertSame(4, $other->hit('alice')->count);
        self::assertSame(['redis', true, 5000], [$one->info()['engine'], $one->info()['reachable'], $one->info()['command_timeout_ms']]);
        self::assertSame(1, $one->reset('alice'));
    }

    public function test_no_message_shows_a_password(): void
    {
        $limiter = new Limiter("redis://:sesame@127.0.0.1:$this->port", self::POLICY);
        self::assertStringNotContainsString('sesame', print_r($limiter, true));
        $failure = self::thrown(fn () => $limiter->hit('alice'));
        self::assertSame(RateLiteException::EPERM, $failure->getCode());
        self::assertStringNotContainsString('sesame', $failure->getMessage());
        $refusal = self::thrown(fn () => new Limiter('redis://:sesame@', self::POLICY));
        self::assertInstanceOf(InvalidArgumentException::class, $refusal);
        self::assertStringNotContainsString('sesame', $refusal->getMessage());
    }

    public function test_a_server_that_is_away_is_a_failure_of_its_own(): void
    {
        $this->stop();
        $failure = self::thrown(fn () => (new Limiter($this->url(), self::POLICY))->hit('alice'));
        self::assertSame(RateLiteException::EUNAVAILABLE, $failure->getCode());
        $limiter = new Limiter($this->url(), self::POLICY, null, OnError::Allow, static function (): void {
        });
        $result = $limiter->hit('alice');
        self::assertTrue($result->allowed);
        self::assertSame(RateLiteException::EUNAVAILABLE, $result->failure?->getCode());
    }

    public function test_insurance_takes_over_and_hands_back(): void
    {
        $limiter = new Limiter($this->url(), self::POLICY, new Options(insurance: $this->store(), insurancePercent: 20));
        self::assertFalse($limiter->hit('alice')->insured);
        $this->stop();
        $results = array_map(fn () => $limiter->hit('alice'), range(1, 3));
        self::assertSame([true, true, true], array_map(static fn ($result) => $result->insured, $results));
        self::assertSame([true, true, false], array_map(static fn ($result) => $result->allowed, $results));
        self::assertSame('2', $limiter->headers($results[2])['X-RateLimit-Limit']);
        self::assertTrue($limiter->info()['insurance']['active']);
        $this->start();
        for ($end = microtime(true) + 10; $limiter->hit('alice')->insured; usleep(20_000)) {
            self::assertLessThan($end, microtime(true));
        }
        $own = new Options(insurance: $this->store(), insurancePolicy: 'api: 1/d');
        $this->stop();
        self::assertSame(1, (new Limiter($this->url(), self::POLICY, $own))->hit('bob')->limit);
    }

    public function test_a_text_with_a_nul_is_refused(): void
    {
        foreach (['insurance', 'insurancePolicy'] as $option) {
            $options = new Options(...[$option => "a\0b"]);
            $refusal = self::thrown(fn () => new Limiter($this->url(), self::POLICY, $options));
            self::assertInstanceOf(InvalidArgumentException::class, $refusal);
        }
    }

    public function test_a_denial_is_remembered(): void
    {
        $limiter = new Limiter($this->url(), '1/366d', new Options(rememberDenied: true, flushIntervalMs: 60_000));
        self::assertTrue($limiter->hit('alice')->allowed);
        self::assertFalse($limiter->hit('alice')->allowed);
        $this->stop();
        $result = $limiter->hit('alice');
        self::assertSame([false, 3], [$result->allowed, $result->count]);
    }
}
