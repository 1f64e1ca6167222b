"""Middleware for any ASGI application: the pure protocol, without a framework."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, MutableMapping
from contextvars import ContextVar
from typing import Any, Callable, NamedTuple, Optional, Union

from ._arguments import Key
from .charges import Budget, Charges, Refusal, rule_of_path
from .client import ClientKey
from .errors import RateLimitExceeded
from .limiter import Limiter

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

KeyOf = Callable[[Scope], Optional[Key]]
RuleOf = Union[str, Callable[[Scope], Optional[str]]]


class Current(NamedTuple):
    """The request that is being handled, for decorators that do not see it."""

    scope: Scope
    client: ClientKey
    key: Optional[KeyOf]


current: ContextVar[Current] = ContextVar("ratelite.asgi.current")


class RateLimitMiddleware:
    """Charges every request, puts headers on every response, refuses with 429.

    Options as of `ratelite.wsgi.RateLimitMiddleware`, but `key` and `rule` get the scope. A
    WebSocket is charged for its handshake, as a GET, and refused with 429 where the server can,
    else with 403. Hits run in asyncio's threads, so that waiting for the store blocks no one.
    """

    def __init__(
        self,
        app: Application,
        limiter: Limiter,
        *,
        key: Optional[KeyOf] = None,
        rule: Optional[RuleOf] = None,
        by_route: bool = True,
        trusted_proxies: Iterable[str] = (),
        v6_prefix: int = 64,
        style: str = "x",
    ) -> None:
        self._app = app
        self._limiter = limiter
        self._key = key
        self._rule = rule
        self._by_route = by_route
        self._client = ClientKey(limiter, trusted_proxies, v6_prefix)
        self._style = style

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        charges = Charges.of(scope)
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] in _STARTS:
                started = True
                message = {**message, "headers": self._with_ours(charges, message)}
            await send(message)

        token = current.set(Current(scope, self._client, self._key))
        try:
            await self._charge(scope, charges)
            await self._app(scope, receive, send_with_headers)
        except RateLimitExceeded as error:
            if started:
                raise
            await refuse(charges.refusal(error, self._style), scope, receive, send)
        finally:
            current.reset(token)

    async def _charge(self, scope: Scope, charges: Charges) -> None:
        rule = self._rule_of(scope)
        if rule is not None:
            key = key_of(scope, self._key, self._client)
            budget = Budget(self._limiter, key, rule, routed=self._rule is None)
            await charges.charge_async(budget)

    def _rule_of(self, scope: Scope) -> Optional[str]:
        if self._rule is not None:
            return self._rule(scope) if callable(self._rule) else self._rule
        if not self._by_route:
            return None
        return rule_of_path(self._limiter, scope.get("method", "GET"), self.target(scope))

    def target(self, scope: Scope) -> str:
        """What the policy's routes are compared with."""
        path: str = scope["path"]
        return path

    def _with_ours(self, charges: Charges, message: Message) -> list[tuple[bytes, bytes]]:
        theirs = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in message.get("headers", ())
        ]
        return _encoded(charges.onto(theirs, self._style))


def key_of(scope: Scope, key: Optional[KeyOf], client: ClientKey) -> Key:
    """The key of a request: the callable's, or the client's address."""
    peer = scope.get("client")
    forwarded = [
        value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"
    ]
    return (key and key(scope)) or client.key(peer[0] if peer else None, forwarded)


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends a refusal."""
    start: Message = {"status": refusal.status, "headers": _encoded(refusal.headers)}
    if scope["type"] == "http":
        body = b"" if scope["method"] == "HEAD" else refusal.body
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": body})
    elif "websocket.http.response" in scope.get("extensions", {}):
        await receive()  # websocket.connect
        await send({"type": "websocket.http.response.start", **start})
        await send({"type": "websocket.http.response.body", "body": refusal.body})
    else:
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.reason})


#: Messages that carry response headers.
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    # ASGI wants names in lower case.
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
