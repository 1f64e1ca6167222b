"""Flask: limits by the matched URL rule, and a decorator for views."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any, Callable, Optional, TypeVar, Union, cast

from flask import Flask, Response, current_app, request

from .charges import Budget, Charges, rule_of_path
from .client import ClientKey
from .decorator import budget_of
from .errors import RateLimitExceeded
from .limiter import Limiter
from .wsgi import KeyOf, key_of, path_of

_F = TypeVar("_F", bound=Callable[..., Any])


class RateLimit:
    """The extension: `RateLimit(limiter, app)`, or `RateLimit(limiter)` and `init_app(app)`.

    Every request is charged to the first rule of the policy whose route fits its method and the
    URL rule that it matched, as written: `GET /users/<int:user>`. What matches none (404, 405, a
    redirect) goes by its path. With `by_route=False` only decorated views are charged.

    Options as of `ratelite.wsgi.RateLimitMiddleware`; `key` gets the environ.
    """

    def __init__(
        self,
        limiter: Limiter,
        app: Optional[Flask] = None,
        *,
        key: Optional[KeyOf] = None,
        by_route: bool = True,
        trusted_proxies: Iterable[str] = (),
        v6_prefix: int = 64,
        style: str = "x",
    ) -> None:
        self._limiter = limiter
        self._app = app
        self._key = key
        self._by_route = by_route
        self._client = ClientKey(limiter, trusted_proxies, v6_prefix)
        self._style = style
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Limits the requests of an application."""
        self._app = app
        app.extensions["ratelite"] = self
        if self._by_route:
            app.before_request(self._charge_route)
        app.after_request(self._add_headers)
        app.register_error_handler(RateLimitExceeded, self._refuse)

    def limit(
        self,
        *,
        rule: Optional[str] = None,
        policy: Optional[str] = None,
        key: Optional[KeyOf] = None,
        cost: Union[int, Callable[[dict[str, Any]], int]] = 1,
    ) -> Callable[[_F], _F]:
        """Decorates a view, below `@app.route`. Budgets as in Limiter.limit().

        `key` and a callable `cost` get the environ; without `key` that of the extension.
        """

        def decorate(view: _F) -> _F:
            if self._app is not None and view in self._app.view_functions.values():
                # Flask would go on calling the bare view, without any limit.
                raise RuntimeError("write the limit below @app.route, next to the function")
            limiter, name = budget_of(self._limiter, view, rule, policy)

            def charge() -> None:
                units = cost(request.environ) if callable(cost) else cost
                who = key_of(request.environ, key or self._key, self._client)
                Charges.of(request.environ).charge(Budget(limiter, who, name, units))

            @functools.wraps(view)
            def limited(*args: Any, **kwargs: Any) -> Any:
                charge()
                return current_app.ensure_sync(view)(*args, **kwargs)

            @functools.wraps(view)
            async def limited_async(*args: Any, **kwargs: Any) -> Any:
                charge()
                return await view(*args, **kwargs)

            return cast(_F, limited_async if inspect.iscoroutinefunction(view) else limited)

        return decorate

    def _charge_route(self) -> None:
        matched = request.url_rule
        target = path_of(request.environ) if matched is None else matched.rule
        rule = rule_of_path(self._limiter, request.method, target)
        if rule is not None:
            who = key_of(request.environ, self._key, self._client)
            Charges.of(request.environ).charge(Budget(self._limiter, who, rule, routed=True))

    def _add_headers(self, response: Response) -> Response:
        for name, value in Charges.of(request.environ).headers(self._style):
            response.headers[name] = value
        return response

    def _refuse(self, error: RateLimitExceeded) -> Response:
        refusal = Charges.of(request.environ).refusal(error, self._style)
        return Response(refusal.body, refusal.status_line, refusal.headers)
