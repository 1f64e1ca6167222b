<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\InvalidArgumentException;
use RateLite\Limiter;
use RateLite\Options;
use RateLite\Tests\Support\TestCase;

final class LifetimeTest extends TestCase
{
    public function test_close_twice_is_fine(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min');
        $limiter->close();
        $limiter->close();
        $this->expectException(InvalidArgumentException::class);
        $limiter->hit('k');
    }

    public function test_every_verb_of_a_closed_limiter_is_an_exception(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min');
        $result = $limiter->hit('k', nowMs: self::NOW);
        $limiter->close();
        foreach ([
            fn () => $limiter->hit('k'),
            fn () => $limiter->status('k'),
            fn () => $limiter->check('k'),
            fn () => $limiter->refund('k'),
            fn () => $limiter->reset('k'),
            fn () => $limiter->prune(),
            fn () => $limiter->route('GET', '/'),
            fn () => $limiter->headers($result),
            fn () => $limiter->problem($result),
            fn () => $limiter->ruleName(0),
            fn () => $limiter->info(),
        ] as $call) {
            $mistake = self::thrown($call);
            self::assertInstanceOf(InvalidArgumentException::class, $mistake);
            self::assertStringContainsString('closed', $mistake->getMessage());
        }
    }

    public function test_a_limiter_cannot_be_cloned(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min');
        $error = self::thrown(fn () => clone $limiter);
        self::assertStringContainsString('clone', $error->getMessage());
        self::assertTrue($limiter->hit('k', nowMs: self::NOW)->allowed);
    }

    public function test_a_limiter_can_be_neither_serialized_nor_forged(): void
    {
        $limiter = new Limiter($this->store(), 'a: 3/min');
        self::assertInstanceOf(\LogicException::class, self::thrown(fn () => serialize($limiter)));
        self::assertInstanceOf(\LogicException::class, self::thrown(fn () => unserialize('O:16:"RateLite\\Limiter":0:{}')));
    }

    public function test_a_limiter_out_of_scope_is_closed(): void
    {
        $open = fn () => new Limiter($this->store(), 'a: 3/min', new Options(keepOpen: false));
        $limiter = $open();
        $limiter->hit('k', nowMs: self::NOW);
        self::assertFileExists("{$this->store()}-wal");
        unset($limiter);
        self::assertFileDoesNotExist("{$this->store()}-wal");
        self::assertSame(1, $open()->status('k', nowMs: self::NOW)->count);
    }

    public function test_ten_thousand_limiters_grow_neither_descriptors_nor_memory(): void
    {
        $one = function (): void {
            $limiter = new Limiter($this->store(), 'a: 3/min', new Options(keySecret: 'secret'));
            $limiter->headers($limiter->status('k', nowMs: self::NOW));
        };
        for ($i = 0; $i < 1000; $i++) {
            $one();
        }
        $before = [count(scandir('/proc/self/fd')), memory_get_usage(), self::resident()];
        for ($i = 0; $i < 10_000; $i++) {
            $one();
        }
        self::assertSame($before[0], count(scandir('/proc/self/fd')));
        self::assertLessThan($before[1] + 4096, memory_get_usage());
        self::assertLessThan($before[2] + 512, self::resident());
    }

    /** Resident memory in KiB. */
    private static function resident(): int
    {
        return (int) explode(' ', file_get_contents('/proc/self/statm'))[1] * 4;
    }

    public function test_a_signal_handler_that_hits_does_not_change_the_answer_it_interrupts(): void
    {
        $limiter = new Limiter($this->store(), 'a: 9007199254740991/366d');
        $handled = 0;
        pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, function () use ($limiter, &$handled): void {
            self::assertSame(++$handled, $limiter->hit('handler', nowMs: self::NOW)->count);
        });
        $sender = proc_open(['sh', '-c', 'while sleep 0.001; do kill -USR1 "$1" || exit; done', 'sh', (string) getmypid()], [], $pipes);
        try {
            for ($count = 1; $handled < 100; $count++) {
                self::assertSame($count, $limiter->hit('k', nowMs: self::NOW)->count);
            }
        } finally {
            proc_terminate($sender);
            proc_close($sender);
            pcntl_signal(SIGUSR1, SIG_DFL);
            pcntl_async_signals(false);
        }
    }

    public function test_parent_and_children_of_a_fork_count_together_exactly(): void
    {
        $limiter = new Limiter($this->store(), 'a: 100/366d');
        $limiter->hit('k', nowMs: self::NOW);
        $children = [];
        for ($child = 0; $child < 4; $child++) {
            $pid = pcntl_fork();
            if ($pid === 0) {
                $allowed = 0;
                for ($i = 0; $i < 50; $i++) {
                    $allowed += (int) $limiter->hit('k', nowMs: self::NOW)->allowed;
                }
                // The exit code is the answer, and no destructor of PHPUnit's may run here.
                pcntl_exec('/bin/sh', ['-c', "exit $allowed"]);
            }
            $children[] = $pid;
        }
        $allowed = 1;
        foreach ($children as $pid) {
            pcntl_waitpid($pid, $status);
            $allowed += pcntl_wexitstatus($status);
        }
        self::assertSame(100, $allowed);
        self::assertSame(201, $limiter->status('k', nowMs: self::NOW)->count);
    }
}
