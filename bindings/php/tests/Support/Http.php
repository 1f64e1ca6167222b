<?php

declare(strict_types=1);

namespace RateLite\Tests\Support;

/**
 * What comes back over the wire.
 */
final class Http
{
    /**
     * @param array<string, string> $headers By name, lower case.
     */
    private function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }

    /**
     * @param list<string> $headers Lines.
     */
    public static function request(string $method, string $url, array $headers = []): self
    {
        return self::burst([$url], [CURLOPT_CUSTOMREQUEST => $method, CURLOPT_HTTPHEADER => $headers])[0];
    }

    /**
     * Requests that all stand open at once, a connection each.
     *
     * @param list<string>           $urls
     * @param array<int, mixed>      $options
     * @param (\Closure(int): void)|null $onAnswer Is told how many have come.
     *
     * @return list<self> In the order in which they came; status 0 for a connection that broke.
     */
    public static function burst(array $urls, array $options = [], ?\Closure $onAnswer = null): array
    {
        $multi = curl_multi_init();
        foreach ($urls as $url) {
            $handle = curl_init($url);
            curl_setopt_array($handle, $options + [
                CURLOPT_RETURNTRANSFER => true,
                CURLOPT_HEADER => true,
                CURLOPT_FORBID_REUSE => true,
                CURLOPT_PATH_AS_IS => true,
                CURLOPT_TIMEOUT => 60,
                CURLOPT_PROXY => '',
            ]);
            curl_multi_add_handle($multi, $handle);
        }
        $answers = [];
        do {
            curl_multi_exec($multi, $running);
            while ($done = curl_multi_info_read($multi)) {
                $answers[] = self::of($done['handle'], $done['result'] === CURLE_OK ? (string) curl_multi_getcontent($done['handle']) : null);
                curl_multi_remove_handle($multi, $done['handle']);
                if ($onAnswer !== null) {
                    $onAnswer(count($answers));
                }
            }
            curl_multi_select($multi, 0.1);
        } while ($running > 0);

        return $answers;
    }

    /**
     * @param list<self> $answers
     *
     * @return array<int, int> How many came with each status.
     */
    public static function tally(array $answers): array
    {
        $tally = array_count_values(array_map(static fn (self $answer): int => $answer->status, $answers));
        ksort($tally);

        return $tally;
    }

    private static function of(\CurlHandle $handle, ?string $text): self
    {
        if ($text === null) {
            return new self(0, [], '');
        }
        $size = curl_getinfo($handle, CURLINFO_HEADER_SIZE);
        $headers = [];
        foreach (explode("\r\n", substr($text, 0, $size)) as $line) {
            if (str_contains($line, ': ')) {
                [$name, $value] = explode(': ', $line, 2);
                $headers[strtolower($name)] = $value;
            }
        }

        return new self(curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $headers, substr($text, $size));
    }
}
