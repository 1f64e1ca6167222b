<?php

declare(strict_types=1);

namespace RateLite;

use FFI\CData;
use RateLite\Internal\Check;
use RateLite\Internal\Native;

/**
 * One key a client from its address.
 */
final class IpKey
{
    /**
     * An IPv4 address as it is, also where it comes inside an IPv6 one; of other IPv6 addresses the
     * network, since a client has a whole one to choose addresses from: `2001:db8:1:2::/64`.
     *
     * Give it the address of the peer (REMOTE_ADDR). `X-Forwarded-For` is what the client likes to
     * write; only a proxy of your own that replaces it makes it worth reading.
     *
     * @param string      $ip       An address as text: no port, no brackets. A zone (`%eth0`) is dropped.
     * @param int         $v6Prefix How many leading bits of an IPv6 address make a client, 1 to 128; 0 for 64.
     * @param string|null $library  Path of the shared library; null to look for it.
     *
     * @throws InvalidArgumentException If it is not an address, the empty string included.
     * @throws LibraryException
     */
    public static function of(string $ip, int $v6Prefix = 64, ?string $library = null): string
    {
        Check::text('ip', $ip);
        Check::int32('v6Prefix', $v6Prefix);
        $native = Native::of($library);

        return $native->text(static fn (CData $buffer, int $capacity): int
            => $native->ffi->rl_ip_key($ip, $v6Prefix, $buffer, $capacity));
    }
}
