"""Starlette and FastAPI: limits by the matched route, and a decorator for endpoints."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable
from typing import Any, Callable, Optional, TypeVar, Union, cast

from starlette.routing import Match

from . import asgi
from .asgi import KeyOf, Scope
from .charges import Budget, Charges
from .decorator import budget_of
from .limiter import Limiter

_F = TypeVar("_F", bound=Callable[..., Any])


class RateLimitMiddleware(asgi.RateLimitMiddleware):
    """For `app.add_middleware(RateLimitMiddleware, limiter=limiter)`.

    Every request is charged to the first rule of the policy whose route fits its method and the
    route that it matches, as written: `GET /users/{user}`. What matches none (404, 405, a
    redirect) goes by its path. With `by_route=False` only decorated endpoints are charged.

    Options as of `ratelite.asgi.RateLimitMiddleware`; `key` gets the scope.
    """

    def target(self, scope: Scope) -> str:
        """The route that the request matches, or else its path."""
        return matched_route(scope) or super().target(scope)


def limit(
    limiter: Limiter,
    *,
    rule: Optional[str] = None,
    policy: Optional[str] = None,
    key: Optional[KeyOf] = None,
    cost: Union[int, Callable[[Scope], int]] = 1,
) -> Callable[[_F], _F]:
    """Decorates an endpoint, below `@app.get`; its signature stays as it is.

    Budgets as in Limiter.limit(). `key` and a callable `cost` get the scope; without `key` that of
    the middleware, which must be there: it refuses, and puts the headers on the response.
    """

    def decorate(endpoint: _F) -> _F:
        own, name = budget_of(limiter, endpoint, rule, policy)

        def asked() -> tuple[Charges, Budget]:
            current = asgi.current.get(None)
            if current is None:
                raise RuntimeError(
                    "the limit of an endpoint needs ratelite.starlette.RateLimitMiddleware: "
                    "call app.add_middleware(RateLimitMiddleware, limiter=limiter)"
                )
            who = asgi.key_of(current.scope, key or current.key, current.client)
            units = cost(current.scope) if callable(cost) else cost
            return Charges.of(current.scope), Budget(own, who, name, units)

        @functools.wraps(endpoint)
        def limited(*args: Any, **kwargs: Any) -> Any:
            charges, budget = asked()
            charges.charge(budget)
            return endpoint(*args, **kwargs)

        @functools.wraps(endpoint)
        async def limited_async(*args: Any, **kwargs: Any) -> Any:
            charges, budget = asked()
            await charges.charge_async(budget)
            return await endpoint(*args, **kwargs)

        return cast(_F, limited_async if inspect.iscoroutinefunction(endpoint) else limited)

    return decorate


def matched_route(scope: Scope) -> Optional[str]:
    """The path of the route that the application of the scope will choose, as it is written.

    Middleware runs before routing, so this asks the routes as the router will, mounts included.
    """
    app = scope.get("app")
    return None if app is None else _match(app.routes, dict(scope))


def _match(routes: Iterable[Any], scope: Scope) -> Optional[str]:
    for route in _flat(routes):
        match, child = route.matches(scope)
        if match is not Match.FULL:
            continue
        inner = getattr(route, "routes", None)
        if not inner:
            return str(route.path)
        path = _match(inner, {**scope, **child})
        return None if path is None else f"{getattr(route, 'path', '')}{path}"
    return None


def _flat(routes: Iterable[Any]) -> Iterable[Any]:
    """The routes, with those of FastAPI's included routers in place under their full paths."""
    fastapi = sys.modules.get("fastapi.routing")
    iterate: Any = getattr(fastapi, "iter_route_contexts", iter)
    return cast("Iterable[Any]", iterate(routes))
