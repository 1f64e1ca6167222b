"""The head of an HTTP/1 request, parsed strictly (RFC 9112): bytes in, values out.

What two parsers could read in two ways is refused, for the one behind us is not ours.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

Fields = list[tuple[str, str]]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([!-~]+) HTTP/([0-9])\.([0-9])")
_FIELD = re.compile(
    rf"({_TOKEN}):[ \t]*((?:[!-~\x80-\xff](?:[ \t!-~\x80-\xff]*[!-~\x80-\xff])?)?)[ \t]*"
)
#: RFC 3986, section 3.2, without user information.
_HOST = re.compile(r"(?:\[[0-9A-Za-z.:]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)([^#]*)")


class Malformed(Exception):
    """This request cannot be served; `status` and `reason` say why."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Target(NamedTuple):
    """A request target, taken apart."""

    authority: Optional[str]
    """Of an absolute-form target."""
    path: str
    """Undecoded; `*` of `OPTIONS *`."""
    query: str
    """With its question mark, or empty."""


class Head(NamedTuple):
    """Request line and header fields; latin-1 keeps their bytes."""

    method: str
    target: str
    version: tuple[int, int]
    fields: Fields

    def values(self, name: str) -> list[str]:
        """The values of a field, in their order. The name is in lower case."""
        return [value for field, value in self.fields if field.lower() == name]

    def tokens(self, name: str) -> list[str]:
        """The members of a list field, in lower case."""
        members = (member for value in self.values(name) for member in value.split(","))
        return [member.strip().lower() for member in members if member.strip()]

    @property
    def persistent(self) -> bool:
        """Whether the client may send another request on this connection."""
        if self.version < (1, 1):
            return False
        return "close" not in self.tokens("connection")

    @property
    def body_length(self) -> Optional[int]:
        """Length of the body in bytes; None: it comes in chunks."""
        if self.values("transfer-encoding"):
            return None
        lengths = self.values("content-length")
        return int(lengths[0]) if lengths else 0

    @property
    def parts(self) -> Target:
        """The target without fragment, scheme and authority, as the library cuts it for routing."""
        absolute = _ABSOLUTE.match(self.target)
        authority, rest = absolute.groups() if absolute else (None, self.target.partition("#")[0])
        path, mark, query = rest.partition("?")
        if absolute and not path:
            path = "*" if self.method == "OPTIONS" and not mark else "/"
        return Target(authority, path, mark + query)


def parse(block: bytes) -> Head:
    """The head in a block of bytes, without the empty line that ends it."""
    request_line, *lines = block.decode("latin-1").split("\r\n")
    match = _REQUEST_LINE.fullmatch(request_line)
    if match is None:
        raise Malformed("the request line is malformed")
    method, target, major, minor = match.groups()
    version = int(major), int(minor)
    if version[0] != 1:
        raise Malformed("only HTTP/1.x is spoken here", 505)
    head = Head(method, target, version, [_field(line) for line in lines])
    _check_target(head)
    _check_framing(head)
    return head


def _field(line: str) -> tuple[str, str]:
    match = _FIELD.fullmatch(line)
    if match is None:
        raise Malformed("a header field is malformed")
    return match[1], match[2]


def _check_target(head: Head) -> None:
    if head.method == "CONNECT":
        raise Malformed("CONNECT is not supported", 501)
    if not (
        head.target.startswith("/")
        or _ABSOLUTE.match(head.target)
        or (head.target == "*" and head.method == "OPTIONS")
    ):
        raise Malformed("the request target is malformed")
    hosts = head.values("host")
    if len(hosts) > 1 or (not hosts and head.version >= (1, 1)):
        raise Malformed("a request has one Host field")
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise Malformed("the Host field is malformed")


def _check_framing(head: Head) -> None:
    codings, lengths = head.values("transfer-encoding"), head.values("content-length")
    if codings:
        if lengths or head.version < (1, 1):
            raise Malformed("Transfer-Encoding contradicts the rest of the request")
        if [coding.lower() for coding in codings] != ["chunked"]:
            raise Malformed("only the transfer coding chunked is supported", 501)
    if lengths and not (len(lengths) == 1 and re.fullmatch(r"[0-9]{1,18}", lengths[0])):
        raise Malformed("Content-Length is malformed")
