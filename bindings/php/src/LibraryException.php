<?php

declare(strict_types=1);

namespace RateLite;

/**
 * The shared library cannot be used: it was not found, is of another version than this package, or
 * PHP's FFI is off. The message says what to do. OnError never covers it: it is a mistake of the
 * installation, and no request would ever be limited.
 */
final class LibraryException extends RateLiteException
{
}
