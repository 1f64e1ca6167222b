<?php

declare(strict_types=1);

namespace RateLite;

use FFI\CData;
use RateLite\Internal\Check;
use RateLite\Internal\Native;
use RateLite\Internal\Room;

// Imported, since PHP looks for an unqualified one in the namespace first, at each call.
use function str_contains;
use function strlen;

/**
 * A policy applied to a store.
 *
 *     $limiter = new Limiter('/var/lib/app/limits.db', 'api: 100/min');
 *     $result = $limiter->hit(IpKey::of($_SERVER['REMOTE_ADDR']));
 *     if (!$result->allowed) {
 *         http_response_code(429);
 *     }
 *
 * Counters are kept by rule name, window length and key: every limiter of any process, in any
 * language, that uses the same three on one store shares one counter. Name your rules apart.
 *
 * The worker keeps the store open between requests, so constructing a limiter in each request costs
 * microseconds. After a fork both sides go on with exact counts.
 *
 * Every method throws InvalidArgumentException for a wrong argument or after close(), and, unless
 * it says otherwise, RateLiteException when the store fails. After a failure nothing is spent; the
 * attempt may stay counted. (Of a server, the answer to a hit that is spent may have been lost.)
 */
final class Limiter
{
    private readonly Native $native;

    /** The native's own, one step nearer to hit(). */
    private readonly \FFI $ffi;

    /** @var \Closure(RateLiteException): void */
    private readonly \Closure $onFailure;

    /** `rl_limiter *` on the store, or null while it cannot be opened. */
    private ?CData $handle = null;

    /** `rl_limiter *` in memory: answers about the policy while the store cannot be opened. */
    private ?CData $policyOnly = null;

    /**
     * For the answer of the next call, which takes it and gives it back: a signal handler may run
     * another call before this one's answer is read.
     */
    private ?Room $room = null;

    private bool $closed = false;

    /**
     * What debuggers and logs may see: of an address neither user nor password, nor its options.
     *
     * @return array<string, mixed>
     */
    public function __debugInfo(): array
    {
        $isAddress = preg_match('~^[a-z][a-z0-9+.-]*://~i', $this->store, $scheme) === 1;
        $rest = $isAddress ? explode('?', substr($this->store, strlen($scheme[0])))[0] : $this->store;
        $at = $isAddress ? strrpos($rest, '@') : false;

        return [
            'store' => ($scheme[0] ?? '') . ($at === false ? $rest : substr($rest, $at + 1)),
            'policy' => $this->policy,
            'options' => $this->options,
            'closed' => $this->closed,
        ];
    }

    /**
     * @param string                                  $store     Path of the store's file, created if it is not there, in an
     *                                                           existing, writable directory on a local filesystem. Make
     *                                                           it absolute: under a web server the current directory is
     *                                                           seldom what one thinks. `:memory:` keeps the counters in
     *                                                           this object alone, for tests. Or the address of a Redis
     *                                                           or Valkey: `redis://user:password@host:6379/0`.
     * @param string                                  $policy    Such as `100/min`, or several rules:
     *                                                           `login: POST /login 3/10s; api: * 10/10s, 1000/day`.
     * @param Options|null                            $options   How the store is used; null for the defaults.
     * @param OnError                                 $onError   What hit(), status(), check() and refund() answer when
     *                                                           the store fails. Unless it is Raise, a store that cannot
     *                                                           be opened is tried again at each call.
     * @param (\Closure(RateLiteException): void)|null $onFailure Is told each failure that OnError hides, for the log;
     *                                                           null writes to PHP's error_log().
     * @param string|null                             $library   Path of the shared library; null: the environment
     *                                                           variable RATELITE_LIBRARY, the copy in this package, or
     *                                                           the system's.
     *
     * @throws InvalidArgumentException If the policy does not parse, or an argument or option is out of its range.
     * @throws LibraryException         If the library is not there or of another version.
     * @throws RateLiteException        If the store cannot be opened and $onError is Raise.
     */
    public function __construct(
        #[\SensitiveParameter]
        private readonly string $store,
        private readonly string $policy,
        private readonly ?Options $options = null,
        private readonly OnError $onError = OnError::Raise,
        ?\Closure $onFailure = null,
        ?string $library = null,
    ) {
        Check::text('store', $store);
        Check::text('policy', $policy);
        $this->onFailure = $onFailure ?? static function (RateLiteException $failure): void {
            error_log("ratelite: {$failure->getMessage()}");
        };
        $this->native = Native::of($library);
        $this->ffi = $this->native->ffi;
        try {
            $this->handle();
        } catch (RateLiteException $failure) {
            if ($onError === OnError::Raise || $failure instanceof InvalidArgumentException) {
                throw $failure;
            }
        }
    }

    public function __destruct()
    {
        $this->close();
    }

    /** Two objects must not close one handle. */
    private function __clone()
    {
    }

    /**
     * @return never
     */
    public function __serialize(): array
    {
        throw new \LogicException('a ratelite limiter cannot be serialized: construct it where it is used');
    }

    /**
     * @param array<mixed> $data
     */
    public function __unserialize(array $data): void
    {
        // Else a forged string would make an object without a handle.
        $this->closed = true;
        throw new \LogicException('a ratelite limiter cannot be unserialized: construct it where it is used');
    }

    /**
     * Counts an attempt and says whether it is allowed. One atomic step: there is nothing to check
     * before it.
     *
     * The attempt is counted in every limit of the rule, also when it is denied. It is allowed if the
     * cost fits what is left in all of them, and then spent in all of them; else in none.
     *
     * @param string      $key   Who is charged: any bytes, at least one, compared as they are. Normalise a name as
     *                           your look-up does (case, Unicode form), or look-alikes get a budget each.
     * @param string|null $rule  Name of the rule; null for the only rule of a policy that has one.
     * @param int         $cost  Units to spend, 0 to 2^53 - 1. 0 counts nothing and answers like status().
     * @param int|null    $nowMs Milliseconds since the epoch, 0 to 253370764799999; null for the system clock.
     */
    public function hit(
        #[\SensitiveParameter]
        string $key,
        ?string $rule = null,
        int $cost = 1,
        ?int $nowMs = null,
    ): Result {
        // What judge() does, written out: a call less is felt.
        if ($nowMs !== null && $nowMs < 0) {
            Check::now($nowMs);
        }
        if ($rule !== null && str_contains($rule, "\0")) {
            Check::text('rule', $rule);
        }
        $now = $nowMs ?? -1;
        try {
            $room = $this->room ?? $this->native->room();
            $this->room = null;
            $handle = $this->handle ?? $this->handle();
            $code = $this->ffi->rl_hit($handle, $rule, $key, strlen($key), $cost, $now, $room->array);
            if ($code < 0) {
                $this->native->expect($code);
            }
            $result = $room->result();
            $this->room = $room;

            return $result;
        } catch (RateLiteException $failure) {
            return $this->decided($failure);
        }
    }

    /**
     * Says what a hit of cost 1 would meet now, and counts nothing. For showing, not for deciding:
     * between a status and a hit others may come.
     *
     * @param string      $key   As for hit(). For a key that was never seen, count is 0 and remaining the limit.
     * @param string|null $rule  As for hit().
     * @param int|null    $nowMs As for hit().
     */
    public function status(#[\SensitiveParameter] string $key, ?string $rule = null, ?int $nowMs = null): Result
    {
        return $this->judge('rl_status', $key, $rule, Check::now($nowMs));
    }

    /**
     * hit(), but a denial is an exception.
     *
     * @param string      $key   As for hit().
     * @param string|null $rule  As for hit().
     * @param int         $cost  As for hit().
     * @param int|null    $nowMs As for hit().
     *
     * @throws RateLimitExceededException With key, limit, windowSeconds and retryAfter.
     */
    public function check(
        #[\SensitiveParameter]
        string $key,
        ?string $rule = null,
        int $cost = 1,
        ?int $nowMs = null,
    ): Result {
        $result = $this->hit($key, $rule, $cost, $nowMs);
        if ($result->allowed) {
            return $result;
        }
        $problem = json_decode($this->problem($result), true, flags: JSON_THROW_ON_ERROR);
        throw new RateLimitExceededException($problem['detail'], $key, $rule, $result);
    }

    /**
     * Gives units back in the current windows of the rule, down to nothing spent: for work that was
     * charged and then not done. The attempts stay counted.
     *
     * @param string      $key   As for hit().
     * @param string|null $rule  As for hit().
     * @param int         $cost  Units to give back, 0 to 2^53 - 1.
     * @param int|null    $nowMs As for hit().
     *
     * @return Result What status() says afterwards.
     */
    public function refund(
        #[\SensitiveParameter]
        string $key,
        ?string $rule = null,
        int $cost = 1,
        ?int $nowMs = null,
    ): Result {
        return $this->judge('rl_refund', $key, $rule, $cost, Check::now($nowMs));
    }

    /**
     * Forgets a key: its counters go, attempts too, in every window.
     *
     * @param string      $key  As for hit().
     * @param string|null $rule Name of the rule; null for every rule of this limiter's policy.
     *
     * @return int How many counter rows were removed.
     */
    public function reset(#[\SensitiveParameter] string $key, ?string $rule = null): int
    {
        $rule = Check::text('rule', $rule);
        $handle = $this->handle();

        return $this->native->removed(fn (CData $removed): int
            => $this->native->ffi->rl_reset($handle, $rule, $key, strlen($key), $removed));
    }

    /**
     * Removes the counters whose window is older than the current and the previous one of their own
     * length, of every rule on the store, and audit rows past this limiter's retention. In slices of
     * about a millisecond, between which hits go on. What is counted and not yet in the file is written
     * there first.
     *
     * @param int|null $nowMs As for hit(). Taken literally: a time in the future removes live counters, and 0 none.
     *
     * @return int How many counter rows were removed.
     */
    public function prune(?int $nowMs = null): int
    {
        $now = Check::now($nowMs);
        $handle = $this->handle();

        return $this->native->removed(fn (CData $removed): int
            => $this->native->ffi->rl_prune($handle, $now, $removed));
    }

    /**
     * The first rule whose route fits a request. Touches no store.
     *
     * For a gateway. Behind a framework that decodes and tidies paths, name the rule by the route that
     * matched instead: `//login` or `/%6Cogin` may reach the login handler, but not the rule `/login`.
     *
     * @param string $method The request's method, compared as it is: `POST`.
     * @param string $target The request's target as it stands in the request line.
     *
     * @return string|null The rule's name; null if no rule fits, so that nothing is to be charged.
     */
    public function route(string $method, string $target): ?string
    {
        Check::text('method', $method);
        Check::text('target', $target);
        $rule = $this->native->ffi->new('const char *[1]');
        $code = $this->native->ffi->rl_route($this->policyHandle(), $method, $target, $rule);
        if ($code === RateLiteException::ENORULE) {
            return null;
        }
        $this->native->expect($code);

        return \FFI::string($rule[0]);
    }

    /**
     * The header fields that tell a client where it stands: numbers and rule names only, never a key.
     *
     * @param Result      $result A result of this limiter.
     * @param HeaderStyle $style  Which fields.
     *
     * @return array<string, string> Value by name, in the order to send them. Empty for a result whose store
     *                               failed: there is nothing to tell.
     */
    public function headers(Result $result, HeaderStyle $style = HeaderStyle::X): array
    {
        $handle = $this->policyHandle();
        if ($result->failure !== null) {
            return [];
        }
        $struct = $this->native->struct($result);
        $text = $this->native->text(fn (CData $buffer, int $capacity): int
            => $this->native->ffi->rl_headers($handle, $struct, $style->value, $buffer, $capacity));
        $headers = [];
        foreach (explode("\r\n", rtrim($text, "\r\n")) as $line) {
            [$name, $value] = explode(': ', $line, 2);
            $headers[$name] = $value;
        }

        return $headers;
    }

    /**
     * The body of a refusal, to be sent as `application/problem+json` (RFC 9457) with status 429: type,
     * title, status, detail, limit, remaining, and retry_after if waiting helps. Never a key.
     *
     * @param Result $result A result of this limiter. If its store failed, the body says 503, which is not the
     *                       client's fault.
     */
    public function problem(Result $result): string
    {
        $handle = $this->policyHandle();
        if ($result->failure !== null) {
            return '{"type":"about:blank","title":"Service Unavailable","status":503,'
                . '"detail":"The rate limiter cannot answer at the moment."}';
        }
        $struct = $this->native->struct($result);

        return $this->native->text(fn (CData $buffer, int $capacity): int
            => $this->native->ffi->rl_problem($handle, $struct, $buffer, $capacity));
    }

    /**
     * The name of a rule by its index, as in Result::$rule; null past the last.
     */
    public function ruleName(int $rule): ?string
    {
        return $this->native->ffi->rl_rule_name($this->policyHandle(), $rule);
    }

    /**
     * What is in force, for people and for monitoring; the header's rl_info() names the members. Of a file:
     * durability, locks, sizes, options, and the shared `table` (null: each hit is a transaction) with its
     * `lag`: how far the file is behind, and why. Of a server: its version and mode, whether it is
     * `reachable`, and `insurance`, whose `local` store is told of likewise. More members may come with later
     * versions.
     *
     * @return array<string, mixed>
     */
    public function info(): array
    {
        $handle = $this->handle();
        $json = $this->native->text(fn (CData $buffer, int $capacity): int
            => $this->native->ffi->rl_info($handle, $buffer, $capacity));

        return json_decode($json, true, flags: JSON_THROW_ON_ERROR);
    }

    /**
     * Ends the limiter; again is fine. The counters stay, and unless Options::$keepOpen is false the
     * process keeps the file open for the next limiter.
     */
    public function close(): void
    {
        $this->closed = true;
        foreach ([$this->handle, $this->policyOnly] as $handle) {
            if ($handle !== null) {
                $this->native->ffi->rl_close($handle);
            }
        }
        $this->handle = $this->policyOnly = null;
    }

    /** hit() writes it out for itself: a change here is one there. */
    private function judge(
        string $function,
        #[\SensitiveParameter]
        string $key,
        ?string $rule,
        int ...$numbers,
    ): Result {
        $rule = Check::text('rule', $rule);
        try {
            $room = $this->room ?? $this->native->room();
            $this->room = null;
            $arguments = [...$numbers, $room->array];
            $handle = $this->handle ?? $this->handle();
            $this->native->expect($this->ffi->$function($handle, $rule, $key, strlen($key), ...$arguments));
            $result = $room->result();
            $this->room = $room;

            return $result;
        } catch (RateLiteException $failure) {
            return $this->decided($failure);
        }
    }

    /** The one place where a failure of the store is turned into what OnError says. */
    private function decided(RateLiteException $failure): Result
    {
        if ($failure instanceof InvalidArgumentException || $this->onError === OnError::Raise) {
            throw $failure;
        }
        ($this->onFailure)($failure);

        return Result::withoutStore($this->onError === OnError::Allow, $failure);
    }

    private function handle(): CData
    {
        $this->expectOpen();

        return $this->handle ??= $this->native->open($this->store, $this->policy, $this->options);
    }

    private function policyHandle(): CData
    {
        $this->expectOpen();

        return $this->handle ?? $this->policyOnly ??= $this->native->open(':memory:', $this->policy, null);
    }

    private function expectOpen(): void
    {
        if ($this->closed) {
            throw Check::refusal('this limiter is closed');
        }
    }
}
