<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Durability;
use RateLite\HeaderStyle;
use RateLite\Limiter;
use RateLite\Options;
use RateLite\RateLimitExceededException;
use RateLite\RateLiteException;
use RateLite\Result;
use RateLite\Tests\Support\TestCase;

final class VerbsTest extends TestCase
{
    public function test_a_hit_counts_and_a_denied_one_counts_too(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min');
        $counts = $allowed = [];
        for ($i = 0; $i < 4; $i++) {
            $result = $limiter->hit('alice', nowMs: self::NOW);
            $counts[] = $result->count;
            $allowed[] = $result->allowed;
        }
        self::assertSame([1, 2, 3, 4], $counts);
        self::assertSame([true, true, true, false], $allowed);
        self::assertSame(15, $result->retryAfter);
    }

    public function test_status_counts_nothing(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min');
        $limiter->hit('alice', nowMs: self::NOW);
        self::assertSame(1, $limiter->status('alice', nowMs: self::NOW)->count);
        self::assertSame(1, $limiter->status('alice', nowMs: self::NOW)->count);
    }

    public function test_a_large_hit_that_is_refused_spends_nothing(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min');
        self::assertFalse($limiter->hit('alice', cost: 4, nowMs: self::NOW)->allowed);
        self::assertTrue($limiter->hit('alice', cost: 3, nowMs: self::NOW)->allowed);
    }

    public function test_check_passes_what_hit_allows(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min');
        self::assertEquals(
            new Result(true, 3, 1, 2, 1767225660, 0, 1767225600000, 60000, self::NOW, 0, 0),
            $limiter->check('alice', nowMs: self::NOW),
        );
    }

    public function test_the_exception_of_check_carries_the_key_and_its_message_does_not(): void
    {
        $limiter = new Limiter($this->store(), 'login: 1/min; api: 9/min');
        $limiter->check('alice@example.org', 'login', nowMs: self::NOW);
        $denial = self::thrown(fn () => $limiter->check('alice@example.org', 'login', nowMs: self::NOW));
        self::assertInstanceOf(RateLimitExceededException::class, $denial);
        self::assertInstanceOf(\DomainException::class, $denial);
        self::assertSame('alice@example.org', $denial->key);
        self::assertSame('login', $denial->rule);
        self::assertSame(1, $denial->limit);
        self::assertSame(60, $denial->windowSeconds);
        self::assertSame(15, $denial->retryAfter);
        self::assertSame(2, $denial->result->count);
        self::assertSame('The limit of 1 per 1m leaves no room; retry after 15 s.', $denial->getMessage());
    }

    public function test_a_stack_trace_does_not_show_the_key(): void
    {
        $limiter = new Limiter($this->store(), 'login: 0/min');
        $ignored = ini_set('zend.exception_ignore_args', '0');
        try {
            $denial = self::thrown(fn () => $limiter->check('alice@example.org', nowMs: self::NOW));
        } finally {
            ini_set('zend.exception_ignore_args', (string) $ignored);
        }
        $shown = print_r($denial->getTrace()[0]['args'], true) . $denial->getTraceAsString();
        // PHP hides arguments that are marked as sensitive since 8.2.
        self::assertSame(PHP_VERSION_ID < 80200, str_contains($shown, 'alice'));
    }

    public function test_no_wait_helps_a_cost_above_the_limit(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/500ms');
        $denial = self::thrown(fn () => $limiter->check('alice', cost: 4, nowMs: self::NOW));
        self::assertSame(Result::NEVER, $denial->retryAfter);
        self::assertSame(1, $denial->windowSeconds);
        self::assertArrayNotHasKey('Retry-After', $limiter->headers($denial->result));
    }

    public function test_a_refund_gives_units_back_and_keeps_the_attempts(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min');
        $limiter->hit('alice', cost: 3, nowMs: self::NOW);
        $result = $limiter->refund('alice', cost: 2, nowMs: self::NOW);
        self::assertSame([3, 2], [$result->count, $result->remaining]);
    }

    public function test_a_reset_forgets_one_key_in_one_rule_or_in_all(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min; b: 3/min, 9/h');
        foreach (['alice', 'bob'] as $key) {
            $limiter->hit($key, 'a', nowMs: self::NOW);
            $limiter->hit($key, 'b', nowMs: self::NOW);
        }
        self::assertSame(1, $limiter->reset('alice', 'a'));
        self::assertSame(0, $limiter->status('alice', 'a', self::NOW)->count);
        self::assertSame(1, $limiter->status('alice', 'b', self::NOW)->count);
        self::assertSame(2, $limiter->reset('alice'));
        self::assertSame(0, $limiter->status('alice', 'b', self::NOW)->count);
        self::assertSame(1, $limiter->status('bob', 'a', self::NOW)->count);
    }

    public function test_prune_keeps_the_current_and_the_previous_window(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min', new Options(autoPrune: false));
        foreach ([0, 60_000, 120_000] as $later) {
            $limiter->hit('alice', nowMs: self::NOW + $later);
        }
        self::assertSame(1, $limiter->prune(self::NOW + 120_000));
        self::assertSame(0, $limiter->status('alice', nowMs: self::NOW)->count);
        self::assertSame(1, $limiter->status('alice', nowMs: self::NOW + 60_000)->count);
        self::assertSame(1, $limiter->status('alice', nowMs: self::NOW + 120_000)->count);
    }

    public function test_route_names_the_first_rule_that_fits_or_none(): void
    {
        $limiter = new Limiter(':memory:', 'login: POST /login 3/10s; v1: /v1/* 5/s');
        self::assertSame('login', $limiter->route('POST', '/login?next=%2Fhome'));
        self::assertSame('v1', $limiter->route('GET', '/v1/users'));
        self::assertNull($limiter->route('GET', '/login'));
        self::assertSame(['login', 'v1', null], array_map([$limiter, 'ruleName'], [0, 1, 2]));
    }

    public function test_headers_come_by_name_in_the_order_to_send_them(): void
    {
        $limiter = new Limiter($this->store(), 'api: 0/min');
        $result = $limiter->hit('alice', nowMs: self::NOW);
        self::assertSame(
            ['X-RateLimit-Limit' => '0', 'X-RateLimit-Remaining' => '0', 'X-RateLimit-Reset' => '1767225660'],
            $limiter->headers($result),
        );
        self::assertSame(['RateLimit-Policy', 'RateLimit'], array_keys($limiter->headers($result, HeaderStyle::Ietf)));
    }

    public function test_a_problem_longer_than_the_first_buffer_comes_whole(): void
    {
        $limits = implode(', ', array_map(static fn (int $s): string => "9007199254740991/{$s}s", range(1, 60)));
        $limiter = new Limiter($this->store(), "api: $limits");
        $headers = $limiter->headers($limiter->hit('alice', nowMs: self::NOW), HeaderStyle::Ietf);
        self::assertGreaterThan(1000, strlen($headers['RateLimit-Policy']));
        self::assertStringEndsWith('w=60', $headers['RateLimit-Policy']);
    }

    public function test_info_says_what_is_in_force(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/min', new Options(
            busyTimeoutMs: 250,
            durability: Durability::Hit,
            flushIntervalMs: 50,
            autoPrune: false,
            keepOpen: true,
            audit: true,
            auditRetentionSeconds: 60,
            recoverCorrupt: true,
            fileMode: 0640,
            keySecret: random_bytes(32),
        ));
        $info = $limiter->info();
        self::assertSame(realpath($this->store()), realpath($info['store']));
        self::assertSame(250, $info['busy_timeout_ms']);
        self::assertSame('hit', $info['durability']);
        self::assertFalse($info['auto_prune']);
        self::assertTrue($info['audit']);
        self::assertTrue($info['keys_hashed']);
        self::assertSame(0640, fileperms($this->store()) & 0777);
    }

    public function test_audit_makes_a_row_of_each_allowed_hit(): void
    {
        $limiter = new Limiter($this->store(), 'api: 2/min', new Options(audit: true));
        for ($i = 0; $i < 3; $i++) {
            $limiter->hit('alice', nowMs: self::NOW);
        }
        $rows = (new \PDO("sqlite:{$this->store()}"))->query('SELECT count(*) FROM api_calls')->fetchColumn();
        self::assertSame(2, (int) $rows);
    }

    public function test_a_secret_is_part_of_the_key_and_must_be_the_same_for_all(): void
    {
        $secret = random_bytes(32);
        $limiter = new Limiter($this->store(), 'api: 2/min', new Options(tableSlots: 160, keySecret: $secret));
        $limiter->hit('alice@example.org', nowMs: self::NOW);
        $again = new Limiter($this->store(), 'api: 2/min', new Options(keySecret: $secret));
        self::assertSame(1, $again->status('alice@example.org', nowMs: self::NOW)->count);
        $limiter->prune(0);
        self::assertSame(1, $this->attemptsInTheFile());
        self::assertStringNotContainsString('alice', file_get_contents($this->store()) . file_get_contents("{$this->store()}-wal") . self::table($this->store()));
        $refusal = self::thrown(fn () => new Limiter($this->store(), 'api: 2/min', new Options(keySecret: 'another')));
        self::assertSame(RateLiteException::EINVAL, $refusal->getCode());
        self::assertStringNotContainsString($secret, print_r(new Options(keySecret: $secret), true));
    }

    /** The bytes of the shared table, where there is one. */
    private static function table(string $store): string
    {
        return is_file("$store-table") ? (string) file_get_contents("$store-table") : '';
    }

    /** Units asked for, as another program reads them. */
    private function attemptsInTheFile(): int
    {
        return (int) (new \PDO("sqlite:{$this->store()}"))->query('SELECT total(attempts) FROM rate_limit_status')->fetchColumn();
    }

    public function test_a_hit_is_in_the_file_before_it_is_answered(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/366d', new Options(durability: Durability::Hit));
        foreach ([1, 2, 3, 4] as $hits) {
            $limiter->hit('alice');
            self::assertSame($hits, $this->attemptsInTheFile());
        }
    }

    public function test_pruning_at_time_0_writes_out_what_was_counted(): void
    {
        $limiter = new Limiter($this->store(), 'api: 9/366d', new Options(durability: Durability::Interval, flushIntervalMs: 60_000));
        $limiter->hit('alice', cost: 2);
        $limiter->hit('alice');
        self::assertSame(0, $limiter->prune(0));
        self::assertSame(3, $this->attemptsInTheFile());
        self::assertSame(6, $limiter->status('alice')->remaining);
    }

    public function test_who_creates_the_store_decides_how_large_its_table_is(): void
    {
        $table = (new Limiter($this->store(), 'api: 3/min', new Options(tableSlots: 160)))->info()['table'];
        self::assertNotNull($table, 'the filesystem cannot carry a table');
        self::assertSame(160, $table['slots']);
        $refusal = self::thrown(fn () => new Limiter($this->store(), 'api: 3/min', new Options(tableSlots: 320)));
        self::assertSame(RateLiteException::EINVAL, $refusal->getCode());
        self::assertStringContainsString('table_slots 160, not 320', $refusal->getMessage());
    }

    public function test_limiters_of_one_rule_and_store_share_a_counter(): void
    {
        $one = new Limiter($this->store(), 'api: 5/min');
        $other = new Limiter($this->store(), 'api: 2/min');
        $named = new Limiter($this->store(), 'web: 5/min');
        $one->hit('alice', nowMs: self::NOW);
        self::assertSame(2, $other->hit('alice', nowMs: self::NOW)->count);
        self::assertSame(1, $named->hit('alice', nowMs: self::NOW)->count);
    }

    public function test_without_a_time_the_system_clock_counts(): void
    {
        $limiter = new Limiter($this->store(), 'api: 3/366d');
        $before = (int) (microtime(true) * 1000);
        $result = $limiter->hit('alice');
        self::assertGreaterThanOrEqual($before - 1, $result->nowMs);
        self::assertLessThanOrEqual((int) (microtime(true) * 1000), $result->nowMs);
    }
}
