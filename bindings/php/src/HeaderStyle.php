<?php

declare(strict_types=1);

namespace RateLite;

/**
 * Which header fields tell a client where it stands.
 */
enum HeaderStyle: int
{
    /** `X-RateLimit-Limit`, `-Remaining`, `-Reset` (epoch seconds), then `Retry-After` on a refusal. */
    case X = 0;

    /** As GitHub's API sends them: lower case, with `x-ratelimit-used` and `x-ratelimit-resource`. */
    case GitHub = 1;

    /** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10. */
    case Ietf = 2;
}
