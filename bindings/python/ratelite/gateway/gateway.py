"""What the gateway decides about a request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Optional, Union
from urllib.parse import unquote_to_bytes

from ..charges import Refusal, merged, unavailable
from ..client import ClientKey
from ..errors import InvalidArgumentError, StoreError, UnknownRuleError
from ..limiter import Limiter
from ..result import Result
from .head import Head
from .response import Response, as_json, as_problem
from .wire import Body

if TYPE_CHECKING:
    from .upstream import Upstream


class Gateway(NamedTuple):
    """Counts each request against the policy, then refuses it, answers it or passes it on."""

    limiter: Limiter
    client: ClientKey
    upstream: Optional[Upstream]
    key_header: Optional[str]
    admin: bool

    def answer(self, head: Head, body: Body, peer: str) -> Response:
        """The response to a request of the client at address `peer`. Any thread."""
        if self.admin and (head.method, head.parts.path) == ("GET", "/status"):
            return self._status(head.parts.query[1:])
        rule = self.limiter.route(head.method, head.target)
        if rule is None:
            return self._pass_on(head, body, peer, None)
        try:
            result = self.limiter.hit(self._key(head, peer), rule=rule)
        except StoreError as error:
            return _refused(unavailable(error))
        headers = self.limiter.headers(result)
        if not result:
            problem = self.limiter.problem(result).encode()
            fields = [("Content-Type", "application/problem+json"), *headers]
            return Response(429, "Too Many Requests", fields, [problem], len(problem))
        response = self._pass_on(head, body, peer, result)
        return response._replace(fields=merged(response.fields, headers))

    def _pass_on(self, head: Head, body: Body, peer: str, result: Optional[Result]) -> Response:
        if self.upstream is not None:
            return self.upstream.send(head, body, peer)
        return as_json(
            200,
            {"rule": result and result.rule, "remaining": result and result.remaining},
            [],
        )

    def _key(self, head: Head, peer: str) -> Union[str, bytes]:
        if self.key_header is not None:
            named = ", ".join(head.values(self.key_header)).encode("latin-1")
            if named:
                return named
        return self.client.key(peer, head.values("x-forwarded-for"))

    def _status(self, query: str) -> Response:
        asked = dict(_pairs(query))
        rule = asked.get("rule", b"").decode("utf-8", "replace") or None
        try:
            result = self.limiter.status(asked.get("key", b""), rule=rule)
        except UnknownRuleError as error:
            return as_problem(404, error.message)
        except InvalidArgumentError as error:
            return as_problem(400, error.message)
        except StoreError as error:
            return _refused(unavailable(error))
        numbers = result._asdict()
        del numbers["error"]
        return as_json(200, numbers, [("Cache-Control", "no-store")])


def _refused(refusal: Refusal) -> Response:
    fields = [field for field in refusal.headers if field[0] != "Content-Length"]
    return Response(refusal.status, refusal.reason, fields, [refusal.body], len(refusal.body))


def _pairs(query: str) -> Iterable[tuple[str, bytes]]:
    # Not parse_qsl, which makes text of what is a key's bytes.
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        yield name, unquote_to_bytes(value.replace("+", " "))
