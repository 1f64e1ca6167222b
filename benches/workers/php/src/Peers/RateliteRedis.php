<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Durability;

/**
 * On a server, which decides by itself what is durable.
 */
final class RateliteRedis extends Ratelite
{
    protected const DURABILITY = Durability::Default;

    protected const REMEMBER_DENIED = false;
}
