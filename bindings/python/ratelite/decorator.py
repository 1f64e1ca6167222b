"""`@limiter.limit(...)`, and the rule that a function's own limit is named by."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, cast

from ._arguments import Key
from .errors import InvalidArgumentError, PolicyError, UnknownRuleError

if TYPE_CHECKING:
    from .limiter import Limiter

KeyOf = Union[str, bytes, Callable[..., Key]]
CostOf = Union[int, Callable[..., int]]

_F = TypeVar("_F", bound=Callable[..., Any])

#: A rule's name holds 64 of these.
_MODULE = re.compile(r"[A-Za-z0-9_.-]+")
_QUALNAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
_LONGEST = 64
_DIGITS = 32


def limit(
    limiter: Limiter, *, key: KeyOf, rule: Optional[str], policy: Optional[str], cost: CostOf
) -> Callable[[_F], _F]:
    """See Limiter.limit()."""

    def decorate(function: _F) -> _F:
        budget, name = budget_of(limiter, function, rule, policy)

        def asked(*args: Any, **kwargs: Any) -> tuple[Key, int]:
            return (
                key(*args, **kwargs) if callable(key) else key,
                cost(*args, **kwargs) if callable(cost) else cost,
            )

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            who, units = asked(*args, **kwargs)
            budget.check(who, rule=name, cost=units)
            return function(*args, **kwargs)

        @functools.wraps(function)
        async def checked_async(*args: Any, **kwargs: Any) -> Any:
            who, units = asked(*args, **kwargs)
            await budget.check_async(who, rule=name, cost=units)
            return await function(*args, **kwargs)

        return cast(_F, checked_async if inspect.iscoroutinefunction(function) else checked)

    return decorate


def budget_of(
    limiter: Limiter, function: Callable[..., Any], rule: Optional[str], policy: Optional[str]
) -> tuple[Limiter, Optional[str]]:
    """The limiter and the rule that a decorated function is charged by."""
    if policy is None:
        if rule not in limiter.rules and (rule is not None or len(limiter.rules) > 1):
            # When the module is imported, not at the first request.
            raise UnknownRuleError(
                f"no rule {rule!r} for the decorator: the policy has {', '.join(limiter.rules)}"
            )
        return limiter, rule
    if rule is not None:
        raise InvalidArgumentError("give a decorator rule= or policy=, not both")
    name = rule_name(function)
    sibling = limiter.with_policy(f"{name}: {policy}")
    if sibling.rules != (name,):
        sibling.close()
        raise PolicyError(f"policy= of a decorator is one rule without a name, not {policy!r}")
    return sibling, name


def rule_name(function: Callable[..., Any]) -> str:
    """The rule of a function's own limit: `module-qualified.name`; no two functions share one.

    The hyphen keeps `a.b` of module `x` and `b` of module `x.a` apart. What a rule's name cannot
    hold, or is too long, ends in `-.` and a hash, where a plain one cannot have a dot.
    """
    module, qualname = _identity(function)
    name = f"{module}-{qualname}"
    if len(name) <= _LONGEST and _MODULE.fullmatch(module) and _QUALNAME.fullmatch(qualname):
        return name
    whole = f"{module}\0{qualname}".encode(errors="surrogatepass")
    digits = hashlib.sha256(whole).hexdigest()[:_DIGITS]
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[_DIGITS + 2 - _LONGEST :]
    return f"{readable}-.{digits}"


def _identity(function: Callable[..., Any]) -> tuple[str, str]:
    # A class-based view is a closure of the framework, with the class in this attribute.
    named: Any = getattr(function, "view_class", function)
    if not hasattr(named, "__qualname__"):
        named = type(named)
    module, qualname = str(named.__module__), str(named.__qualname__)
    if named.__name__ != qualname.rpartition(".")[2]:
        # A closure that was given a name of its own afterwards.
        qualname += f"/{named.__name__}"
    # What multiprocessing calls the main module in a child that it spawned.
    return ("__main__" if module == "__mp_main__" else module), qualname
