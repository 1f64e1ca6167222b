<?php

declare(strict_types=1);

namespace RateLite\Tests\Support;

/**
 * A process that a test starts and ends.
 */
final class Process
{
    /** @var resource */
    private $process;

    public readonly int $pid;

    /**
     * @param list<string>          $command
     * @param array<string, string> $environment Added to this process's own.
     * @param string                $log         Where what it prints goes.
     */
    public function __construct(array $command, array $environment, string $log, ?string $directory = null)
    {
        $output = ['file', $log, 'a'];
        $process = proc_open($command, [['file', '/dev/null', 'r'], $output, $output], $pipes, $directory, $environment + getenv());
        if ($process === false) {
            throw new \RuntimeException("cannot start $command[0]");
        }
        $this->process = $process;
        $this->pid = proc_get_status($process)['pid'];
    }

    public function __destruct()
    {
        $this->stop();
    }

    public function stop(): void
    {
        if (!is_resource($this->process)) {
            return;
        }
        // The workers of `php -S` outlive their master.
        $children = $this->children();
        // Asked again and again: php-fpm forgets a signal that comes while a reload replaces its program.
        for ($try = 0; $try < 500 && proc_get_status($this->process)['running']; $try++) {
            proc_terminate($this->process, $try < 250 ? SIGTERM : SIGKILL);
            usleep(20_000);
        }
        proc_close($this->process);
        foreach ($children as $child) {
            posix_kill($child, SIGTERM);
        }
    }

    /**
     * @return list<int>
     */
    public function children(): array
    {
        $pids = (string) @file_get_contents("/proc/$this->pid/task/$this->pid/children");

        return array_map(intval(...), preg_split('/ /', $pids, -1, PREG_SPLIT_NO_EMPTY) ?: []);
    }

    /**
     * Runs a command to its end.
     *
     * @param list<string>          $command
     * @param array<string, string> $environment Added to this process's own.
     *
     * @return array{int, string} Exit code, and what it printed on both outputs.
     */
    public static function run(array $command, array $environment = []): array
    {
        $process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, null, $environment + getenv());
        if ($process === false) {
            throw new \RuntimeException("cannot start $command[0]");
        }
        $text = (string) stream_get_contents($pipes[1]);

        return [proc_close($process), $text];
    }

    /**
     * Runs PHP code, which finds the package loaded, in a process of its own.
     *
     * @param list<string>          $arguments   Of PHP: `-d name=value`.
     * @param array<string, string> $environment
     *
     * @return array{int, string}
     */
    public static function php(string $code, array $arguments = [], array $environment = []): array
    {
        $load = 'require_once ' . var_export(dirname(__DIR__, 2) . '/autoload.php', true) . ';';

        return self::run([PHP_BINARY, ...$arguments, '-r', $load . $code], $environment);
    }

    /** A port of the loopback that nobody listens on. */
    public static function freePort(): int
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0') ?: throw new \RuntimeException('no port');
        $name = (string) stream_socket_get_name($socket, false);
        fclose($socket);

        return (int) substr($name, strlen('127.0.0.1:'));
    }

    /** Waits until somebody listens on a port of the loopback. */
    public static function awaitPort(int $port, string $log): void
    {
        for ($try = 0; $try < 500; $try++) {
            $socket = @stream_socket_client("tcp://127.0.0.1:$port", $code, $message, 1);
            if ($socket !== false) {
                fclose($socket);

                return;
            }
            usleep(20_000);
        }
        throw new \RuntimeException("nobody listens on port $port: " . @file_get_contents($log));
    }
}
