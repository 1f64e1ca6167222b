<?php

/* The same as hits.c, in PHP. */

declare(strict_types=1);

require_once __DIR__ . '/../../bindings/php/autoload.php';

[, $store, $durability, $policy, $key, $nowMs, $hits] = $argv;
$limiter = new RateLite\Limiter($store, $policy, options: new RateLite\Options(
    durability: $durability === 'hit' ? RateLite\Durability::Hit : RateLite\Durability::Interval,
    connectTimeoutMs: 10_000, // of a server, if it is one
    commandTimeoutMs: 10_000,
));
if ($hits === '0') {
    $status = $limiter->status($key, nowMs: (int) $nowMs);
    echo "$status->limit $status->count $status->remaining $status->resetAt $status->retryAfter\n";
} else {
    echo "ready\n";
    fgets(STDIN);
}
$results = [];
for ($i = 0; $i < (int) $hits; $i++) {
    $results[] = $limiter->hit($key, nowMs: (int) $nowMs);
}
foreach ($results as $result) {
    echo $result->count, ' ', (int) $result->allowed, "\n";
}
