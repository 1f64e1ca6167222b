"""Middleware for any WSGI application (PEP 3333)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from ._arguments import Key
from .charges import Budget, Charges, Headers, Refusal, rule_of_path
from .client import ClientKey
from .errors import RateLimitExceeded
from .limiter import Limiter

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

KeyOf = Callable[[dict[str, Any]], Optional[Key]]
RuleOf = Union[str, Callable[[dict[str, Any]], Optional[str]]]


class RateLimitMiddleware:
    """Charges every request, puts headers on every response, refuses with 429.

    `key` gets the environ and returns the client's key; None or an empty one means the default,
    the peer's address through `ip_key`, behind `trusted_proxies` the one they forwarded. Put a
    word before what a client can choose (`f"token:{...}"`), so that it cannot pose as an address.

    `rule` is a rule's name, or a callable that gets the environ and returns one, or None for a
    request that is not limited. Without it the policy's routes decide, on the method and the
    decoded path; with `by_route=False` too, only decorated handlers are charged.

    `style` as in Limiter.headers(). RateLimitExceeded out of the application becomes 429 too.
    Thread-safe. A failure of the store is raised, or what `on_error` of the limiter says: a
    denial by it is 503.
    """

    def __init__(
        self,
        app: WSGIApplication,
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

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        charges = Charges.of(environ)
        started = False

        def start(status: str, headers: Headers, *exc_info: Any) -> Callable[[bytes], object]:
            nonlocal started
            started = True
            return start_response(status, charges.onto(headers, self._style), *exc_info)

        try:
            self._charge(environ, charges)
            return self._app(environ, start)
        except RateLimitExceeded as error:
            if started:
                raise
            return refuse(charges.refusal(error, self._style), environ, start_response)

    def _charge(self, environ: WSGIEnvironment, charges: Charges) -> None:
        rule = self._rule_of(environ)
        if rule is not None:
            key = key_of(environ, self._key, self._client)
            charges.charge(Budget(self._limiter, key, rule, routed=self._rule is None))

    def _rule_of(self, environ: WSGIEnvironment) -> Optional[str]:
        if self._rule is not None:
            return self._rule(environ) if callable(self._rule) else self._rule
        if not self._by_route:
            return None
        return rule_of_path(self._limiter, environ["REQUEST_METHOD"], path_of(environ))


def path_of(environ: WSGIEnvironment) -> str:
    """The request's path as the application sees it: decoded."""
    path: str = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    # WSGI's strings are bytes in disguise.
    return path.encode("latin-1").decode("utf-8", "surrogateescape")


def key_of(environ: WSGIEnvironment, key: Optional[KeyOf], client: ClientKey) -> Key:
    """The key of a request: the callable's, or the client's address."""
    return (key and key(environ)) or client.key(
        environ.get("REMOTE_ADDR"), [environ.get("HTTP_X_FORWARDED_FOR", "")]
    )


def refuse(
    refusal: Refusal, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Sends a refusal."""
    start_response(refusal.status_line, refusal.headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [refusal.body]
