<?php

declare(strict_types=1);

namespace RateLite\Tests\Support;

/**
 * php-fpm behind nginx, on the loopback.
 */
final class Fpm
{
    public readonly string $url;

    private readonly Process $fpm;

    private readonly Process $nginx;

    /**
     * @param string                $directory   For everything that the two write.
     * @param array<string, string> $pool        Directives of the pool, over those below.
     * @param array<string, string> $ini         PHP's settings, of the master.
     * @param array<string, string> $environment Of the workers.
     */
    public function __construct(private readonly string $directory, string $script, array $pool, array $ini, array $environment)
    {
        $port = Process::freePort();
        $this->fpm = $this->startFpm($port, $pool, $ini, $environment);
        $this->nginx = $this->startNginx(Process::freePort(), $port, $script);
    }

    public function stop(): void
    {
        $this->nginx->stop();
        $this->fpm->stop();
    }

    /** As `systemctl reload php-fpm` does. */
    public function reload(): void
    {
        posix_kill($this->fpm->pid, SIGUSR2);
    }

    /** Kills one of the workers, whatever it is doing. */
    public function killWorker(): void
    {
        $workers = $this->fpm->children();
        if ($workers !== []) {
            posix_kill($workers[array_rand($workers)], SIGKILL);
        }
    }

    public function log(): string
    {
        return (string) file_get_contents("$this->directory/fpm.log") . file_get_contents("$this->directory/nginx.log");
    }

    private function startFpm(int $port, array $pool, array $ini, array $environment): Process
    {
        $root = posix_geteuid() === 0;
        $pool += [
            'listen' => "127.0.0.1:$port",
            'listen.backlog' => '4096',
            'pm' => 'static',
            'pm.max_children' => '4',
            'catch_workers_output' => 'yes',
        ] + ($root ? ['user' => 'root'] : []);
        $lines = ['[global]', "error_log = $this->directory/fpm.log", 'daemonize = no', 'process_control_timeout = 20s', '[www]'];
        foreach ($pool as $name => $value) {
            $lines[] = "$name = $value";
        }
        foreach ($environment as $name => $value) {
            $lines[] = "env[$name] = \"$value\"";
        }
        file_put_contents("$this->directory/fpm.conf", implode("\n", $lines) . "\n");
        $command = [$this->binary(), '-F', '-y', "$this->directory/fpm.conf", ...($root ? ['-R'] : [])];
        foreach ($ini as $name => $value) {
            array_push($command, '-d', "$name=$value");
        }
        $process = new Process($command, [], "$this->directory/fpm.out");
        Process::awaitPort($port, "$this->directory/fpm.log");

        return $process;
    }

    private function startNginx(int $port, int $fpm, string $script): Process
    {
        $user = posix_geteuid() === 0 ? 'user root;' : '';
        file_put_contents("$this->directory/nginx.conf", <<<CONF
            $user daemon off; pid $this->directory/nginx.pid; error_log $this->directory/nginx.log warn;
            worker_processes 1; worker_rlimit_nofile 16384;
            events { worker_connections 8192; }
            http {
                access_log off;
                client_body_temp_path $this->directory/body; proxy_temp_path $this->directory/proxy;
                fastcgi_temp_path $this->directory/fastcgi; uwsgi_temp_path $this->directory/uwsgi; scgi_temp_path $this->directory/scgi;
                server {
                    listen 127.0.0.1:$port backlog=4096;
                    location / {
                        fastcgi_pass 127.0.0.1:$fpm;
                        fastcgi_read_timeout 60;
                        fastcgi_param SCRIPT_FILENAME $script;
                        fastcgi_param REQUEST_METHOD \$request_method;
                        fastcgi_param REQUEST_URI \$request_uri;
                        fastcgi_param QUERY_STRING \$query_string;
                        fastcgi_param REMOTE_ADDR \$remote_addr;
                    }
                }
            }
            CONF);
        $process = new Process(['nginx', '-c', "$this->directory/nginx.conf", '-e', "$this->directory/nginx.log"], [], "$this->directory/nginx.log");
        Process::awaitPort($port, "$this->directory/nginx.log");
        $this->url = "http://127.0.0.1:$port";

        return $process;
    }

    private function binary(): string
    {
        $versioned = sprintf('/usr/sbin/php-fpm%d.%d', PHP_MAJOR_VERSION, PHP_MINOR_VERSION);

        return is_executable($versioned) ? $versioned : 'php-fpm';
    }
}
