<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Bench\Job;
use RateLite\Bench\Peer;
use RateLite\Internal\Native;
use RateLite\Limiter;

require_once __DIR__ . '/../../../../../bindings/php/autoload.php';

final class Ratelite implements Peer
{
    private readonly Limiter $limiter;

    private readonly string $rule;

    public static function install(Job $job): void
    {
    }

    public function __construct(Job $job)
    {
        // PHP's statics end with the request: under php-fpm each one reads the C declarations anew.
        // This is the dearest of the three ways that the package describes, `ffi.enable=true`. What
        // FFI leaves behind, some 300 bytes, goes with the request, of which this worker has only one.
        (static function (): void {
            self::$loaded = [];
        })->bindTo(null, Native::class)();

        $rules = [];
        for ($number = 1; $number <= $job->rules; $number++) {
            $rules[] = "rule$number: $job->limit/{$job->windowMs}ms";
        }
        $this->rule = "rule$job->rules";
        $this->limiter = new Limiter($job->store, implode('; ', $rules));
    }

    public function hit(string $key): bool
    {
        return $this->limiter->hit($key, $this->rule)->allowed;
    }

    public function prune(): int
    {
        return $this->limiter->prune();
    }

    public function version(): string
    {
        return "ratelite {$this->limiter->info()['version']}";
    }
}
