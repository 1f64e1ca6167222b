"""Nothing reaches C that C would read as something else."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from helpers import NOW

from ratelite import InvalidArgumentError, Limiter, _arguments


@pytest.fixture
def limiter() -> Limiter:
    return Limiter(":memory:", "a: 3/min; b: 3/min")


def test_text_and_its_utf8_are_one_key(limiter: Limiter) -> None:
    limiter.hit("josé", rule="a", now=NOW)
    assert limiter.status("josé".encode(), rule="a", now=NOW).count == 1
    assert limiter.status("jose", rule="a", now=NOW).count == 0


def test_a_nul_in_a_key_does_not_end_it(limiter: Limiter) -> None:
    limiter.hit("a\0b", rule="a", now=NOW)
    assert limiter.status(b"a\0b", rule="a", now=NOW).count == 1
    assert limiter.status("a", rule="a", now=NOW).count == 0


def test_a_lone_surrogate_is_refused_without_showing_the_key(limiter: Limiter) -> None:
    with pytest.raises(InvalidArgumentError, match="lone surrogate at 6") as caught:
        limiter.hit("secret\udc80", rule="a")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("key", [7, None, True, ["a"], bytearray(b"a"), memoryview(b"a")])
def test_a_key_is_text_or_bytes(limiter: Limiter, key: Any) -> None:
    with pytest.raises(TypeError, match="a key is str or bytes"):
        limiter.hit(key, rule="a")


@pytest.mark.parametrize("length", [1, 72, 73, 255, 256, 257, 100_000])
def test_a_key_may_be_long(limiter: Limiter, length: int) -> None:
    for key in ("x" * length, "é" * length, b"y" * length):
        assert limiter.hit(key, rule="a", now=NOW).count == 1
        assert limiter.hit(key, rule="a", now=NOW).count == 2


def test_an_empty_key_is_refused(limiter: Limiter) -> None:
    with pytest.raises(InvalidArgumentError):
        limiter.hit("", rule="a")


@pytest.mark.parametrize("rule", ["a\0b", "a\0"])
def test_a_nul_does_not_end_a_rules_name(limiter: Limiter, rule: str) -> None:
    with pytest.raises(InvalidArgumentError, match="NUL"):
        limiter.hit("k", rule=rule)
    assert limiter.status("k", rule="a").count == 0


@pytest.mark.parametrize(("method", "target"), [("GET\0", "/"), ("GET", "/\0x")])
def test_a_nul_does_not_end_a_route(limiter: Limiter, method: str, target: str) -> None:
    with pytest.raises(InvalidArgumentError, match="NUL"):
        limiter.route(method, target)


def test_a_nul_does_not_end_policy_path_or_address(limiter: Limiter) -> None:
    with pytest.raises(InvalidArgumentError, match="policy holds a NUL"):
        Limiter(":memory:", "3/min\0; trash")
    with pytest.raises(InvalidArgumentError, match="path holds a NUL"):
        Limiter(":memory:\0.db", "3/min")
    with pytest.raises(InvalidArgumentError, match="address holds a NUL"):
        limiter.ip_key("192.0.2.1\0")


@pytest.mark.parametrize("cost", [True, 1.0, "1", None])
def test_a_cost_is_an_integer(limiter: Limiter, cost: Any) -> None:
    with pytest.raises(TypeError, match="cost is an integer"):
        limiter.hit("k", rule="a", cost=cost)


@pytest.mark.parametrize("cost", [2**64 + 1, 2**63, -(2**64) + 1, -(2**63), 2**53, -1])
def test_a_cost_does_not_wrap_into_its_range(limiter: Limiter, cost: int) -> None:
    for verb in (limiter.hit, limiter.refund):
        with pytest.raises(InvalidArgumentError):
            verb("k", rule="a", cost=cost, now=NOW)
    assert limiter.status("k", rule="a", now=NOW).count == 0


def test_an_ip_prefix_does_not_wrap_into_its_range(limiter: Limiter) -> None:
    for prefix in (2**32 + 64, -(2**32) + 64, 129, -1):
        with pytest.raises(InvalidArgumentError):
            limiter.ip_key("2001:db8::1", prefix)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (0, 0),
        (0.0, 0),
        (1_700_000_000, 1_700_000_000_000),
        (1_700_000_000.123, 1_700_000_000_123),
        (1_700_000_000.9999, 1_700_000_000_999),
        (1_700_000_000.1, 1_700_000_000_100),
        (253_370_764_799.999, 253_370_764_799_999),
        (datetime(2023, 11, 14, 22, 13, 20, 123_999, timezone.utc), 1_700_000_000_123),
        (datetime(2023, 11, 15, 0, 13, 20, 0, timezone(timedelta(hours=2))), 1_700_000_000_000),
    ],
)
def test_a_time_is_cut_to_its_millisecond(now: Any, expected: int) -> None:
    assert _arguments.milliseconds(now) == expected


@pytest.mark.parametrize(
    "now",
    [
        -0.001,
        -0.0004,
        -1e-9,
        datetime(1969, 12, 31, 23, 59, 59, 999_000, timezone.utc),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, timezone.utc),
    ],
)
def test_a_time_that_would_read_as_the_system_clock_is_refused(limiter: Limiter, now: Any) -> None:
    for verb in (limiter.hit, limiter.status, limiter.refund):
        with pytest.raises(InvalidArgumentError, match="1970"):
            verb("k", rule="a", now=now)
    with pytest.raises(InvalidArgumentError, match="1970"):
        limiter.prune(now)


@pytest.mark.parametrize(
    "now",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        -5,
        -1,
        2**63,
        2**61,
        1e300,
        253_370_764_800,
        datetime(9998, 12, 31, tzinfo=timezone.utc) + timedelta(days=1),
    ],
)
def test_a_time_out_of_range_is_refused(limiter: Limiter, now: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        limiter.hit("k", rule="a", now=now)


def test_a_naive_datetime_is_refused(limiter: Limiter) -> None:
    with pytest.raises(InvalidArgumentError, match="naive"):
        limiter.hit("k", rule="a", now=datetime(2026, 1, 1))


@pytest.mark.parametrize("now", [True, "now", b"0"])
def test_a_time_is_a_number_or_a_datetime(limiter: Limiter, now: Any) -> None:
    with pytest.raises(TypeError, match="now is an integer"):
        limiter.hit("k", rule="a", now=now)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"on_error": "open"}, InvalidArgumentError),
        ({"durability": "none"}, InvalidArgumentError),
        ({"busy_timeout_ms": 0}, InvalidArgumentError),
        ({"busy_timeout_ms": 2**64 + 5}, InvalidArgumentError),
        ({"busy_timeout_ms": -2}, InvalidArgumentError),
        ({"busy_timeout_ms": True}, TypeError),
        ({"flush_interval_ms": 60_001}, InvalidArgumentError),
        ({"table_slots": 0}, InvalidArgumentError),
        ({"table_slots": 2**32 + 1}, InvalidArgumentError),
        ({"table_slots": 16.0}, TypeError),
        ({"auto_prune": 1}, TypeError),
        ({"file_mode": 0o644 << 12}, InvalidArgumentError),
        ({"key_secret": "text"}, TypeError),
        ({"key_secret": b""}, InvalidArgumentError),
        ({"connect_timeout_ms": 0}, InvalidArgumentError),
        ({"command_timeout_ms": 60_001}, InvalidArgumentError),
        ({"remember_denied": "yes"}, TypeError),
        ({"insurance": "local.db"}, InvalidArgumentError),  # of a store that is no server
        ({"insurance": b"local\0.db"}, InvalidArgumentError),
        ({"insurance_percent": 50}, InvalidArgumentError),
        ({"insurance_policy": 3}, TypeError),
        ({"nonsense": 1}, TypeError),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Limiter(":memory:", "3/min", **options)


def test_options_are_in_force(tmp_path: Any) -> None:
    store = tmp_path / "limits.db"
    with Limiter(
        store,
        "3/min",
        busy_timeout_ms=250,
        durability="hit",
        flush_interval_ms=50,
        auto_prune=False,
        keep_open=False,
        audit=True,
        audit_retention_s=60,
        recover_corrupt=True,
        file_mode=0o640,
        table_slots=160,
        key_secret=b"0123456789abcdef0123456789abcdef",
    ) as limiter:
        limiter.hit("k")
        info = limiter.info()
        assert info["busy_timeout_ms"] == 250
        assert info["durability"] == "hit"
        assert info["auto_prune"] is False
        assert info["audit"] is True
        assert info["keys_hashed"] is True
        assert store.stat().st_mode & 0o777 == 0o640
    assert {path.name for path in tmp_path.iterdir()} <= {"limits.db", "limits.db-table"}


def test_an_option_left_out_is_the_default() -> None:
    info = Limiter(":memory:", "3/min").info()
    assert (info["busy_timeout_ms"], info["auto_prune"], info["audit"]) == (1000, True, False)
