<?php

declare(strict_types=1);

namespace RateLite\Internal;

use FFI;
use FFI\CData;
use FFI\CType;
use RateLite\InvalidArgumentException;
use RateLite\Options;
use RateLite\RateLiteException;
use RateLite\Result;

/**
 * Between PHP's values and C's: codes become exceptions, structures become objects, and buffers are
 * strings.
 *
 * @internal
 */
final class Native
{
    private const TEXT = 512;

    /** @var array<string, self> By the path that was asked for; lives as long as the request. */
    private static array $loaded = [];

    // Parsed once, since FFI::new() with a name parses it each time.
    private readonly CType $resultType;

    private readonly CType $textType;

    private readonly CType $handleType;

    private function __construct(public readonly FFI $ffi)
    {
        // Arrays, since an array decays to the pointer that C wants.
        $this->resultType = $ffi->type('rl_result[1]');
        $this->textType = $ffi->type(sprintf('char[%d]', self::TEXT));
        $this->handleType = $ffi->type('rl_limiter *[1]');
    }

    /**
     * @param string|null $library Path of the library, or null to look for it.
     */
    public static function of(?string $library): self
    {
        return self::$loaded[$library ?? ''] ??= new self(Library::load($library));
    }

    /** An `rl_limiter *`, to be closed with rl_close(). */
    public function open(string $store, string $policy, ?Options $options): CData
    {
        $slot = $this->ffi->new($this->handleType);
        [$struct, $texts, $secret] = $options === null ? [null, [], null] : $this->options($options);
        try {
            $this->expect($this->ffi->rl_open($store, $policy, $struct, $slot));
        } finally {
            if ($secret !== null) {
                FFI::memset($secret, 0, FFI::sizeof($secret));
            }
        }

        return $slot[0];
    }

    /** Throws unless the code is one of success. To be called at once: the next call clears the message. */
    public function expect(int $code): int
    {
        if ($code >= 0) {
            return $code;
        }
        $message = $this->ffi->rl_last_error() ?: $this->ffi->rl_strerror($code);
        throw match ($code) {
            RateLiteException::EINVAL, RateLiteException::EPOLICY, RateLiteException::ENORULE
                => new InvalidArgumentException($message, $code),
            default => new RateLiteException($message, $code),
        };
    }

    /**
     * What a function writes that takes a buffer and returns the length of its text.
     *
     * @param \Closure(CData, int): int $write
     */
    public function text(\Closure $write): string
    {
        $buffer = $this->ffi->new($this->textType);
        $capacity = self::TEXT;
        while (($length = $this->expect($write($buffer, $capacity))) >= $capacity) {
            $capacity = $length + 1;
            $buffer = $this->ffi->new("char[$capacity]");
        }

        return FFI::string($buffer, $length);
    }

    public function room(): Room
    {
        return new Room($this->ffi->new($this->resultType));
    }

    /** An `rl_result *` for the functions that take one. */
    public function struct(Result $result): CData
    {
        $room = $this->room();
        $room->write($result);

        return $room->array;
    }

    /**
     * What a function answers that counts rows.
     *
     * @param \Closure(CData): int $ask
     */
    public function removed(\Closure $ask): int
    {
        $removed = $this->ffi->new('int64_t[1]');
        $this->expect($ask($removed));

        return $removed[0];
    }

    /**
     * @return array{CData, list<CData>, CData|null} The structure, and what it points to: texts, and the secret.
     */
    private function options(Options $options): array
    {
        $switch = static fn (?bool $value): int => match ($value) {
            null => 0,
            true => 1,
            false => 2,
        };
        $struct = $this->ffi->new('rl_options[1]');
        $c = $struct[0];
        $c->struct_size = FFI::sizeof($c);
        $c->busy_timeout_ms = Check::option('busyTimeoutMs', $options->busyTimeoutMs);
        $c->durability = $options->durability->value;
        $c->flush_interval_ms = Check::option('flushIntervalMs', $options->flushIntervalMs);
        $c->auto_prune = $switch($options->autoPrune);
        $c->keep_open = $switch($options->keepOpen);
        $c->audit = $switch($options->audit);
        $c->recover_corrupt = $switch($options->recoverCorrupt);
        $c->audit_retention_s = Check::option('auditRetentionSeconds', $options->auditRetentionSeconds);
        $c->file_mode = Check::option('fileMode', $options->fileMode);
        $c->table_slots = Check::option('tableSlots', $options->tableSlots);
        $c->connect_timeout_ms = Check::option('connectTimeoutMs', $options->connectTimeoutMs);
        $c->command_timeout_ms = Check::option('commandTimeoutMs', $options->commandTimeoutMs);
        $c->remember_denied = $switch($options->rememberDenied);
        $c->insurance_percent = Check::option('insurancePercent', $options->insurancePercent);
        $texts = [];
        foreach (['insurance' => 'insurance', 'insurance_policy' => 'insurancePolicy'] as $field => $name) {
            $text = Check::text($name, $options->$name);
            if ($text !== null) {
                $texts[] = $kept = $this->bytes("$text\0");
                $c->$field = $this->ffi->cast('char *', $kept);
            }
        }
        $bytes = $options->keySecret;
        if ($bytes === null) {
            return [$struct, $texts, null];
        }
        $secret = $this->bytes($bytes);
        $c->key_secret = $this->ffi->cast('char *', $secret);
        $c->key_secret_len = strlen($bytes);

        return [$struct, $texts, $secret];
    }

    /** A copy for C to read. */
    private function bytes(string $bytes): CData
    {
        $length = strlen($bytes);
        $copy = $this->ffi->new(sprintf('char[%d]', max(1, $length)));
        FFI::memcpy($copy, $bytes, $length);

        return $copy;
    }
}
