<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\HeaderStyle;
use RateLite\InvalidArgumentException;
use RateLite\IpKey;
use RateLite\Limiter;
use RateLite\RateLiteException;
use RateLite\Result;
use RateLite\Tests\Support\TestCase;

/**
 * The case files that every language runs: PHP cannot disagree with the others.
 */
final class CaseFilesTest extends TestCase
{
    /**
     * @return iterable<string, array{array<string, mixed>}>
     */
    public static function semantics(): iterable
    {
        foreach (self::cases('semantics') as $case) {
            yield $case['name'] => [$case];
        }
    }

    /**
     * @dataProvider semantics
     *
     * @param array<string, mixed> $case
     */
    public function test_a_case_of_the_semantics_is_answered_as_everywhere(array $case): void
    {
        $limiter = new Limiter($this->store(), $case['policy']);
        foreach ($case['steps'] as $number => $step) {
            $expected = array_key_exists('expect', $step) ? $step['expect'] : $step['error'];
            self::assertSame($expected, self::answer($limiter, $step), "step $number");
        }
    }

    /**
     * @param array<string, mixed> $step
     */
    private static function answer(Limiter $limiter, array $step): mixed
    {
        try {
            return match ($step['op']) {
                'hit' => self::outcome($limiter->hit($step['key'], $step['rule'], $step['cost'], $step['now_ms']), $step),
                'status' => self::outcome($limiter->status($step['key'], $step['rule'], $step['now_ms']), $step),
                'refund' => self::outcome($limiter->refund($step['key'], $step['rule'], $step['cost'], $step['now_ms']), $step),
                'route' => $limiter->route($step['method'], $step['target']),
            };
        } catch (InvalidArgumentException $mistake) {
            return self::codeName($mistake->getCode());
        }
    }

    /**
     * @param array<string, mixed> $step
     *
     * @return array<string, int> What the step expects to know, in its order.
     */
    private static function outcome(Result $result, array $step): array
    {
        $all = self::toArray($result);

        return array_map(static fn (string $name): int => $all[$name], self::names($step['expect'] ?? []));
    }

    /**
     * @param array<string, int> $expected
     *
     * @return array<string, string>
     */
    private static function names(array $expected): array
    {
        return array_combine(array_keys($expected), array_keys($expected));
    }

    /**
     * @return array<string, int>
     */
    private static function toArray(Result $result): array
    {
        return [
            'allowed' => (int) $result->allowed,
            'limit' => $result->limit,
            'count' => $result->count,
            'remaining' => $result->remaining,
            'reset_at' => $result->resetAt,
            'retry_after' => $result->retryAfter,
            'window_start_ms' => $result->windowStartMs,
            'window_ms' => $result->windowMs,
            'now_ms' => $result->nowMs,
            'rule' => $result->rule,
            'limit_index' => $result->limitIndex,
        ];
    }

    private static function codeName(int $code): string
    {
        $name = array_search($code, (new \ReflectionClass(RateLiteException::class))->getConstants(), true);

        return "RL_$name";
    }

    public function test_headers_are_those_of_every_language(): void
    {
        foreach (self::cases('headers') as $case) {
            $result = new Result((bool) $case['outcome']['allowed'], ...array_slice(array_values($case['outcome']), 1));
            self::assertSame($case['outcome'], self::toArray($result));
            $style = ['X' => HeaderStyle::X, 'GITHUB' => HeaderStyle::GitHub, 'IETF' => HeaderStyle::Ietf][$case['style']];
            $lines = '';
            foreach ((new Limiter(':memory:', $case['policy']))->headers($result, $style) as $name => $value) {
                $lines .= "$name: $value\r\n";
            }
            self::assertSame($case['expect'], $lines, $case['name']);
        }
    }

    public function test_an_address_makes_the_key_it_makes_everywhere(): void
    {
        foreach (self::cases('ip_keys') as $case) {
            try {
                $key = IpKey::of($case['ip'], $case['prefix']);
            } catch (InvalidArgumentException $mistake) {
                $key = self::codeName($mistake->getCode());
            }
            self::assertSame($case['expect'] ?? $case['error'], $key, json_encode($case));
        }
    }

    public function test_a_policy_is_accepted_where_every_language_accepts_it(): void
    {
        foreach (self::cases('policies')['accepted'] as $policy) {
            self::assertNotNull((new Limiter(':memory:', $policy))->ruleName(0), $policy);
        }
    }

    public function test_a_policy_is_refused_where_every_language_refuses_it(): void
    {
        foreach (self::cases('policies')['refused'] as $policy) {
            $mistake = self::thrown(static fn () => new Limiter(':memory:', $policy));
            self::assertInstanceOf(InvalidArgumentException::class, $mistake);
            self::assertSame(RateLiteException::EPOLICY, $mistake->getCode(), $policy);
        }
    }

    public function test_a_refused_policy_is_explained_in_the_words_of_every_language(): void
    {
        foreach (self::cases('policy_errors') as $case) {
            $mistake = self::thrown(static fn () => new Limiter(':memory:', $case['text']));
            self::assertSame($case['message'], $mistake->getMessage(), $case['text']);
        }
    }
}
