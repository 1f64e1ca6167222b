<?php

declare(strict_types=1);

namespace RateLite;

/**
 * What a limiter answers when its store fails: the disk is full, the wait for others too long.
 *
 * The library itself never takes a failure for an allowance; this is the host's decision. Mistakes
 * of the caller (an argument, a policy, a rule that is not there) are thrown whatever is chosen.
 */
enum OnError
{
    /** Throw the RateLiteException. */
    case Raise;

    /** Let the request pass, and nothing is spent: for when a page that answers matters more than its limit. */
    case Allow;

    /** Refuse the request: for when what the limit guards matters more, such as a login. */
    case Deny;
}
