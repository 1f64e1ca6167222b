<?php

declare(strict_types=1);

namespace RateLite;

/**
 * The call is wrong, not the store: RateLiteException::EINVAL, EPOLICY or ENORULE. Nothing was
 * counted. OnError never covers it.
 */
final class InvalidArgumentException extends RateLiteException
{
}
