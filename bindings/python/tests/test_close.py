"""Closing is safe at any moment, and a limiter that nobody closes makes no noise."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest
from helpers import LONG, run_python

from ratelite import ClosedError, Limiter


def test_a_closed_limiter_says_so(three: Limiter) -> None:
    result = three.hit("alice")
    three.close()
    three.close()
    assert three.closed
    assert repr(three).endswith("(closed)>")
    for call in (
        lambda: three.hit("alice"),
        lambda: three.status("alice"),
        lambda: three.refund("alice"),
        lambda: three.reset("alice"),
        lambda: three.prune(),
        lambda: three.info(),
        lambda: three.route("GET", "/"),
        lambda: three.headers(result),
        lambda: three.problem(result),
        lambda: three.with_policy("1/s"),
    ):
        with pytest.raises(ClosedError, match="closed"):
            call()


def test_a_with_block_closes(store: Path) -> None:
    with Limiter(store, "3/min") as limiter:
        limiter.hit("alice")
    assert limiter.closed


def test_closing_frees_the_native_limiter_and_so_does_forgetting(tmp_path: Path) -> None:
    # Without keep_open the last rl_close() removes the files beside the store.
    for forget in (False, True):
        store = tmp_path / f"{forget}.db"
        limiter = Limiter(store, "3/min", keep_open=False)
        limiter.hit("alice")
        assert Path(f"{store}-wal").exists()
        if not forget:
            limiter.close()
        del limiter
        gc.collect()
        assert not Path(f"{store}-wal").exists()


def test_a_failed_open_leaves_nothing_behind() -> None:
    limiter = Limiter.__new__(Limiter)
    with pytest.raises(ValueError, match="policy"):
        limiter.__init__(":memory:", "nonsense")  # type: ignore[misc]
    assert limiter.closed
    limiter.close()


def test_closing_while_threads_are_inside_lets_them_finish(store: Path) -> None:
    for _ in range(20):
        limiter = Limiter(store, f"9007199254740991/{LONG}", keep_open=False)
        handle = weakref.ref(limiter._open_handle())
        inside = threading.Barrier(9)
        endings: list[BaseException | None] = []

        def hit(
            limiter: Limiter = limiter,
            inside: threading.Barrier = inside,
            endings: list[BaseException | None] = endings,
        ) -> None:
            inside.wait()
            try:
                while True:
                    assert limiter.hit("alice")
            except BaseException as error:
                endings.append(error.with_traceback(None))

        threads = [threading.Thread(target=hit) for _ in range(8)]
        for thread in threads:
            thread.start()
        inside.wait()
        limiter.close()
        for thread in threads:
            thread.join()
        assert [type(ending) for ending in endings] == [ClosedError] * 8
        assert handle() is None


#: Ends of the names that stand beside a store as long as somebody has it open.
WHILE_OPEN = (".db-wal", ".db-shm")

#: Callbacks run in reverse order: what is registered before the import runs after the package's.
AFTER = "import atexit, time; atexit.register(time.sleep, 0.1)"


@pytest.mark.parametrize(
    ("before", "end", "said"),
    [
        ("", "pass", ""),
        ("", "raise SystemExit(0)", ""),
        ("", "import gc; gc.freeze()", ""),
        ("", "import atexit; atexit.register(lambda: print(limiter.hit('alice').count))", "2\n"),
        (AFTER, "threading.Thread(target=spin, daemon=True).start(); time.sleep(0.05)", ""),
    ],
)
def test_the_interpreters_end_with_a_live_limiter_is_silent(
    store: Path, before: str, end: str, said: str
) -> None:
    code = f"""
{before}
import sys, threading, time
from ratelite import Limiter
limiter = Limiter(sys.argv[1], "9007199254740991/{LONG}")
limiter.cycle = limiter
limiter.hit("alice")
def spin():
    while True: limiter.hit("alice")
{end}
"""
    done = run_python(code, str(store))
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_at_the_interpreters_end_what_is_open_is_closed(store: Path) -> None:
    code = (
        "import sys; from ratelite import Limiter\n"
        "limiter = Limiter(sys.argv[1], '3/min', keep_open=False); limiter.hit('alice')"
    )
    run_python(code, str(store)).check_returncode()
    assert not [path.name for path in store.parent.iterdir() if path.suffix in WHILE_OPEN]
