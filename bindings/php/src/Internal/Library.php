<?php

declare(strict_types=1);

namespace RateLite\Internal;

use FFI;
use RateLite\LibraryException;

/**
 * The shared library: its declarations read, its ABI checked.
 *
 * @internal
 */
final class Library
{
    /** RL_ABI_VERSION of the declarations in ratelite.cdef.h. */
    public const ABI_VERSION = 1;

    private const DECLARATIONS = __DIR__ . '/../../ratelite.cdef.h';

    /**
     * @param string|null $explicit Path of the library, or null to look for it.
     *
     * @throws LibraryException
     */
    public static function load(?string $explicit = null): FFI
    {
        if (!extension_loaded('FFI')) {
            throw new LibraryException('PHP\'s extension ffi is not loaded: install or enable it');
        }
        if (PHP_INT_SIZE < 8) {
            throw new LibraryException('ratelite needs a PHP with 64-bit integers');
        }
        $path = Locator::path(Check::text('library', $explicit));
        $ffi = self::preloaded($path) ?? self::parsed($path);
        self::expectAbi($path, $ffi);

        return $ffi;
    }

    /**
     * Reads the declarations once for all requests of all workers: for the preload script, before the
     * server forks. Where PHP does not allow it (`opcache.preload_user` is set, so `ffi.preload` is the
     * way), nothing happens, and each request reads them for itself.
     */
    public static function preload(): void
    {
        $file = tempnam(sys_get_temp_dir(), 'ratelite');
        if ($file === false) {
            return;
        }
        try {
            file_put_contents($file, self::scopeHeader());
            FFI::load($file);
        } catch (FFI\Exception) {
            return;
        } finally {
            unlink($file);
        }
    }

    /** The declarations as a header that FFI::load() and `ffi.preload` take. */
    public static function scopeHeader(): string
    {
        $path = Locator::path();

        return sprintf("#define FFI_SCOPE \"%s\"\n#define FFI_LIB \"%s\"\n\n", self::scope($path), $path)
            . self::declarations();
    }

    private static function preloaded(string $path): ?FFI
    {
        try {
            return FFI::scope(self::scope($path));
        } catch (FFI\Exception) {
            return null;
        }
    }

    private static function parsed(string $path): FFI
    {
        try {
            return FFI::cdef(self::declarations(), $path);
        } catch (FFI\Exception $error) {
            throw self::failure($path, $error);
        }
    }

    private static function failure(string $path, FFI\Exception $error): LibraryException
    {
        $reason = $error->getMessage();
        if (str_contains($reason, 'ffi.enable')) {
            return new LibraryException(
                'PHP\'s FFI is switched off here: set ffi.enable=true, or leave it at preload and set opcache.preload to '
                . dirname(__DIR__, 2) . '/preload.php',
                0,
                $error,
            );
        }
        if (str_contains($reason, 'resolving')) {
            // A function is missing, so it is most likely another ABI; every one has these two.
            try {
                self::expectAbi($path, FFI::cdef('int rl_abi_version(void); const char *rl_version(void);', $path));
            } catch (FFI\Exception) {
                // Not ratelite at all.
            }
        }

        return new LibraryException(
            "cannot load the ratelite library \"$path\": build it with `cargo build --release` or install it, or set "
            . Locator::VARIABLE . " to its path ($reason)",
            0,
            $error,
        );
    }

    private static function expectAbi(string $path, FFI $ffi): void
    {
        $abi = $ffi->rl_abi_version();
        if ($abi !== self::ABI_VERSION) {
            throw new LibraryException(sprintf(
                'the ratelite library "%s" is version %s with ABI %d, and this package needs ABI %d: install the two of '
                . 'one version',
                $path,
                $ffi->rl_version(),
                $abi,
                self::ABI_VERSION,
            ));
        }
    }

    private static function declarations(): string
    {
        return file_get_contents(self::DECLARATIONS)
            ?: throw new LibraryException('cannot read ' . self::DECLARATIONS . ': the package is not complete');
    }

    /** By path, so that a worker with another library never gets the preloaded one. */
    private static function scope(string $path): string
    {
        return 'ratelite-' . md5($path);
    }
}
