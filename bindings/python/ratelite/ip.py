"""Keys from addresses."""

from __future__ import annotations

import ctypes

from ._arguments import integer
from ._arguments import text as c_text
from ._calls import text
from ._library import load


def ip_key(ip: str, v6_prefix: int = 64) -> str:
    """One key for one client's address: IPv4 as it is, IPv6 as its network (`2001:db8::/64`).

    `ip` is an address without port and brackets; `v6_prefix` says how many leading bits of an
    IPv6 address make a client, 1 to 128. IPv4 in IPv6 (`::ffff:192.0.2.1`) is that IPv4 address.
    Raises InvalidArgumentError if it is not an address. Any thread.
    """
    return address_key(load(), ip, v6_prefix)


def address_key(library: ctypes.CDLL, ip: str, v6_prefix: int) -> str:
    """As `ip_key`, by this library."""
    address = c_text(ip, "the address")
    prefix = integer(v6_prefix, "v6_prefix")
    if not -1 <= prefix <= 1000:
        # ctypes would cut it to 32 bits, where it may come to lie in C's range.
        prefix = -1
    return text(library, library.rl_ip_key, address, prefix)
