<?php

declare(strict_types=1);

namespace RateLite\Bench;

set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    // 5.4 of Symfony predates PHP 8.2, whose deprecations are not its failures.
    if (($level & (E_DEPRECATED | E_USER_DEPRECATED)) !== 0) {
        return true;
    }
    // Symfony asks with `@` for what may fail.
    if ((error_reporting() & $level) === 0) {
        return false;
    }
    throw new \ErrorException($message, 0, $level, $file, $line);
});

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, __NAMESPACE__ . '\\')) {
        require __DIR__ . '/' . strtr(substr($class, strlen(__NAMESPACE__) + 1), '\\', '/') . '.php';
    }
});

try {
    $job = Job::fromJson($argv[1] ?? '');
    $job->peer::install($job);
    $job->processes === 1
        ? (new Serving(STDIN, STDOUT))->serve($job, 0)
        : (new Family($job))->serve(STDIN, STDOUT);
} catch (\Throwable $failure) {
    fwrite(STDERR, "worker: {$failure->getMessage()}\n");
    exit(1);
}
