<?php

declare(strict_types=1);

namespace RateLite\Internal;

use RateLite\InvalidArgumentException;
use RateLite\RateLiteException;

/**
 * What must be refused before it reaches C, since FFI or a C string would silently make something
 * else of it. All other arguments are judged by the library.
 *
 * @internal
 */
final class Check
{
    /**
     * A text that C reads up to its first NUL.
     *
     * @return ($text is null ? null : string)
     */
    public static function text(string $name, ?string $text): ?string
    {
        if ($text !== null && str_contains($text, "\0")) {
            throw self::refusal("$name holds a NUL byte, at which C would cut it off");
        }

        return $text;
    }

    /** A time for C, where -1 is the system clock: a mistake of one's own arithmetic must not become "now". */
    public static function now(?int $nowMs): int
    {
        if ($nowMs !== null && $nowMs < 0) {
            throw self::refusal("now_ms is $nowMs; it is null for the system clock, or milliseconds since the epoch");
        }

        return $nowMs ?? -1;
    }

    /** An int that C takes in 32 bits: FFI would drop the others. */
    public static function int32(string $name, int $value): int
    {
        if ($value < -0x80000000 || $value > 0x7FFFFFFF) {
            throw self::refusal("$name is $value, which is more than 32 bits hold");
        }

        return $value;
    }

    /** A numeric option for C, where 0 is the default: who writes 0 means something else. */
    public static function option(string $name, ?int $value): int
    {
        if ($value === 0) {
            throw self::refusal("$name is 0; it is null for the default, or a value as documented");
        }

        return $value ?? 0;
    }

    public static function refusal(string $message): InvalidArgumentException
    {
        return new InvalidArgumentException($message, RateLiteException::EINVAL);
    }
}
