<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Internal\Locator;
use RateLite\Limiter;
use RateLite\LibraryException;
use RateLite\OnError;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;

/**
 * Where the library is looked for, and what is said when it is not the right one.
 */
final class LibraryTest extends TestCase
{
    private const OPEN = 'try { new RateLite\Limiter(":memory:", "a: 1/s", onError: RateLite\OnError::Allow); echo "opened"; }'
        . 'catch (RateLite\LibraryException $e) { echo $e->getMessage(); }';

    private static function library(): string
    {
        return Locator::path();
    }

    /**
     * A library that says it is of this ABI.
     *
     * @param string $more C, perhaps the rest of the functions.
     */
    private function foreign(int $abi, string $more = ''): string
    {
        $source = "$this->directory/foreign.c";
        $library = "$this->directory/foreign-$abi.so";
        file_put_contents($source, "int rl_abi_version(void) { return $abi; } const char *rl_version(void) { return \"9.8.7\"; } $more");
        [$exit, $text] = Process::run(['cc', '-shared', '-fPIC', '-o', $library, $source]);
        self::assertSame(0, $exit, $text);

        return $library;
    }

    public function test_what_the_caller_says_wins_over_the_environment_and_that_over_the_package(): void
    {
        $named = ['RATELITE_LIBRARY' => '/named/by/environment.so'];
        $code = static fn (?string $path): string => 'echo RateLite\Internal\Locator::path(' . var_export($path, true) . ');';
        self::assertSame('/named/by/caller.so', Process::php($code('/named/by/caller.so'), [], $named)[1]);
        self::assertSame('/named/by/environment.so', Process::php($code(null), [], $named)[1]);
        self::assertContains(Process::php($code(null), [], ['RATELITE_LIBRARY' => ''])[1], [...Locator::bundled(), Locator::systemName()]);
    }

    public function test_a_request_cannot_name_the_library(): void
    {
        // Under php-fpm getenv() sees the request's parameters too; local_only is what keeps them out.
        $source = (string) file_get_contents(self::package('/src/Internal/Locator.php'));
        self::assertStringContainsString('getenv(self::VARIABLE, true)', $source);
    }

    public function test_the_copy_in_the_package_wins_over_the_checkout_and_that_over_the_system(): void
    {
        $copy = "$this->directory/package";
        mkdir("$copy/src/Internal", 0777, true);
        foreach (['Locator', 'Library'] as $class) {
            copy(self::package("/src/Internal/$class.php"), "$copy/src/Internal/$class.php");
        }
        $path = static fn (): string => Process::run([PHP_BINARY, '-r', 'require "$argv[1]/src/Internal/Locator.php";'
            . 'require "$argv[1]/src/Internal/Library.php"; echo RateLite\Internal\Locator::path();', $copy], ['RATELITE_LIBRARY' => ''])[1];
        self::assertSame('libratelite.so.1', $path());
        $bundled = "$copy/lib/linux-" . php_uname('m');
        mkdir($bundled, 0777, true);
        touch("$bundled/libratelite.so.1");
        self::assertSame("$bundled/libratelite.so.1", $path());
    }

    public function test_a_library_that_is_not_there_is_an_error_that_says_what_to_do(): void
    {
        [, $text] = Process::php(self::OPEN, [], ['RATELITE_LIBRARY' => '/no/such/library.so']);
        self::assertStringContainsString('"/no/such/library.so"', $text);
        self::assertStringContainsString('RATELITE_LIBRARY', $text);
        self::assertStringContainsString('cargo build --release', $text);
    }

    public function test_a_library_of_another_abi_is_refused_with_both_numbers(): void
    {
        $functions = '';
        preg_match_all('/\b(rl_\w+)\(/', (string) file_get_contents(self::package('/ratelite.cdef.h')), $declared);
        foreach (array_diff($declared[1], ['rl_abi_version', 'rl_version']) as $function) {
            $functions .= "int $function(void) { __builtin_trap(); } ";
        }
        foreach ([0 => '', 2 => $functions] as $abi => $more) {
            $refusal = self::thrown(fn () => new Limiter(':memory:', 'a: 1/s', onError: OnError::Allow, library: $this->foreign($abi, $more)));
            self::assertInstanceOf(LibraryException::class, $refusal);
            self::assertStringContainsString("version 9.8.7 with ABI $abi, and this package needs ABI 1", $refusal->getMessage());
        }
    }

    public function test_a_library_that_lies_about_its_abi_is_still_not_used(): void
    {
        $refusal = self::thrown(fn () => new Limiter(':memory:', 'a: 1/s', library: $this->foreign(1)));
        self::assertInstanceOf(LibraryException::class, $refusal);
        self::assertStringContainsString('rl_open', $refusal->getMessage());
    }

    public function test_a_library_that_is_something_else_is_refused(): void
    {
        file_put_contents("$this->directory/text.so", 'not a library');
        foreach (["$this->directory/text.so", 'libm.so.6', "x\0y"] as $library) {
            self::assertInstanceOf(
                \RateLite\RateLiteException::class,
                self::thrown(fn () => new Limiter(':memory:', 'a: 1/s', library: $library)),
            );
        }
    }

    public function test_where_ffi_is_off_the_message_says_how_to_switch_it_on(): void
    {
        [, $text] = Process::php(self::OPEN, ['-d', 'ffi.enable=false']);
        self::assertStringContainsString('ffi.enable=true', $text);
        self::assertStringContainsString(self::package('/preload.php'), $text);
    }

    public function test_where_php_has_no_ffi_the_message_says_so(): void
    {
        [, $text] = Process::php(self::OPEN, ['-n']);
        self::assertStringContainsString('extension ffi is not loaded', $text);
    }

    public function test_two_versions_of_the_library_side_by_side_count_together(): void
    {
        copy(self::library(), "$this->directory/libratelite-other.so");
        $one = new Limiter($this->store(), 'a: 100/min');
        $other = new Limiter($this->store(), 'a: 100/min', library: "$this->directory/libratelite-other.so");
        $counts = [];
        $allowed = 0;
        for ($i = 0; $i < 75; $i++) {
            foreach ([$one, $other] as $limiter) {
                $result = $limiter->hit('k', nowMs: self::NOW);
                $counts[] = $result->count;
                $allowed += (int) $result->allowed;
            }
        }
        self::assertSame(range(1, 150), $counts);
        self::assertSame(100, $allowed);
        self::assertCount(2, self::mapped());
    }

    /**
     * @return list<string> The copies of the library in this process.
     */
    private static function mapped(): array
    {
        preg_match_all('#/\S*libratelite\S*\.so\S*#', (string) file_get_contents('/proc/self/maps'), $found);

        return array_values(array_unique($found[0]));
    }
}
