<?php

declare(strict_types=1);

namespace RateLite;

/**
 * How a limiter uses its store. What is null is left to the library's default.
 *
 *     new Options(busyTimeoutMs: 50, audit: true)
 *
 * Values are judged when the limiter is constructed: one out of its range is an
 * InvalidArgumentException there.
 */
final class Options
{
    /**
     * @param int|null    $busyTimeoutMs         The longest that a call waits for others, in milliseconds, 1 to
     *                                           60000; -1: do not wait. Default 1000. A call that gives up is
     *                                           RateLiteException::EBUSY.
     * @param Durability  $durability            When a hit is in the file: by default at most an interval after it
     *                                           was answered.
     * @param int|null    $flushIntervalMs       The interval of Durability::Interval in milliseconds, 1 to 60000.
     *                                           Default 100. Of several limiters on a store the shortest counts.
     * @param bool|null   $autoPrune             Default true: hits remove a few expired rows by themselves, so a
     *                                           store needs no cron job. False: only prune() removes rows.
     * @param bool|null   $keepOpen              Default true: the process keeps the file open after the last close(),
     *                                           so that the next request opens it in microseconds.
     * @param bool|null   $audit                 True: each allowed hit is also a row of the table api_calls, and in
     *                                           the file before it is answered. Default false.
     * @param int|null    $auditRetentionSeconds How long rows of api_calls are kept, 1 to 315360000. Default 30 days
     *                                           where audit is on.
     * @param bool|null   $recoverCorrupt        True: a damaged store is moved aside and begun anew. Default false:
     *                                           it is RateLiteException::ECORRUPT.
     * @param int|null    $fileMode              Permission bits of a file that is created, such as 0660. Default 0600.
     * @param int|null    $tableSlots            How many windows of keys the table holds that the processes on a
     *                                           store share, 1 to 2^32. Default 262144, in 33 MiB of disk. Who creates
     *                                           the store decides; another number later is refused.
     * @param string|null $keySecret             With it, keys are stored as a keyed hash only. Any bytes. The same
     *                                           for everyone who uses the store.
     * @param int|null    $connectTimeoutMs      Of a store on a server: how long connecting may take, in milliseconds, 1
     *                                           to 60000. Default 100.
     * @param int|null    $commandTimeoutMs      Of a store on a server: how long an answer may take. Default 100.
     * @param bool|null   $rememberDenied        Of a store on a server: true: a denied client is refused by this worker,
     *                                           without asking, until a window ends; the server is told after
     *                                           flushIntervalMs, then ever more seldom, so counts lag. Default
     *                                           false.
     * @param string|null $insurance             Of a store on a server: path of a store's file that takes over while the
     *                                           server is away, by limits of its own; Result::$insured tells.
     * @param string|null $insurancePolicy       Those limits: a policy with rules of the same names, in the same order.
     * @param int|null    $insurancePercent      Or so many percent of each limit, 1 to 100. Default 100.
     */
    public function __construct(
        public readonly ?int $busyTimeoutMs = null,
        public readonly Durability $durability = Durability::Default,
        public readonly ?int $flushIntervalMs = null,
        public readonly ?bool $autoPrune = null,
        public readonly ?bool $keepOpen = null,
        public readonly ?bool $audit = null,
        public readonly ?int $auditRetentionSeconds = null,
        public readonly ?bool $recoverCorrupt = null,
        public readonly ?int $fileMode = null,
        public readonly ?int $tableSlots = null,
        #[\SensitiveParameter]
        public readonly ?string $keySecret = null,
        public readonly ?int $connectTimeoutMs = null,
        public readonly ?int $commandTimeoutMs = null,
        public readonly ?bool $rememberDenied = null,
        public readonly ?string $insurance = null,
        public readonly ?string $insurancePolicy = null,
        public readonly ?int $insurancePercent = null,
    ) {
    }

    /**
     * Leaves the secret out of var_dump().
     *
     * @return array<string, mixed>
     */
    public function __debugInfo(): array
    {
        return ['keySecret' => $this->keySecret === null ? null : '(secret)'] + get_object_vars($this);
    }
}
