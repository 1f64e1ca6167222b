<?php

/*
 * The gateway lesson: a budget per client and route class, and two responses that tell it.
 *
 *     php -S 127.0.0.1:8080 bindings/php/examples/gateway/index.php
 *
 * In the environment: RATELITE_STORE (path of the store), GATEWAY_POLICY, and GATEWAY_KEY_HEADER (for
 * trying it out: the header field that names the client, such as X-Client-Key).
 */

declare(strict_types=1);

require_once __DIR__ . '/../../autoload.php';
require_once __DIR__ . '/../serve.php';

use RateLite\IpKey;
use RateLite\Limiter;

serve(static function (array $server): array {
    $limiter = new Limiter(
        getenv('RATELITE_STORE') ?: sys_get_temp_dir() . '/gateway.db',
        getenv('GATEWAY_POLICY') ?: 'login: POST /login 3/10s; api: * 10/10s',
    );
    $field = 'HTTP_' . strtoupper(strtr(getenv('GATEWAY_KEY_HEADER') ?: '-', '-', '_'));
    $key = ($server[$field] ?? '') ?: IpKey::of($server['REMOTE_ADDR']);
    $json = ['Content-Type' => 'application/json'];

    $rule = $limiter->route($server['REQUEST_METHOD'], $server['REQUEST_URI']);
    if ($rule === null) {
        return [200, $json, '{"rule":null}'];
    }
    $result = $limiter->hit($key, $rule);
    $headers = $limiter->headers($result);

    return $result->allowed
        ? [200, $headers + $json, json_encode(['rule' => $rule, 'remaining' => $result->remaining])]
        : [429, $headers + ['Content-Type' => 'application/problem+json'], $limiter->problem($result)];
});
