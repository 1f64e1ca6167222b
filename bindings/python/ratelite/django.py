"""Django: a middleware that limits by the matched URL pattern, and a decorator for views.

    MIDDLEWARE = ["ratelite.django.RateLimitMiddleware", ...]
    RATELITE = {"store": "/var/lib/site/limits.db", "policy": "login: POST /login/ 3/10s; ..."}

`RATELITE` also takes the options of Limiter, and "key" (a callable that gets the request, or its
dotted path), "by_route", "trusted_proxies", "v6_prefix" and "style" as of
`ratelite.wsgi.RateLimitMiddleware`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, MutableMapping
from typing import Any, Callable, NamedTuple, Optional, TypeVar, Union, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.admindocs.views import simplify_regex
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from ._arguments import Key
from .charges import Budget, Charges, rule_of_path
from .client import ClientKey
from .decorator import budget_of
from .errors import RateLimitExceeded
from .limiter import Limiter

_F = TypeVar("_F", bound=Callable[..., Any])

KeyOf = Callable[[HttpRequest], Optional[Key]]


class _Setup(NamedTuple):
    limiter: Limiter
    client: ClientKey
    key: Union[KeyOf, str, None]
    by_route: bool
    style: str


@functools.cache
def _setup() -> _Setup:
    """What settings.RATELITE says, opened once a process."""
    options = dict(settings.RATELITE)
    key = options.pop("key", None)
    by_route = options.pop("by_route", True)
    style = options.pop("style", "x")
    proxies = options.pop("trusted_proxies", ())
    v6_prefix = options.pop("v6_prefix", 64)
    limiter = Limiter(options.pop("store"), options.pop("policy"), **options)
    return _Setup(limiter, ClientKey(limiter, proxies, v6_prefix), key, by_route, style)


@functools.cache
def _key() -> Optional[KeyOf]:
    # Not in _setup(): the module of the key may itself be decorating views.
    key = _setup().key
    return import_string(key) if isinstance(key, str) else key


def limiter() -> Limiter:
    """The limiter of settings.RATELITE, for calls of one's own."""
    return _setup().limiter


class RateLimitMiddleware:
    """Charges every request, puts headers on every response, refuses with 429.

    The policy's routes are compared with the URL pattern that matched, as it is written:
    `POST /users/<int:user>/`; one of re_path() as the admin's documentation shows it:
    `/archive/<year>/`. A request that reaches no view (404, a redirect) goes by its path,
    after it was answered. Works under WSGI and ASGI.
    """

    sync_capable = True
    async_capable = True

    def __init__(
        self,
        get_response: Callable[[HttpRequest], Union[HttpResponseBase, Awaitable[HttpResponseBase]]],
    ) -> None:
        self._get_response = get_response
        self._setup = _setup()
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(
        self, request: HttpRequest
    ) -> Union[HttpResponseBase, Awaitable[HttpResponseBase]]:
        answer = self._get_response(request)
        if isinstance(answer, HttpResponseBase):
            return self._finish(request, answer)
        return self._call_async(request, answer)

    async def _call_async(
        self, request: HttpRequest, answer: Awaitable[HttpResponseBase]
    ) -> HttpResponseBase:
        response = await answer
        return await sync_to_async(self._finish, thread_sensitive=False)(request, response)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> Optional[HttpResponse]:
        """Called by Django when the route is known, before the view is."""
        match = request.resolver_match
        return self._charge_route(request, simplify_regex(match.route) if match else None)

    def process_exception(self, request: HttpRequest, error: Exception) -> Optional[HttpResponse]:
        """Called by Django with what a view raised."""
        if isinstance(error, RateLimitExceeded):
            return self._refuse(request, error)
        return None

    def _finish(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        charges = _charges(request)
        if not charges.any and request.resolver_match is None:
            response = self._charge_route(request, None) or response
        for name, value in charges.headers(self._setup.style):
            response[name] = value
        return response

    def _charge_route(self, request: HttpRequest, route: Optional[str]) -> Optional[HttpResponse]:
        if not self._setup.by_route:
            return None
        path = route or request.path
        rule = rule_of_path(self._setup.limiter, request.method or "", path)
        if rule is None:
            return None
        try:
            budget = Budget(self._setup.limiter, _key_of(request, None), rule, routed=True)
            _charges(request).charge(budget)
        except RateLimitExceeded as error:
            return self._refuse(request, error)
        return None

    def _refuse(self, request: HttpRequest, error: RateLimitExceeded) -> HttpResponse:
        refusal = _charges(request).refusal(error, self._setup.style)
        return HttpResponse(refusal.body, status=refusal.status, headers=dict(refusal.headers))


def limit(
    *,
    rule: Optional[str] = None,
    policy: Optional[str] = None,
    key: Optional[KeyOf] = None,
    cost: Union[int, Callable[[HttpRequest], int]] = 1,
) -> Callable[[_F], _F]:
    """Decorates a view, sync or async, or what `as_view()` returned.

    Budgets as in Limiter.limit(). `key` and a callable `cost` get the request; without `key` that
    of the settings. Needs the middleware, which refuses and puts the headers on the response.
    """

    def decorate(view: _F) -> _F:
        own, name = budget_of(limiter(), view, rule, policy)

        def charge(request: HttpRequest) -> None:
            units = cost(request) if callable(cost) else cost
            _charges(request).charge(Budget(own, _key_of(request, key), name, units))

        @functools.wraps(view)
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            charge(request)
            return view(request, *args, **kwargs)

        @functools.wraps(view)
        async def limited_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            await sync_to_async(charge, thread_sensitive=False)(request)
            return await view(request, *args, **kwargs)

        return cast(_F, limited_async if iscoroutinefunction(view) else limited)

    return decorate


def _key_of(request: HttpRequest, key: Optional[KeyOf]) -> Key:
    ask = key or _key()
    return (ask and ask(request)) or _setup().client.key(
        request.META.get("REMOTE_ADDR"), [request.META.get("HTTP_X_FORWARDED_FOR", "")]
    )


def _charges(request: HttpRequest) -> Charges:
    # Shared with a WSGI or ASGI middleware around Django.
    shared: MutableMapping[str, Any] = getattr(request, "scope", None) or request.META
    return Charges.of(shared)
