<?php

/**
 * For `opcache.preload`: with it ratelite works where `ffi.enable` is left at `preload`, and PHP
 * reads the C declarations once a server instead of once a request.
 *
 * If you have a preload script of your own, require this one from it.
 */

declare(strict_types=1);

require_once __DIR__ . '/autoload.php';

// Not the adapters: their interfaces are the host's.
foreach ([...glob(__DIR__ . '/src/*.php') ?: [], ...glob(__DIR__ . '/src/Internal/*.php') ?: []] as $file) {
    require_once $file;
}
RateLite\Internal\Library::preload();
