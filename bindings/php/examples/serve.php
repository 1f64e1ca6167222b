<?php

declare(strict_types=1);

/**
 * Runs an example under `php -S`, php-fpm or any other server.
 *
 * PHP's default, ffi.enable=preload, lets FFI be used by the command line but not by `php -S`. Where
 * it is off, a command-line process answers each request, so that an example runs on any PHP as it
 * is; with ffi.enable=true, or preloaded, the server's own process does.
 *
 * @param \Closure(array<string, mixed>): array{int, array<string, string>, string} $answer Takes $_SERVER, gives
 *                                                                          status, header fields and body.
 */
function serve(\Closure $answer): void
{
    if (PHP_SAPI === 'cli') {
        echo serialize($answer(unserialize((string) stream_get_contents(STDIN), ['allowed_classes' => false])));

        return;
    }
    if (PHP_SAPI === 'cli-server' && ini_get('ffi.enable') === 'preload' && !ini_get('opcache.preload')) {
        $process = proc_open([PHP_BINARY, $_SERVER['SCRIPT_FILENAME']], [['pipe', 'r'], ['pipe', 'w']], $pipes);
        fwrite($pipes[0], serialize($_SERVER));
        fclose($pipes[0]);
        $text = stream_get_contents($pipes[1]);
        [$status, $headers, $body] = unserialize($text, ['allowed_classes' => false]) ?: [500, [], $text];
        proc_close($process);
    } else {
        [$status, $headers, $body] = $answer($_SERVER);
    }
    http_response_code($status);
    foreach ($headers as $name => $value) {
        header("$name: $value");
    }
    echo $body;
}
