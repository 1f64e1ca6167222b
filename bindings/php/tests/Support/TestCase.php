<?php

declare(strict_types=1);

namespace RateLite\Tests\Support;

/**
 * A test with a directory of its own, and a time that stands still.
 */
abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    /** 2026-01-01 00:00:45 UTC: 15 s before a minute ends. */
    protected const NOW = 1767225645000;

    protected string $directory;

    protected function setUp(): void
    {
        $this->directory = sys_get_temp_dir() . '/ratelite-' . bin2hex(random_bytes(6));
        mkdir($this->directory);
    }

    protected function tearDown(): void
    {
        gc_collect_cycles();
        foreach (new \RecursiveIteratorIterator(
            new \RecursiveDirectoryIterator($this->directory, \FilesystemIterator::SKIP_DOTS),
            \RecursiveIteratorIterator::CHILD_FIRST,
        ) as $file) {
            $file->isDir() ? rmdir($file->getPathname()) : unlink($file->getPathname());
        }
        rmdir($this->directory);
    }

    protected function store(): string
    {
        return "$this->directory/limits.db";
    }

    protected static function package(string $path = ''): string
    {
        return dirname(__DIR__, 2) . $path;
    }

    protected static function repository(string $path = ''): string
    {
        return dirname(__DIR__, 4) . $path;
    }

    /**
     * @return list<array<string, mixed>>|array<string, mixed>
     */
    protected static function cases(string $name): array
    {
        return json_decode((string) file_get_contents(self::repository("/tests/cases/$name.json")), true, 512, JSON_THROW_ON_ERROR);
    }

    /** Fails unless the call throws; else what it threw. */
    protected static function thrown(\Closure $call): \Throwable
    {
        try {
            $call();
        } catch (\Throwable $thrown) {
            return $thrown;
        }
        self::fail('nothing was thrown');
    }
}
