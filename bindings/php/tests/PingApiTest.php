<?php

declare(strict_types=1);

namespace RateLite\Tests;

use PingApi;
use RateLite\Internal\Locator;
use RateLite\Tests\Support\Http;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;

/**
 * The how-to, sentence by sentence: first by itself, at a given time, then on the wire.
 */
final class PingApiTest extends TestCase
{
    /** @var list<Process> */
    private array $servers = [];

    protected function tearDown(): void
    {
        foreach ($this->servers as $server) {
            $server->stop();
        }
        parent::tearDown();
    }

    private function api(int $limit = 3, int $windowSeconds = 60, bool $prune = false): PingApi
    {
        return new PingApi($this->store(), $limit, $windowSeconds, static fn (): bool => $prune);
    }

    /**
     * @return array{int, array<string, string>, string}
     */
    private static function get(PingApi $api, string $target, ?string $client = null, int $later = 0): array
    {
        return $api->answer([
            'REQUEST_METHOD' => 'GET',
            'REQUEST_URI' => $target,
            'QUERY_STRING' => (string) parse_url($target, PHP_URL_QUERY),
        ] + ($client === null ? [] : ['HTTP_X_CLIENT_KEY' => $client]), self::NOW + $later);
    }

    private static function attempts(PingApi $api, string $key, int $later = 0): int
    {
        return json_decode(self::get($api, "/status?key=$key", null, $later)[2])->count;
    }

    public function test_three_in_a_minute_pass_and_the_fourth_is_refused_until_the_window_ends(): void
    {
        $api = $this->api();
        $statuses = [];
        foreach ([0, 0, 0, 0, 14_999, 15_000] as $later) {
            $statuses[] = self::get($api, '/ping', 'alice', $later)[0];
        }
        self::assertSame([200, 200, 200, 429, 429, 200], $statuses);
    }

    public function test_a_refusal_is_problem_details_and_says_when_to_come_back(): void
    {
        $api = $this->api(limit: 1);
        self::get($api, '/ping', 'alice@example.org');
        [$status, $headers, $body] = self::get($api, '/ping', 'alice@example.org');
        self::assertSame(429, $status);
        self::assertSame('application/problem+json', $headers['Content-Type']);
        self::assertSame('15', $headers['Retry-After']);
        $problem = json_decode($body, true);
        self::assertSame(['rate-limit-exceeded', 'Too Many Requests', 429], [$problem['type'], $problem['title'], $problem['status']]);
        self::assertNotSame('', $problem['detail']);
        self::assertStringNotContainsString('alice', $body . implode($headers));
        self::assertSame('1', self::get($api, '/ping', 'alice@example.org', 14_999)[1]['Retry-After']);
    }

    public function test_where_no_wait_helps_there_is_no_retry_after(): void
    {
        [$status, $headers] = self::get($this->api(limit: 0), '/ping', 'alice');
        self::assertSame(429, $status);
        self::assertArrayNotHasKey('Retry-After', $headers);
    }

    public function test_who_names_no_key_shares_one(): void
    {
        $api = $this->api(limit: 2);
        self::get($api, '/ping');
        self::get($api, '/ping', '');
        self::assertSame(429, self::get($api, '/ping')[0]);
        self::assertSame(429, self::get($api, '/ping', '127.0.0.1')[0]);
        self::assertSame(200, self::get($api, '/ping', 'alice')[0]);
        self::assertSame(4, self::attempts($api, '127.0.0.1'));
        self::assertSame(4, json_decode(self::get($api, '/status')[2])->count);
    }

    public function test_denied_attempts_are_counted_and_status_counts_nothing(): void
    {
        $api = $this->api();
        for ($i = 0; $i < 4; $i++) {
            self::get($api, '/ping', 'alice');
        }
        self::assertSame(4, self::attempts($api, 'alice'));
        self::assertSame(4, self::attempts($api, 'alice'));
        self::assertSame(0, self::attempts($api, 'nobody'));
    }

    public function test_limit_and_window_are_injected(): void
    {
        $api = $this->api(limit: 1, windowSeconds: 5);
        self::assertSame([200, 429, 200], [
            self::get($api, '/ping', 'alice')[0],
            self::get($api, '/ping', 'alice', 4_999)[0],
            self::get($api, '/ping', 'alice', 5_000)[0],
        ]);
    }

    public function test_two_limiters_stand_side_by_side_on_one_file(): void
    {
        $api = $this->api();
        for ($i = 0; $i < 6; $i++) {
            $strict = self::get($api, '/export', 'alice');
        }
        self::assertSame([429, '5'], [$strict[0], $strict[1]['X-RateLimit-Limit']]);
        $global = self::get($api, '/search', 'alice');
        self::assertSame([200, '100', '99'], [$global[0], $global[1]['X-RateLimit-Limit'], $global[1]['X-RateLimit-Remaining']]);
        self::assertSame(0, self::attempts($api, 'alice'));
    }

    public function test_each_successful_request_is_an_audit_row(): void
    {
        $api = $this->api();
        for ($i = 0; $i < 5; $i++) {
            self::get($api, '/ping', 'alice');
        }
        self::get($api, '/search', 'bob');
        $rows = (new \PDO("sqlite:{$this->store()}"))->query('SELECT rule, key, count(*) FROM api_calls GROUP BY 1, 2 ORDER BY 1')->fetchAll(\PDO::FETCH_NUM);
        self::assertSame('global bob 1, ping alice 3', implode(', ', array_map(static fn (array $row): string => implode(' ', $row), $rows)));
    }

    public function test_pruning_keeps_the_current_and_the_previous_window(): void
    {
        foreach ([0, 60_000, 120_000] as $later) {
            self::get($this->api(), '/ping', 'alice', $later);
        }
        self::get($this->api(prune: true), '/search', 'bob', 120_000);
        self::assertSame([0, 1, 1], array_map(fn (int $later): int => self::attempts($this->api(), 'alice', $later), [0, 60_000, 120_000]));
    }

    public function test_about_one_request_in_a_hundred_prunes(): void
    {
        $dice = (new \ReflectionProperty(PingApi::class, 'timeToPrune'))->getValue(new PingApi($this->store()));
        $pruned = 0;
        for ($i = 0; $i < 20_000; $i++) {
            $pruned += (int) $dice();
        }
        // 200 expected; that 100 or 300 come by chance happens less than once in 10^11 runs.
        self::assertGreaterThan(100, $pruned);
        self::assertLessThan(300, $pruned);
    }

    public function test_the_cron_script_prunes(): void
    {
        // Long past: nothing of it is in the current or the previous window.
        self::get($this->api(), '/ping', 'alice', -86_400_000_0);
        [$exit, $text] = Process::run([PHP_BINARY, self::package('/examples/ping-api/prune.php')], ['RATELITE_STORE' => $this->store()]);
        self::assertSame([0, "1 counters removed\n"], [$exit, $text]);
    }

    public function test_what_is_not_there_is_404(): void
    {
        foreach (['/', '/ping/', '/Ping', '//ping', '/status/x', '///'] as $target) {
            self::assertSame(404, self::get($this->api(), $target)[0], $target);
        }
    }

    /**
     * @param list<string>          $command
     * @param array<string, string> $environment
     */
    private function serve(array $command, string $address, array $environment = []): string
    {
        $log = "$this->directory/server.log";
        // The commands are those of the READMEs, given at the root of a checkout.
        $this->servers[] = new Process($command, $environment + ['RATELITE_STORE' => $this->store()], $log, self::repository());
        Process::awaitPort((int) substr($address, strlen('127.0.0.1:')), $log);

        return "http://$address";
    }

    /**
     * @return iterable<string, array{list<string>}>
     */
    public static function settings(): iterable
    {
        yield 'as PHP comes' => [[]];
        yield 'with FFI on' => [['-d', 'ffi.enable=true']];
    }

    /**
     * @dataProvider settings
     *
     * @param list<string> $settings
     */
    public function test_the_command_of_the_how_to_serves_it(array $settings): void
    {
        $address = '127.0.0.1:' . Process::freePort();
        $url = $this->serve([PHP_BINARY, ...$settings, '-S', $address, 'bindings/php/examples/ping-api/index.php'], $address, ['PING_WINDOW' => '31622400']);
        $answers = [];
        for ($i = 0; $i < 4; $i++) {
            $answers[] = Http::request('GET', "$url/ping", ['X-Client-Key: alice']);
        }
        self::assertSame([200, 200, 200, 429], array_map(static fn (Http $answer): int => $answer->status, $answers));
        self::assertSame(['2', '1', '0', '0'], array_map(static fn (Http $answer): string => $answer->headers['x-ratelimit-remaining'], $answers));
        self::assertSame('application/problem+json', $answers[3]->headers['content-type']);
        self::assertGreaterThan(0, (int) $answers[3]->headers['retry-after']);
        self::assertSame('rate-limit-exceeded', json_decode($answers[3]->body)->type);
        self::assertStringNotContainsString('alice', $answers[3]->body);
        $status = json_decode(Http::request('GET', "$url/status?key=alice")->body);
        self::assertSame([4, 3, 0], [$status->count, $status->limit, $status->remaining]);
        self::assertSame(200, Http::request('GET', "$url/ping")->status);
        self::assertSame(1, json_decode(Http::request('GET', "$url/status?key=127.0.0.1")->body)->count);
    }

    public function test_the_server_of_php_answers_a_crowd_exactly(): void
    {
        $address = '127.0.0.1:' . Process::freePort();
        $url = $this->serve(
            [PHP_BINARY, '-d', 'ffi.enable=true', '-S', $address, 'bindings/php/examples/ping-api/index.php'],
            $address,
            ['PING_LIMIT' => '100', 'PING_WINDOW' => '31622400', 'PHP_CLI_SERVER_WORKERS' => '4'],
        );
        self::assertSame([200 => 100, 429 => 200], Http::tally(Http::burst(array_fill(0, 300, "$url/ping"))));
    }

    public function test_the_api_in_python_is_its_twin(): void
    {
        $php = '127.0.0.1:' . Process::freePort();
        $python = '127.0.0.1:' . Process::freePort();
        $window = ['PING_WINDOW' => '31622400'];
        $twins = [
            $this->serve([PHP_BINARY, '-d', 'ffi.enable=true', '-S', $php, 'bindings/php/examples/ping-api/index.php'], $php, $window),
            $this->serve(['python3', 'bindings/php/examples/ping-api/ping_api.py', $python], $python, $window + [
                'PYTHONPATH' => self::repository('/bindings/python'),
                'PYTHONDONTWRITEBYTECODE' => '1',
                'RATELITE_LIBRARY' => Locator::path(),
            ]),
        ];
        $statuses = [];
        for ($i = 0; $i < 4; $i++) {
            $statuses[] = Http::request('GET', "{$twins[$i % 2]}/ping", ['X-Client-Key: alice'])->status;
        }
        self::assertSame([200, 200, 200, 429], $statuses, 'one budget');
        $ours = ['x-ratelimit-limit' => 1, 'x-ratelimit-remaining' => 1, 'x-ratelimit-reset' => 1, 'content-type' => 1];
        foreach (['/ping', '/status?key=alice', '/nothing'] as $target) {
            [$one, $other] = array_map(static fn (string $url): Http => Http::request('GET', $url . $target, ['X-Client-Key: alice']), $twins);
            self::assertSame($one->status, $other->status);
            self::assertSame(array_intersect_key($one->headers, $ours), array_intersect_key($other->headers, $ours));
            // The seconds to wait may have changed from one answer to the next.
            $timeless = static fn (string $body): string => (string) preg_replace('/(retry after |"retry_after":)\d+/', '', str_replace('"count":5', '"count":6', $body));
            self::assertSame($timeless($one->body), $timeless($other->body), $target);
        }
    }
}
