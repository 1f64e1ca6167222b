<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Durability;

/**
 * On a server, and whoever was denied is refused without asking until the window ends.
 */
final class RateliteRedisDenied extends Ratelite
{
    protected const DURABILITY = Durability::Default;

    protected const REMEMBER_DENIED = true;
}
