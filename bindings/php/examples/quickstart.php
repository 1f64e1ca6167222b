<?php

/*
 * Five requests of one client under a limit of three a minute.
 *
 *     php quickstart.php limits.db
 */

declare(strict_types=1);

use RateLite\Limiter;

require __DIR__ . '/../autoload.php';

$limiter = new Limiter($argv[1] ?? 'limits.db', 'quickstart: 3/min');
for ($request = 1; $request <= 5; $request++) {
    $result = $limiter->hit('alice');
    echo $result->allowed
        ? "request $request: allowed, $result->remaining left\n"
        : "request $request: denied, retry after $result->retryAfter s\n";
}
