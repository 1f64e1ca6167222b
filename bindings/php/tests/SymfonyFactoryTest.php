<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Limiter;
use RateLite\Options;
use RateLite\Symfony\RateLimiterFactory;
use RateLite\Tests\Support\Process;
use RateLite\Tests\Support\TestCase;
use Symfony\Component\HttpFoundation\RateLimiter\AbstractRequestRateLimiter;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\RateLimiter\CompoundLimiter;
use Symfony\Component\RateLimiter\Exception\RateLimitExceededException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;

/**
 * Through the interfaces of Symfony's own components.
 */
final class SymfonyFactoryTest extends TestCase
{
    private function factory(string $policy = 'api: 3/366d', ?string $rule = null): RateLimiterFactory
    {
        return new RateLimiterFactory(new Limiter($this->store(), $policy, new Options(busyTimeoutMs: 5000)), $rule);
    }

    public function test_consume_accepts_as_often_as_the_limit_says(): void
    {
        $limiter = $this->factory()->create('alice');
        $seen = [];
        for ($i = 0; $i < 4; $i++) {
            $limit = $limiter->consume();
            $seen[] = [$limit->isAccepted(), $limit->getRemainingTokens(), $limit->getLimit()];
        }
        self::assertSame([[true, 2, 3], [true, 1, 3], [true, 0, 3], [false, 0, 3]], $seen);
        self::assertTrue($this->factory()->create('bob')->consume(3)->isAccepted());
        $this->expectException(RateLimitExceededException::class);
        $limiter->consume()->ensureAccepted();
    }

    public function test_a_denial_says_when_the_window_ends_and_an_acceptance_says_now(): void
    {
        $limiter = $this->factory('api: 1/366d')->create('alice');
        $accepted = $limiter->consume()->getRetryAfter();
        $denied = $limiter->consume()->getRetryAfter();
        self::assertLessThanOrEqual(new \DateTimeImmutable('+1 second'), $accepted);
        self::assertSame(0, $denied->getTimestamp() % (366 * 86400));
        self::assertGreaterThan($accepted, $denied);
    }

    public function test_consume_zero_looks_and_counts_nothing(): void
    {
        $limiter = $this->factory('api: 1/366d')->create('alice');
        self::assertTrue($limiter->consume(0)->isAccepted());
        self::assertTrue($limiter->consume()->isAccepted());
        self::assertFalse($limiter->consume(0)->isAccepted());
    }

    public function test_more_tokens_than_there_can_be_are_an_error_as_in_symfony(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->factory()->create('alice')->consume(4);
    }

    public function test_a_limit_of_zero_denies(): void
    {
        self::assertFalse($this->factory('api: 0/366d')->create('alice')->consume()->isAccepted());
    }

    public function test_reset_gives_the_key_its_budget_back(): void
    {
        $limiter = $this->factory('api: 1/366d')->create('alice');
        $limiter->consume();
        $limiter->reset();
        self::assertTrue($limiter->consume()->isAccepted());
    }

    public function test_without_a_key_there_is_one_budget_for_everybody(): void
    {
        $factory = $this->factory('api: 1/366d');
        self::assertTrue($factory->create()->consume()->isAccepted());
        self::assertFalse($factory->create()->consume()->isAccepted());
        self::assertTrue($factory->create('alice')->consume()->isAccepted());
    }

    public function test_windows_are_not_lent_ahead(): void
    {
        $this->expectException(ReserveNotSupportedException::class);
        $this->factory()->create('alice')->reserve();
    }

    public function test_a_rule_of_several_is_named(): void
    {
        $policy = 'login: 1/366d; api: 2/366d';
        self::assertSame(1, $this->factory($policy, 'login')->create('alice')->consume()->getLimit());
        self::assertSame(2, $this->factory($policy, 'api')->create('alice')->consume()->getLimit());
    }

    public function test_symfonys_compound_and_request_limiters_take_it(): void
    {
        $login = $this->factory('login: 2/366d');
        $address = $this->factory('address: 5/366d');
        self::assertSame(1, (new CompoundLimiter([$login->create('x'), $address->create('x')]))->consume()->getRemainingTokens());
        $limiter = new class ($login, $address) extends AbstractRequestRateLimiter {
            public function __construct(private readonly RateLimiterFactory $login, private readonly RateLimiterFactory $address)
            {
            }

            protected function getLimiters(Request $request): array
            {
                return [$this->login->create((string) $request->request->get('user')), $this->address->create($request->getClientIp())];
            }
        };
        $request = Request::create('/login', 'POST', ['user' => 'alice'], [], [], ['REMOTE_ADDR' => '192.0.2.1']);
        self::assertSame([true, true, false], array_map(static fn (): bool => $limiter->consume($request)->isAccepted(), [1, 2, 3]));
        $limiter->reset($request);
        self::assertTrue($limiter->consume($request)->isAccepted());
    }

    public function test_where_symfony_has_an_interface_for_factories_it_is_met(): void
    {
        file_put_contents("$this->directory/symfony.php", '<?php namespace Symfony\Component\RateLimiter;'
            . 'interface LimiterInterface {} interface RateLimiterFactoryInterface { public function create(?string $key = null): LimiterInterface; }');
        [$exit, $text] = Process::php(sprintf('require "%s/symfony.php";', $this->directory)
            . '$factory = new RateLite\Symfony\RateLimiterFactory(new RateLite\Limiter(":memory:", "api: 1/s"));'
            . 'echo $factory instanceof Symfony\Component\RateLimiter\RateLimiterFactoryInterface ? "met" : "missed";');
        self::assertSame([0, 'met'], [$exit, $text]);
    }
}
