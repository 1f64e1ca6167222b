<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Internal\Locator;
use RateLite\Tests\Support\Http;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;

/**
 * `php -S`, to which PHP's default ffi.enable=preload gives FFI in preloaded files only.
 */
final class PreloadTest extends TestCase
{
    /**
     * @param list<string> $settings
     */
    private function serve(string $script, array $settings): string
    {
        $port = Process::freePort();
        $log = "$this->directory/server.log";
        $arguments = [];
        foreach ($settings as $setting) {
            array_push($arguments, '-d', $setting);
        }
        $this->server = new Process([PHP_BINARY, ...$arguments, '-S', "127.0.0.1:$port", $script], [
            'RATELITE_STORE' => $this->store(),
            'POLICY' => 'api: 3/366d',
        ], $log);
        Process::awaitPort($port, $log);

        return "http://127.0.0.1:$port";
    }

    private Process $server;

    protected function tearDown(): void
    {
        $this->server->stop();
        parent::tearDown();
    }

    /**
     * @return list<string>
     */
    private static function preloading(): array
    {
        $user = posix_getpwuid(posix_geteuid())['name'];

        return ['ffi.enable=preload', 'opcache.enable_cli=1', 'opcache.preload=' . self::package('/preload.php'), "opcache.preload_user=$user"];
    }

    private function scope(): string
    {
        [$exit, $header] = Process::run([PHP_BINARY, self::package('/scope.php')]);
        self::assertSame(0, $exit, $header);
        file_put_contents("$this->directory/scope.h", $header);

        return "ffi.preload=$this->directory/scope.h";
    }

    /**
     * @param list<string> $settings
     */
    private function expectService(array $settings, bool $once): void
    {
        $url = $this->serve(__DIR__ . '/Host/app.php', $settings);
        $statuses = [];
        for ($i = 0; $i < 4; $i++) {
            $statuses[] = Http::request('GET', "$url/hit?key=alice")->status;
        }
        self::assertSame([200, 200, 200, 429], $statuses);
        $probe = json_decode(Http::request('GET', "$url/probe")->body, true);
        self::assertSame($once, $probe['preloaded'], 'whether the declarations were read once a server');
    }

    public function test_preloaded_it_works_where_ffi_is_left_at_preload(): void
    {
        // PHP lets a preload script load declarations unless it runs for another user, before 8.3 for any user.
        $this->expectService(self::preloading(), posix_geteuid() !== 0 || PHP_VERSION_ID >= 80300);
    }

    public function test_preloaded_with_a_scope_the_declarations_are_read_once_a_server(): void
    {
        $this->expectService([...self::preloading(), $this->scope()], true);
    }

    public function test_a_scope_without_preloaded_classes_does_no_harm(): void
    {
        $this->expectService(['ffi.enable=true', $this->scope()], true);
    }

    public function test_with_ffi_enabled_nothing_need_be_preloaded(): void
    {
        $this->expectService(['ffi.enable=true'], false);
    }

    public function test_not_preloaded_and_not_enabled_says_what_to_do(): void
    {
        $url = $this->serve(__DIR__ . '/Host/app.php', ['ffi.enable=preload']);
        $answer = Http::request('GET', "$url/hit?key=alice");
        self::assertSame(500, $answer->status);
        self::assertStringContainsString('opcache.preload', $answer->body);
    }

    public function test_another_library_than_the_preloaded_one_is_not_mistaken_for_it(): void
    {
        copy(Locator::path(), "$this->directory/libratelite-other.so");
        $url = $this->serve(__DIR__ . '/Host/app.php', [...self::preloading(), $this->scope()]);
        self::assertSame(200, Http::request('GET', "$url/hit?key=alice")->status);
        $other = rawurlencode("$this->directory/libratelite-other.so");
        self::assertSame(200, Http::request('GET', "$url/hit?key=alice&library=$other")->status);
        $probe = json_decode(Http::request('GET', "$url/probe")->body, true);
        self::assertContains("$this->directory/libratelite-other.so", $probe['mapped']);
        self::assertSame(2, $probe['count'], 'both counted in one store');
    }
}
