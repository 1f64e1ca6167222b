<?php

/**
 * Prints the C declarations for `ffi.preload`, with the path of the library as it is found now.
 *
 *     php vendor/ratelite/ratelite/scope.php > /etc/php/ratelite.scope.h
 *
 * Then set `ffi.preload=/etc/php/ratelite.scope.h` beside `opcache.preload`. It is the way to read
 * the declarations once a server where `opcache.preload_user` is set, which keeps preload.php from
 * doing it.
 */

declare(strict_types=1);

require_once __DIR__ . '/autoload.php';

echo RateLite\Internal\Library::scopeHeader();
