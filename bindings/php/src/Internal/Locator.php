<?php

declare(strict_types=1);

namespace RateLite\Internal;

/**
 * Where the shared library is: what the caller says, else the environment variable
 * RATELITE_LIBRARY, else the copy beside this package, else what the system's loader finds.
 *
 * @internal
 */
final class Locator
{
    public const VARIABLE = 'RATELITE_LIBRARY';

    public static function path(?string $explicit = null): string
    {
        // Only the process's own environment: under FPM, getenv() would ask the request first.
        $named = $explicit ?? getenv(self::VARIABLE, true);
        if (is_string($named) && $named !== '') {
            return $named;
        }
        foreach (self::bundled() as $path) {
            if (is_file($path)) {
                return $path;
            }
        }

        return self::systemName();
    }

    /**
     * The copy that a package brings, then, in a checkout, what `cargo build --release` made.
     *
     * @return list<string>
     */
    public static function bundled(): array
    {
        $package = dirname(__DIR__, 2);
        $paths = [sprintf('%s/lib/%s-%s/%s', $package, strtolower(PHP_OS_FAMILY), php_uname('m'), self::systemName())];
        $checkout = dirname($package, 2);
        if (is_file("$checkout/include/ratelite.h")) {
            $paths[] = "$checkout/target/release/" . (PHP_OS_FAMILY === 'Darwin' ? 'libratelite.dylib' : 'libratelite.so');
        }

        return $paths;
    }

    /** With the number of the ABI, so that a later, incompatible library is never picked up. */
    public static function systemName(): string
    {
        return sprintf(PHP_OS_FAMILY === 'Darwin' ? 'libratelite.%d.dylib' : 'libratelite.so.%d', Library::ABI_VERSION);
    }
}
