<?php

declare(strict_types=1);

require_once __DIR__ . '/../autoload.php';
require_once __DIR__ . '/../examples/ping-api/PingApi.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'RateLite\\Tests\\')) {
        require __DIR__ . '/' . strtr(substr($class, strlen('RateLite\\Tests\\')), '\\', '/') . '.php';
    }
});

if (is_file(__DIR__ . '/../vendor/autoload.php')) {
    require_once __DIR__ . '/../vendor/autoload.php';
} else {
    // Where Debian's packages of these libraries put their loaders.
    foreach (['Nyholm/Psr7', 'Slim/Psr7', 'Illuminate/Events', 'Illuminate/Routing', 'Symfony/Component/RateLimiter',
        'Symfony/Component/HttpFoundation'] as $library) {
        require_once "$library/autoload.php";
    }
    if (!interface_exists(Psr\Http\Server\MiddlewareInterface::class)) {
        require_once __DIR__ . '/Support/psr15.php';
    }
}
