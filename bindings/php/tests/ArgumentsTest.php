<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\InvalidArgumentException;
use RateLite\IpKey;
use RateLite\Limiter;
use RateLite\OnError;
use RateLite\Options;
use RateLite\RateLiteException;
use RateLite\Tests\Support\TestCase;

/**
 * What FFI or a C string would silently turn into something else is refused.
 */
final class ArgumentsTest extends TestCase
{
    /**
     * @return iterable<string, array{\Closure(Limiter): mixed}>
     */
    public static function mistakes(): iterable
    {
        $now = self::NOW;
        yield 'a rule with a NUL, which C would cut to another rule' => [fn (Limiter $l) => $l->hit('k', "a\0b", nowMs: $now)];
        yield 'the rule of a status with a NUL' => [fn (Limiter $l) => $l->status('k', "a\0b", $now)];
        yield 'the rule of a check with a NUL' => [fn (Limiter $l) => $l->check('k', "a\0b", nowMs: $now)];
        yield 'the rule of a refund with a NUL' => [fn (Limiter $l) => $l->refund('k', "a\0b", nowMs: $now)];
        yield 'the rule of a reset with a NUL' => [fn (Limiter $l) => $l->reset('k', "a\0b")];
        yield 'a method with a NUL' => [fn (Limiter $l) => $l->route("POST\0", '/')];
        yield 'a target with a NUL' => [fn (Limiter $l) => $l->route('POST', "/login\0/x")];
        yield 'a time that C would take for now' => [fn (Limiter $l) => $l->hit('k', 'a', nowMs: -1)];
        yield 'a status at a time that C would take for now' => [fn (Limiter $l) => $l->status('k', 'a', -1)];
        yield 'a refund at a time that C would take for now' => [fn (Limiter $l) => $l->refund('k', 'a', nowMs: -1)];
        yield 'a prune at a time that C would take for now' => [fn (Limiter $l) => $l->prune(-1)];
        yield 'the smallest time' => [fn (Limiter $l) => $l->hit('k', 'a', nowMs: PHP_INT_MIN)];
        yield 'a time after the last day' => [fn (Limiter $l) => $l->hit('k', 'a', nowMs: 253370764800000)];
        yield 'the largest time' => [fn (Limiter $l) => $l->hit('k', 'a', nowMs: PHP_INT_MAX)];
        yield 'a negative cost' => [fn (Limiter $l) => $l->hit('k', 'a', -1, $now)];
        yield 'a cost whose low 32 bits are 1' => [fn (Limiter $l) => $l->hit('k', 'a', (1 << 53) + 1, $now)];
        yield 'the largest cost' => [fn (Limiter $l) => $l->hit('k', 'a', PHP_INT_MAX, $now)];
        yield 'a negative refund' => [fn (Limiter $l) => $l->refund('k', 'a', -1, $now)];
        yield 'an empty key' => [fn (Limiter $l) => $l->hit('', 'a', nowMs: $now)];
        yield 'an empty key of a status' => [fn (Limiter $l) => $l->status('', 'a', $now)];
        yield 'an empty key of a reset' => [fn (Limiter $l) => $l->reset('', 'a')];
        yield 'a result of nobody' => [fn (Limiter $l) => $l->headers(new \RateLite\Result(true, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))];
        yield 'a problem of another policy' => [fn (Limiter $l) => $l->problem(
            (new Limiter(':memory:', 'x: 7/s'))->hit('k', nowMs: $now),
        )];
    }

    /**
     * @dataProvider mistakes
     *
     * @param \Closure(Limiter): mixed $call
     */
    public function test_a_mistake_is_refused_and_counts_nothing(\Closure $call): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min', onError: OnError::Allow);
        $mistake = self::thrown(fn () => $call($limiter));
        self::assertInstanceOf(InvalidArgumentException::class, $mistake);
        self::assertSame(RateLiteException::EINVAL, $mistake->getCode());
        self::assertNotSame('', $mistake->getMessage());
        self::assertSame(0, $limiter->status('k', nowMs: self::NOW)->count);
    }

    public function test_a_rule_that_is_not_there_is_refused_with_its_own_code(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min; b: 3/min', onError: OnError::Allow);
        foreach (['c', '', 'A', null] as $rule) {
            $mistake = self::thrown(fn () => $limiter->hit('k', $rule, nowMs: self::NOW));
            self::assertInstanceOf(InvalidArgumentException::class, $mistake);
            self::assertSame(RateLiteException::ENORULE, $mistake->getCode());
        }
    }

    public function test_keys_are_any_bytes_and_never_run_together(): void
    {
        $limiter = new Limiter($this->store(), 'a: 1/min');
        $keys = ["\0", "\0\0", "a\0b", "a\0c", 'a', "\xFF\xFE", "\u{E8}", "\u{E9}", "e\u{301}", str_repeat('x', 72), str_repeat('x', 73), str_repeat('x', 1 << 20)];
        foreach ($keys as $key) {
            self::assertTrue($limiter->hit($key, nowMs: self::NOW)->allowed, bin2hex(substr($key, 0, 9)));
        }
        foreach ($keys as $key) {
            self::assertSame(2, $limiter->hit($key, nowMs: self::NOW)->count);
        }
    }

    /**
     * @return iterable<string, array{\Closure(string): mixed}>
     */
    public static function openings(): iterable
    {
        yield 'a store with a NUL, which C would cut to another file' => [fn (string $s) => new Limiter("$s\0.db", 'a: 3/min')];
        yield 'an empty store' => [fn (string $s) => new Limiter('', 'a: 3/min')];
        yield 'a URI' => [fn (string $s) => new Limiter("file:$s", 'a: 3/min')];
        yield 'a policy with a NUL, which C would cut to another policy' => [fn (string $s) => new Limiter($s, "a: 3/min\0; b: 1/s")];
        yield 'a directory that is not there' => [fn (string $s) => new Limiter("$s/x/y.db", 'a: 3/min')];
        foreach (['busyTimeoutMs', 'flushIntervalMs', 'auditRetentionSeconds', 'fileMode', 'tableSlots', 'connectTimeoutMs',
            'commandTimeoutMs', 'insurancePercent'] as $option) {
            yield "$option 0, which C would take for the default" => [fn (string $s) => new Limiter($s, 'a: 3/min', new Options(...[$option => 0]))];
            yield "$option far out of range" => [fn (string $s) => new Limiter($s, 'a: 3/min', new Options(...[$option => PHP_INT_MIN]))];
        }
        yield 'an empty secret' => [fn (string $s) => new Limiter($s, 'a: 3/min', new Options(keySecret: ''))];
    }

    /**
     * @dataProvider openings
     *
     * @param \Closure(string): mixed $open
     */
    public function test_a_limiter_that_cannot_be_meant_is_refused(\Closure $open): void
    {
        $mistake = self::thrown(fn () => $open($this->store()));
        self::assertInstanceOf(InvalidArgumentException::class, $mistake);
        self::assertSame(RateLiteException::EINVAL, $mistake->getCode());
        self::assertFileDoesNotExist($this->store());
    }

    public function test_an_address_is_refused_before_it_is_cut(): void
    {
        foreach ([["192.0.2.1\0x", 0], ['', 0], ['192.0.2.1', (1 << 32) + 64], ['192.0.2.1', PHP_INT_MIN], ['localhost', 0]] as [$ip, $prefix]) {
            $mistake = self::thrown(static fn () => IpKey::of($ip, $prefix));
            self::assertInstanceOf(InvalidArgumentException::class, $mistake);
            self::assertSame(RateLiteException::EINVAL, $mistake->getCode());
        }
        self::assertSame('2001:db8:1:2::/64', IpKey::of('2001:db8:1:2::7'));
        self::assertSame('192.0.2.1', IpKey::of('::ffff:192.0.2.1'));
    }

    public function test_a_message_never_holds_the_key(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min');
        foreach ([['c', 1, self::NOW], ['a', -1, self::NOW], ['a', 1, PHP_INT_MAX]] as [$rule, $cost, $now]) {
            $mistake = self::thrown(fn () => $limiter->hit('alice@example.org', $rule, $cost, $now));
            self::assertStringNotContainsString('alice', $mistake->getMessage());
        }
    }
}
