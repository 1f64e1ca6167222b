<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Durability;
use RateLite\InvalidArgumentException;
use RateLite\Limiter;
use RateLite\OnError;
use RateLite\Options;
use RateLite\RateLimitExceededException;
use RateLite\RateLiteException;
use RateLite\Result;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;

final class OnErrorTest extends TestCase
{
    /** @var list<RateLiteException> */
    private array $told = [];

    private function limiter(OnError $onError): Limiter
    {
        return new Limiter(
            $this->store(),
            'login: POST /login 3/min',
            // Hits at an interval do not wait for the file.
            new Options(busyTimeoutMs: -1, durability: Durability::Hit),
            $onError,
            function (RateLiteException $failure): void {
                $this->told[] = $failure;
            },
        );
    }

    /** Holds the store, as a program does that forgot its transaction. */
    private function hold(): \PDO
    {
        $host = new \PDO("sqlite:{$this->store()}");
        $host->exec('BEGIN IMMEDIATE');

        return $host;
    }

    public function test_raise_throws_the_failure_with_its_code(): void
    {
        $limiter = $this->limiter(OnError::Raise);
        $host = $this->hold();
        $failure = self::thrown(fn () => $limiter->hit('k', nowMs: self::NOW));
        self::assertSame(RateLiteException::class, $failure::class);
        self::assertSame(RateLiteException::EBUSY, $failure->getCode());
        $host->exec('ROLLBACK');
        self::assertSame(2, $limiter->hit('k', nowMs: self::NOW)->remaining, 'what failed spent nothing');
        self::assertSame([], $this->told);
    }

    public function test_allow_lets_pass_says_why_and_is_told(): void
    {
        $limiter = $this->limiter(OnError::Allow);
        $host = $this->hold();
        $result = $limiter->hit('k', nowMs: self::NOW);
        self::assertTrue($result->allowed);
        self::assertSame(RateLiteException::EBUSY, $result->failure?->getCode());
        self::assertSame([$result->failure], $this->told);
        self::assertSame([], $limiter->headers($result));
        self::assertSame($limiter->check('k', nowMs: self::NOW)->failure, $this->told[1]);
        $host->exec('ROLLBACK');
        self::assertSame(2, $limiter->hit('k', nowMs: self::NOW)->remaining, 'what failed spent nothing');
    }

    public function test_deny_refuses_and_does_not_blame_the_client(): void
    {
        $limiter = $this->limiter(OnError::Deny);
        $host = $this->hold();
        $result = $limiter->hit('k', nowMs: self::NOW);
        self::assertFalse($result->allowed);
        self::assertSame(Result::NEVER, $result->retryAfter);
        self::assertSame(503, json_decode($limiter->problem($result))->status);
        $denial = self::thrown(fn () => $limiter->check('k', nowMs: self::NOW));
        self::assertInstanceOf(RateLimitExceededException::class, $denial);
        self::assertSame($denial->result->failure, $denial->getPrevious());
        $host->exec('ROLLBACK');
    }

    public function test_what_is_not_a_decision_is_thrown_whatever_was_chosen(): void
    {
        $limiter = $this->limiter(OnError::Allow);
        $host = $this->hold();
        self::assertSame(RateLiteException::EBUSY, self::thrown(fn () => $limiter->reset('k'))->getCode());
        self::assertSame(RateLiteException::EBUSY, self::thrown(fn () => $limiter->prune(self::NOW))->getCode());
        $host->exec('ROLLBACK');
    }

    public function test_a_store_that_cannot_be_opened_is_tried_again_and_the_routes_go_on(): void
    {
        file_put_contents($this->store(), 'not a store');
        $limiter = $this->limiter(OnError::Allow);
        self::assertSame(RateLiteException::ENOTSTORE, $limiter->hit('k', nowMs: self::NOW)->failure?->getCode());
        self::assertSame('login', $limiter->route('POST', '/login'));
        unlink($this->store());
        self::assertSame(1, $limiter->hit('k', nowMs: self::NOW)->count);
        self::assertSame('login', $limiter->route('POST', '/login'));
    }

    public function test_a_policy_that_does_not_parse_is_thrown_even_if_the_store_fails_too(): void
    {
        file_put_contents($this->store(), 'not a store');
        $mistake = self::thrown(fn () => new Limiter($this->store(), 'login: 3/mni', onError: OnError::Allow));
        self::assertInstanceOf(InvalidArgumentException::class, $mistake);
        self::assertSame(RateLiteException::EPOLICY, $mistake->getCode());
    }

    public function test_without_a_listener_the_failure_goes_to_the_error_log(): void
    {
        file_put_contents($this->store(), 'not a store');
        [$exit, $text] = Process::run([
            PHP_BINARY, '-d', 'log_errors=1', '-d', 'error_log=', '-r',
            'require $argv[1]; $l = new RateLite\Limiter($argv[2], "a: 3/min", onError: RateLite\OnError::Allow);'
            . 'exit((int) !$l->hit("alice")->allowed);',
            self::package('/autoload.php'), $this->store(),
        ]);
        self::assertSame(0, $exit, $text);
        self::assertStringContainsString('ratelite: ', $text);
        self::assertStringContainsString('as a store', $text);
        self::assertStringNotContainsString('alice', $text);
    }
}
