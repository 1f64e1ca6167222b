<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Limiter;
use RateLite\Options;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;

/**
 * What the README shows is so.
 */
final class ReadmeTest extends TestCase
{
    private static function readme(): string
    {
        return (string) file_get_contents(self::package('/README.md'));
    }

    /**
     * @return list<string> The blocks of PHP.
     */
    private static function blocks(string $info): array
    {
        preg_match_all("/^```$info\\n(.*?)^```$/ms", self::readme(), $found);

        return $found[1];
    }

    public function test_what_can_run_by_itself_runs(): void
    {
        self::assertCount(4, self::blocks('php run'));
        foreach (self::blocks('php run') as $block) {
            $code = '$_SERVER["REMOTE_ADDR"] = "192.0.2.1";' . str_replace('/var/lib/app/limits.db', $this->store(), $block);
            [$exit, $text] = Process::php($code, ['-d', 'display_errors=1', '-d', 'error_reporting=-1']);
            self::assertSame([0, str_contains($block, 'pong') ? "pong\n" : ''], [$exit, $text], $block);
        }
    }

    public function test_what_needs_a_framework_is_php(): void
    {
        self::assertCount(4, self::blocks('php'));
        foreach (self::blocks('php') as $block) {
            self::assertNotSame([], \PhpToken::tokenize("<?php $block", TOKEN_PARSE));
        }
    }

    public function test_every_verb_and_option_is_in_it(): void
    {
        foreach ((new \ReflectionClass(Limiter::class))->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            if (!str_starts_with($method->name, '__')) {
                self::assertStringContainsString("`$method->name(", self::readme());
            }
        }
        foreach ((new \ReflectionClass(Options::class))->getProperties() as $option) {
            self::assertMatchesRegularExpression("/\\b$option->name\\b/", self::readme());
        }
    }

    public function test_the_files_that_it_points_to_are_there(): void
    {
        preg_match_all('/\]\(([^)#]+)\)/', self::readme() . file_get_contents(self::package('/examples/ping-api/README.md')), $links);
        foreach ($links[1] as $link) {
            self::assertTrue(is_file(self::package("/$link")) || is_file(self::package("/examples/ping-api/$link")), $link);
        }
    }
}
