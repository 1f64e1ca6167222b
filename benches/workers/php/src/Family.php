<?php

declare(strict_types=1);

namespace RateLite\Bench;

/**
 * Several processes that inherit the memory of APCu, as the workers of one php-fpm do, and answer
 * as one worker.
 */
final class Family
{
    /** @var list<resource> The parent's ends of the children's connections. */
    private array $children = [];

    public function __construct(private readonly Job $job)
    {
        for ($child = 0; $child < $job->processes; $child++) {
            [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
            $pid = pcntl_fork();
            if ($pid === -1) {
                throw new \RuntimeException('cannot fork');
            }
            if ($pid === 0) {
                // Whoever keeps a copy of these ends keeps a sibling from seeing the end of its input.
                array_map(fclose(...), [...$this->children, $ours, STDIN]);
                (new Serving($theirs, $theirs))->serve($job, intdiv(count($job->keys) * $child, $job->processes));
                exit(0);
            }
            fclose($theirs);
            $this->children[] = $ours;
        }
    }

    /**
     * @param resource $input
     * @param resource $output
     */
    public function serve(mixed $input, mixed $output): void
    {
        $this->hear($this->children);
        fwrite($output, "ready\n");
        while (($line = fgets($input)) !== false) {
            $task = json_decode($line, true, flags: JSON_THROW_ON_ERROR)['do'];
            $asked = in_array($task, ['prune', 'about'], true) ? array_slice($this->children, 0, 1) : $this->children;
            foreach ($asked as $child) {
                fwrite($child, $line);
            }
            $answers = array_map(
                static fn (string $json): array => json_decode($json, true, flags: JSON_THROW_ON_ERROR),
                $this->hear($asked),
            );
            $answer = count($asked) === 1 ? $answers[0] : self::merge($answers);
            fwrite($output, json_encode($answer, JSON_THROW_ON_ERROR) . "\n");
        }
        array_map(fclose(...), $this->children);
        while (pcntl_wait($status) > 0) {
        }
    }

    /**
     * One line of each.
     *
     * @param list<resource> $children
     *
     * @return list<string>
     */
    private function hear(array $children): array
    {
        // A connection gives up after 60 s by itself, which is shorter than a hit of PDO may wait.
        return array_map(static function ($child): string {
            stream_set_timeout($child, 3600);

            return fgets($child) ?: throw new \RuntimeException('a child ended');
        }, $children);
    }

    /**
     * @param non-empty-list<array<string, mixed>> $answers
     *
     * @return array<string, mixed>
     */
    private static function merge(array $answers): array
    {
        $of = static fn (string $member): array => array_column($answers, $member);
        $merged = [
            'hits' => array_sum($of('hits')),
            'allowed' => array_sum($of('allowed')),
            'errors' => array_sum($of('errors')),
            'seconds' => max($of('seconds')),
            'error' => array_values(array_filter($of('error')))[0] ?? null,
            'rss_bytes' => array_sum($of('rss_bytes')),
            'hits_each' => $of('hits'),
            'seconds_each' => $of('seconds'),
        ];

        return isset($answers[0]['latency'])
            ? $merged + ['latency' => Histogram::sum($of('latency')), 'max_ns' => max($of('max_ns'))]
            : $merged;
    }
}
