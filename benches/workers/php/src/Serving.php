<?php

declare(strict_types=1);

namespace RateLite\Bench;

/**
 * One process that answers the commands of the protocol.
 */
final class Serving
{
    /**
     * @param resource $input
     * @param resource $output
     */
    public function __construct(private readonly mixed $input, private readonly mixed $output)
    {
    }

    public function serve(Job $job, int $firstKey): void
    {
        $peer = new $job->peer($job);
        $loop = new Loop($job->keys, $firstKey);
        $peer->hit('worker ' . getmypid());
        fwrite($this->output, "ready\n");

        while (($line = fgets($this->input)) !== false) {
            $command = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
            $answer = match ($command['do']) {
                'run', 'hits' => $loop->run($peer->hit(...), $command),
                'open' => $loop->run(static fn (string $key): bool => (new $job->peer($job))->hit($key), $command),
                'prune' => self::prune($peer),
                'about' => [
                    'version' => "{$peer->version()}, PHP " . PHP_VERSION,
                    'clock_ns' => Loop::clockNs(),
                    'loop_ns' => $loop->idleNs($command['every'] ?? 0),
                ],
            };
            fwrite($this->output, json_encode($answer + ['rss_bytes' => self::residentBytes()], JSON_THROW_ON_ERROR) . "\n");
        }
    }

    /**
     * @return array<string, mixed>
     */
    private static function prune(Peer $peer): array
    {
        $start = hrtime(true);
        $removed = 0;
        $error = null;
        try {
            $removed = $peer->prune();
        } catch (\Throwable $failure) {
            $error = $failure->getMessage();
        }

        return ['removed' => $removed, 'seconds' => (hrtime(true) - $start) / 1e9, 'error' => $error];
    }

    private static function residentBytes(): int
    {
        preg_match('/^VmRSS:\s+(\d+) kB$/m', file_get_contents('/proc/self/status'), $match);

        return 1024 * (int) $match[1];
    }
}
