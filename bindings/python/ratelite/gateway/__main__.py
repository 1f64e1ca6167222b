"""The command line: `python -m ratelite.gateway`."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from ..client import ClientKey
from ..errors import RateliteError
from ..limiter import Limiter
from .gateway import Gateway
from .server import Server

if TYPE_CHECKING:
    from .upstream import Upstream

DEFAULT_POLICY = "login: POST /login 3/10s; api: * 10/10s"


def options(arguments: Optional[Sequence[str]] = None) -> argparse.Namespace:
    """The command line, parsed."""
    parser = argparse.ArgumentParser(
        prog="python -m ratelite.gateway",
        description="Limits HTTP requests by a policy. The first line on stdout is its URL.",
    )
    add = parser.add_argument
    add("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="port 0 picks a free one")
    add("--store", metavar="FILE", required=True, help="the file that holds the counters")
    add("--policy", metavar="TEXT|@FILE", default=DEFAULT_POLICY, help="default: %(default)s")
    add("--upstream", metavar="URL", help="pass requests on to http://HOST:PORT")
    add("--upstream-timeout", metavar="SECONDS", type=float, default=30.0)
    add(
        "--trust-proxy",
        metavar="CIDR",
        action="append",
        default=[],
        help="believe X-Forwarded-For of these peers (may be repeated)",
    )
    add("--key-header", metavar="NAME", help="for trials: this field names the client")
    add("--admin", action="store_true", help="answer GET /status?key=...&rule=...")
    parsed = parser.parse_args(arguments)
    host, colon, port = parsed.listen.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        parser.error(f"--listen {parsed.listen!r} is not HOST:PORT")
    parsed.host, parsed.port = host.strip("[]"), int(port)
    return parsed


def build(parsed: argparse.Namespace) -> Gateway:
    """The gateway that the command line asks for."""
    policy: str = parsed.policy
    if policy.startswith("@"):
        policy = Path(policy[1:]).read_text(encoding="utf-8")
    limiter = Limiter(parsed.store, policy)
    header: Optional[str] = parsed.key_header
    return Gateway(
        limiter,
        ClientKey(limiter, parsed.trust_proxy),
        _upstream(parsed.upstream, parsed.upstream_timeout),
        header and header.lower(),
        parsed.admin,
    )


def _upstream(url: Optional[str], timeout: float) -> Optional[Upstream]:
    if url is None:
        return None
    try:
        from .upstream import Upstream
    except ImportError as error:
        raise ValueError(
            f"--upstream needs httpcore ({error}): pip install 'ratelite[gateway]'"
        ) from None
    return Upstream(url, timeout)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit status."""
    parsed = options(arguments)
    logging.basicConfig(format="%(name)s: %(message)s")
    try:
        gateway = build(parsed)
        server = Server(parsed.host, parsed.port, gateway)
    except (RateliteError, OSError, ValueError) as error:
        print(f"ratelite.gateway: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with server, gateway.limiter:
        print(server.url, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
