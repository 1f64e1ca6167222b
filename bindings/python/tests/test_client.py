"""Who a client is, behind proxies or not."""

from __future__ import annotations

import pytest

from ratelite import InvalidArgumentError, Limiter
from ratelite.client import ClientKey

LIMITER = Limiter(":memory:", "1/s")

TRUSTED = ["10.0.0.0/8", "2001:db8:ffff::/48"]


@pytest.mark.parametrize(
    ("peer", "forwarded", "key"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),  # a client that poses as a proxy
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),  # what the client wrote is left
        ("10.0.0.1", ["1.1.1.1", "203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9,"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9, nonsense, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9"),
        ("10.0.0.1", ["[2001:db8:1:2::5]:4711"], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["[2001:db8:1:2::5]"], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["2001:db8:1:2::5"], "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("2001:db8:ffff::1", ["203.0.113.9"], "203.0.113.9"),
        ("2001:db8:fffe::1", ["203.0.113.9"], "2001:db8:fffe::/64"),
        ("testclient", ["203.0.113.9"], "testclient"),
        ("", ["203.0.113.9"], "unix"),
        (None, ["203.0.113.9"], "unix"),
    ],
)
def test_the_client_is_the_first_from_the_right_that_is_no_trusted_proxy(
    peer: str | None, forwarded: list[str], key: str
) -> None:
    assert ClientKey(LIMITER, TRUSTED).key(peer, forwarded) == key


def test_without_trusted_proxies_the_header_is_not_read() -> None:
    assert ClientKey(LIMITER).key("10.0.0.1", ["203.0.113.9"]) == "10.0.0.1"


def test_a_unix_socket_is_trusted_by_its_word() -> None:
    assert ClientKey(LIMITER, ["unix"]).key("", ["203.0.113.9"]) == "203.0.113.9"


def test_an_ipv6_client_is_its_network() -> None:
    assert ClientKey(LIMITER, v6_prefix=48).key("2001:db8:1:2::5", []) == "2001:db8:1::/48"


@pytest.mark.parametrize("proxies", [["10.0.0.1/8"], ["nonsense"], [""]])
def test_a_wrong_network_is_refused_at_once(proxies: list[str]) -> None:
    with pytest.raises(InvalidArgumentError, match="trusted proxy"):
        ClientKey(LIMITER, proxies)


def test_one_network_is_not_a_list() -> None:
    with pytest.raises(TypeError, match="not one str"):
        ClientKey(LIMITER, "10.0.0.0/8")


def test_a_wrong_prefix_is_refused_at_once() -> None:
    with pytest.raises(InvalidArgumentError):
        ClientKey(LIMITER, v6_prefix=129)
