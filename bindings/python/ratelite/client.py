"""Who sent a request: one key for one client, behind proxies or not."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Optional, Union

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .limiter import Limiter

_Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

#: In a list of trusted proxies: a peer on a Unix socket, which has no address.
UNIX = "unix"


class ClientKey:
    """Makes the key of a client from its peer's address and X-Forwarded-For.

    The header is believed only as far as `trusted_proxies` (networks such as "10.0.0.0/8", or
    "unix") wrote it: it is walked from the right, and the first address that is no trusted proxy
    is the client. So a client that sends the header itself gains nothing.
    """

    def __init__(
        self, limiter: Limiter, trusted_proxies: Iterable[str] = (), v6_prefix: int = 64
    ) -> None:
        if isinstance(trusted_proxies, str):
            raise TypeError("trusted_proxies is a list of networks, not one str")
        networks = list(trusted_proxies)
        self._limiter = limiter
        self._v6_prefix = v6_prefix
        self._trusts_unix = UNIX in networks
        self._networks = [_network(text) for text in networks if text != UNIX]
        limiter.ip_key("::", v6_prefix)  # refuses a prefix out of range now, not at a request

    def key(self, peer: Optional[str], forwarded: Iterable[str]) -> str:
        """The key; never empty. `forwarded` are the X-Forwarded-For fields, in their order."""
        client = peer or UNIX
        entries = [entry for field in forwarded for entry in field.split(",")]
        while entries and self._trusts(client):
            address = _bare(entries.pop())
            if not self._is_address(address):
                # Nothing left of this can be believed: the proxy itself is the best we know.
                break
            client = address
        return self._limiter.ip_key(client, self._v6_prefix) if self._is_address(client) else client

    def _trusts(self, client: str) -> bool:
        if client == UNIX:
            return self._trusts_unix
        if not self._networks or not self._is_address(client):
            return False
        # All 128 bits, and IPv4 in IPv6 as IPv4: a dual-stack socket sees ::ffff:10.0.0.1.
        address = ipaddress.ip_address(self._limiter.ip_key(client, 128).partition("/")[0])
        return any(address in network for network in self._networks)

    def _is_address(self, text: str) -> bool:
        try:
            self._limiter.ip_key(text)
        except InvalidArgumentError:
            return False
        return True


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InvalidArgumentError(f"trusted proxy {text!r} is no network: {error}") from None


def _bare(entry: str) -> str:
    """An entry of X-Forwarded-For without the port that some proxies add."""
    entry = entry.strip()
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    host, colon, _ = entry.partition(":")
    return host if colon and entry.count(":") == 1 else entry
