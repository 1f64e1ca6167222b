<?php

/* Hits until it is killed, and says so byte by byte in a file that survives it, as worker.c. */

declare(strict_types=1);

require_once __DIR__ . '/../../bindings/php/autoload.php';

[, $store, $word] = $argv;
$said = fopen($word, 'ab');
stream_set_write_buffer($said, 0);
$limiter = new RateLite\Limiter(
    $store,
    'attack: 9007199254740991/366d; few: 500/366d',
    options: new RateLite\Options(busyTimeoutMs: 20000),
);
for ($number = 0;; $number++) {
    fwrite($said, '<');
    $limiter->hit('k' . $number % 97, rule: 'attack');
    fwrite($said, '>');
    if ($limiter->hit('k0', rule: 'few')->allowed) {
        fwrite($said, '+');
    }
}
