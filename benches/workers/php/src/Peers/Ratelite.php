<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Bench\Job;
use RateLite\Bench\Peer;
use RateLite\Durability;
use RateLite\Internal\Native;
use RateLite\Limiter;
use RateLite\Options;

require_once __DIR__ . '/../../../../../bindings/php/autoload.php';

/**
 * Counted in the shared table, and in the file an interval later.
 */
class Ratelite implements Peer
{
    protected const DURABILITY = Durability::Interval;

    protected const REMEMBER_DENIED = null;

    /** How long to wait for a server: as in the Rust worker. */
    private const PATIENCE_MS = 5_000;

    private readonly Limiter $limiter;

    /** The policy's last rule; the only one need not be named. */
    private readonly ?string $rule;

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
        $this->rule = $job->rules > 1 ? "rule$job->rules" : null;
        $options = new Options(
            durability: static::DURABILITY,
            tableSlots: $job->tableSlots,
            connectTimeoutMs: self::PATIENCE_MS,
            commandTimeoutMs: self::PATIENCE_MS,
            rememberDenied: static::REMEMBER_DENIED,
        );
        $this->limiter = new Limiter($job->store, implode('; ', $rules), $options);
    }

    public function hit(string $key): bool
    {
        return $this->limiter->hit($key, $this->rule)->allowed;
    }

    public function prune(): int
    {
        return $this->limiter->prune();
    }

    /** With the durability that is in force, which need not be the one asked for; on a server, with what that is. */
    public function version(): string
    {
        $info = $this->limiter->info();
        $inForce = isset($info['remember_denied'])
            ? "{$info['engine']} {$info['engine_version']}, remember_denied " . json_encode($info['remember_denied'])
            : "durability {$info['durability']}";

        return "ratelite {$info['version']}, $inForce";
    }
}
