<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Limiter;
use RateLite\Result;
use RateLite\Tests\Support\Fpm;
use RateLite\Tests\Support\Http;
use RateLite\Tests\Support\TestCase;

/**
 * php-fpm behind nginx: four workers that share nothing but the store.
 */
final class FpmTest extends TestCase
{
    private const POLICY = 'api: 500/366d';

    private Fpm $host;

    protected function setUp(): void
    {
        parent::setUp();
        // 2,000 connections of ours at once.
        posix_setrlimit(POSIX_RLIMIT_NOFILE, posix_getrlimit()['hard openfiles'], posix_getrlimit()['hard openfiles']);
    }

    protected function tearDown(): void
    {
        $this->host->stop();
        parent::tearDown();
    }

    /**
     * @param array<string, string> $pool
     * @param array<string, string> $ini
     */
    private function start(array $pool = [], array $ini = []): void
    {
        $this->host = new Fpm(
            $this->directory,
            __DIR__ . '/Host/app.php',
            $pool,
            // As PHP comes, with the classes preloaded.
            $ini + ['ffi.enable' => 'preload', 'opcache.preload' => self::package('/preload.php')]
                + (posix_geteuid() === 0 ? ['opcache.preload_user' => 'root'] : []),
            ['RATELITE_STORE' => $this->store(), 'POLICY' => self::POLICY]
                + array_filter(['RATELITE_LIBRARY' => getenv('RATELITE_LIBRARY')]),
        );
    }

    /**
     * @param (\Closure(int): void)|null $onAnswer
     *
     * @return list<Http>
     */
    private function load(int $requests, ?\Closure $onAnswer = null): array
    {
        return Http::burst(array_fill(0, $requests, "{$this->host->url}/hit?key=alice"), [], $onAnswer);
    }

    private function status(string $key = 'alice'): Result
    {
        return (new Limiter($this->store(), self::POLICY))->status($key);
    }

    /**
     * @param list<Http> $answers
     */
    private function expectExactly(array $answers, int $requests): void
    {
        self::assertSame([200 => 500, 429 => $requests - 500], Http::tally($answers), $this->host->log());
        $counts = array_map(static fn (Http $answer): int => (int) $answer->body, $answers);
        sort($counts);
        self::assertSame(range(1, $requests), $counts, 'each count was given out once');
        self::assertSame($requests, $this->status()->count);
    }

    public function test_two_thousand_requests_at_once_get_exactly_the_limit(): void
    {
        $this->start();
        $answers = $this->load(2000);
        $this->expectExactly($answers, 2000);
        self::assertCount(4, array_unique(array_map(static fn (Http $answer): string => $answer->headers['x-pid'], $answers)));
    }

    public function test_workers_that_come_and_go_keep_it_exact(): void
    {
        $this->start(['pm' => 'ondemand', 'pm.max_requests' => '50', 'pm.process_idle_timeout' => '1s'], ['ffi.enable' => 'true', 'opcache.preload' => '']);
        $answers = $this->load(1000);
        $this->expectExactly($answers, 1000);
        $workers = array_count_values(array_map(static fn (Http $answer): string => $answer->headers['x-pid'], $answers));
        self::assertGreaterThanOrEqual(20, count($workers));
        self::assertLessThanOrEqual(50, max($workers));
    }

    public function test_a_thousand_requests_leave_a_worker_as_it_was(): void
    {
        $this->start(['pm.max_children' => '1']);
        $probe = fn (): array => json_decode(Http::request('GET', "{$this->host->url}/probe")->body, true);
        $this->load(1000);
        $before = $probe();
        $this->load(1000);
        $after = $probe();
        self::assertSame($before['pid'], $after['pid']);
        self::assertSame($before['descriptors'], $after['descriptors']);
        self::assertLessThanOrEqual($before['own_kib'] + 128, $after['own_kib']);
        self::assertSame(2000, $this->status()->count);
    }

    public function test_a_worker_killed_in_mid_request_loses_nothing(): void
    {
        $this->start();
        $urls = [];
        for ($i = 0; $i < 120; $i++) {
            $urls[] = $this->host->url . ($i % 6 === 0 ? '/die' : '/hit') . '?key=alice';
        }
        $answers = Http::burst($urls);
        self::assertSame([200 => 100, 502 => 20], Http::tally($answers), $this->host->log());
        $counts = array_map(intval(...), file("{$this->store()}.acknowledged"));
        foreach ($answers as $answer) {
            if ($answer->status === 200) {
                $counts[] = (int) $answer->body;
            }
        }
        sort($counts);
        self::assertSame(range(1, 120), $counts);
        self::assertSame(120, $this->status()->count);
    }

    public function test_workers_killed_at_any_moment_lose_no_answered_request(): void
    {
        $this->start();
        $answers = $broken = [];
        // A worker may be killed while it waits for work, which shows nothing: on until some were busy.
        for ($round = 0; $round < 20 && ($round < 3 || $broken === []); $round++) {
            array_push($answers, ...$this->load(400, function (int $answered): void {
                if ($answered % 20 === 0) {
                    $this->host->killWorker();
                }
            }));
            // A worker that dies between its header and its body leaves nginx an answer without one.
            $broken = array_filter($answers, static fn (Http $answer): bool => $answer->body === '' || $answer->status === 502);
        }
        self::assertNotSame([], $broken, 'some were killed while they worked');
        $tally = Http::tally(array_diff_key($answers, $broken));
        self::assertSame([200, 429], array_keys($tally), $this->host->log());
        $counts = array_map(static fn (Http $answer): int => (int) $answer->body, array_diff_key($answers, $broken));
        self::assertSame($counts, array_unique($counts), 'no count was given out twice');
        self::assertLessThanOrEqual(500, $tally[200]);
        self::assertGreaterThanOrEqual(500 - count($broken), $tally[200]);
        self::assertGreaterThanOrEqual(count($counts), $this->status()->count);
        self::assertLessThanOrEqual(count($answers), $this->status()->count);
    }

    public function test_a_reload_and_an_opcache_reset_in_mid_load_keep_it_exact(): void
    {
        $this->start();
        $answers = $this->load(1500, function (int $answered): void {
            if ($answered === 300 || $answered === 900) {
                $this->host->reload();
            }
            if ($answered === 600) {
                self::assertSame(200, Http::request('GET', "{$this->host->url}/reset-opcache")->status);
            }
        });
        $this->expectExactly($answers, 1500);
        self::assertGreaterThan(4, count(array_unique(array_map(static fn (Http $answer): string => $answer->headers['x-pid'], $answers))));
    }

    public function test_workers_with_two_copies_of_the_library_count_together(): void
    {
        $this->start();
        $other = "$this->directory/libratelite-other.so";
        copy(\RateLite\Internal\Locator::path(), $other);
        $urls = [];
        for ($i = 0; $i < 1000; $i++) {
            $urls[] = "{$this->host->url}/hit?key=alice" . ($i % 2 ? '&library=' . rawurlencode($other) : '');
        }
        $this->expectExactly(Http::burst($urls), 1000);
    }
}
