<?php

/*
 * For cron, say once an hour: removes what no window needs any more, and old rows of api_calls.
 *
 *     7 * * * *  www-data  RATELITE_STORE=/var/lib/app/limits.db php /srv/app/prune.php
 *
 * The counters of the current window and of the one before it stay.
 */

declare(strict_types=1);

require_once __DIR__ . '/../../autoload.php';

use RateLite\Limiter;
use RateLite\Options;

$store = getenv('RATELITE_STORE') ?: sys_get_temp_dir() . '/ping-api.db';
// Every rule on the store is pruned, whichever policy the limiter has; audit says for how long api_calls is kept. A server
// needs no pruning.
$options = new Options(audit: !str_contains($store, '://'));
$removed = (new Limiter($store, 'ping: 3/60s', $options))->prune();
echo "$removed counters removed\n";
