<?php

/*
 * What the tests of real hosts have served.
 */

declare(strict_types=1);

use RateLite\Internal\Library;
use RateLite\Internal\Locator;
use RateLite\Limiter;

require_once __DIR__ . '/../../autoload.php';

$store = (string) getenv('RATELITE_STORE');
$policy = (string) getenv('POLICY');
$key = (string) ($_GET['key'] ?? 'k');
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);

if ($path === '/reset-opcache') {
    opcache_reset();
    exit;
}
try {
    $limiter = new Limiter($store, $policy, library: $_GET['library'] ?? null);
} catch (Throwable $error) {
    http_response_code(500);
    echo $error->getMessage();
    exit;
}
if ($path === '/probe') {
    preg_match_all('#/\S*libratelite\S*\.so\S*#', (string) file_get_contents('/proc/self/maps'), $mapped);
    [, $resident, $shared] = array_map(intval(...), explode(' ', (string) file_get_contents('/proc/self/statm')));
    header('Content-Type: application/json');
    echo json_encode([
        'pid' => getmypid(),
        'descriptors' => count(scandir('/proc/self/fd') ?: []),
        // Pages of the shared table are nobody's own.
        'own_kib' => 4 * ($resident - $shared),
        'preloaded' => (new ReflectionMethod(Library::class, 'preloaded'))->invoke(null, Locator::path()) !== null,
        'mapped' => array_values(array_unique($mapped[0])),
        'count' => $limiter->status('alice')->count,
    ]);
    exit;
}
$result = $limiter->hit($key);
if ($path === '/die') {
    // The answer is in the file before the process that asked is gone.
    file_put_contents("$store.acknowledged", "$result->count\n", FILE_APPEND | LOCK_EX);
    posix_kill(getmypid(), 9);
}
http_response_code($result->allowed ? 200 : 429);
header('X-Pid: ' . getmypid());
foreach ($limiter->headers($result) as $name => $value) {
    header("$name: $value");
}
echo $result->count;
