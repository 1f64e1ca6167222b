<?php

declare(strict_types=1);

namespace RateLite\Tests;

use RateLite\Durability;
use RateLite\HeaderStyle;
use RateLite\Internal\Library;
use RateLite\RateLiteException;
use RateLite\Result;
use RateLite\Tests\Support\TestCase;

/**
 * The numbers that PHP repeats are those of the C header.
 */
final class DeclarationsTest extends TestCase
{
    private static function header(): string
    {
        return (string) file_get_contents(self::repository('/include/ratelite.h'));
    }

    /**
     * @return array<string, int> The header's constants whose name begins so, without that beginning.
     */
    private static function constants(string $prefix): array
    {
        preg_match_all("/^#define $prefix(\\w+) (-?\\d+)$/m", self::header(), $found);

        return array_map(intval(...), array_combine($found[1], $found[2]));
    }

    public function test_the_error_codes_are_those_of_the_header(): void
    {
        self::assertEquals(self::constants('RL_(?=E)'), (new \ReflectionClass(RateLiteException::class))->getConstants());
    }

    public function test_the_abi_number_is_that_of_the_header(): void
    {
        self::assertSame(self::constants('RL_ABI_'), ['VERSION' => Library::ABI_VERSION]);
    }

    public function test_the_enumerations_are_those_of_the_header(): void
    {
        $values = static fn (array $cases): array => array_combine(
            array_map(static fn (\BackedEnum $case): string => strtoupper($case->name), $cases),
            array_map(static fn (\BackedEnum $case): int => (int) $case->value, $cases),
        );
        self::assertSame(self::constants('RL_HEADERS_'), $values(HeaderStyle::cases()));
        self::assertSame(self::constants('RL_DURABLE_'), $values(Durability::cases()));
        // What Native writes for a switch, and Check for the system clock.
        self::assertEquals(['DEFAULT' => 0, 'ON' => 1, 'OFF' => 2, 'NOW' => -1], array_intersect_key(
            self::constants('RL_'),
            ['DEFAULT' => 0, 'ON' => 0, 'OFF' => 0, 'NOW' => 0],
        ));
    }

    public function test_every_function_of_the_header_is_used(): void
    {
        preg_match_all('/\b(rl_\w+)\(/', (string) file_get_contents(self::package('/ratelite.cdef.h')), $declared);
        $source = '';
        foreach ([...glob(self::package('/src/*.php')), ...glob(self::package('/src/Internal/*.php'))] as $file) {
            $source .= file_get_contents($file);
        }
        foreach ($declared[1] as $function) {
            self::assertMatchesRegularExpression("/->$function\\(|'$function'/", $source);
        }
    }

    public function test_a_result_has_every_field_of_the_structure(): void
    {
        preg_match('/typedef struct rl_result \{(.*?)\}/s', (string) file_get_contents(self::package('/ratelite.cdef.h')), $struct);
        preg_match_all('/int64_t (\w+);/', $struct[1], $fields);
        $camel = array_map(static fn (string $name): string => lcfirst(str_replace('_', '', ucwords($name, '_'))), $fields[1]);
        $properties = array_map(
            static fn (\ReflectionProperty $property): string => $property->name,
            (new \ReflectionClass(Result::class))->getProperties(),
        );
        self::assertSame([...$camel, 'failure'], $properties);
    }
}
