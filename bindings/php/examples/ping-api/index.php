<?php

/*
 * php -S 127.0.0.1:8080 bindings/php/examples/ping-api/index.php
 *
 * In the environment: RATELITE_STORE (path of the store), PING_LIMIT (3) and PING_WINDOW (60, seconds).
 */

declare(strict_types=1);

require_once __DIR__ . '/../../autoload.php';
require_once __DIR__ . '/../serve.php';
require_once __DIR__ . '/PingApi.php';

$api = static fn (array $server): array => (new PingApi(
    getenv('RATELITE_STORE') ?: sys_get_temp_dir() . '/ping-api.db',
    (int) (getenv('PING_LIMIT') ?: 3),
    (int) (getenv('PING_WINDOW') ?: 60),
))->answer($server);

serve($api);
