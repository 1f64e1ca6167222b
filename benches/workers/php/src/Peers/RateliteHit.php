<?php

declare(strict_types=1);

namespace RateLite\Bench\Peers;

use RateLite\Durability;

/**
 * In the file before it is answered.
 */
final class RateliteHit extends Ratelite
{
    protected const DURABILITY = Durability::Hit;
}
