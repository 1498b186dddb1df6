"""Functions of NumPyro's distributions with a formula of their own for some classes."""

from collections.abc import Callable
from functools import singledispatch, wraps
from typing import Any

__all__ = ["dispatch"]


def dispatch(method: str) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like `functools.singledispatch`, for a function that does what a method of distributions does.

    A formula that is registered for a class also serves its subclasses, unless they define the method themselves.

    Parameters
    ----------
    method : str
        Such as ``"log_prob"``. The decorated function calls it, and serves every class without a formula.

    Returns
    -------
    callable
        It gives a function with the attribute ``register``.
    """

    def decorated(default: Callable[..., Any]) -> Any:
        generic = singledispatch(default)

        @wraps(default)
        def of_distribution(distribution: Any, *arguments: Any) -> Any:
            kind = type(distribution)
            nearest = next(one for one in kind.__mro__ if one in generic.registry)
            inherited = getattr(kind, method, None) is getattr(nearest, method, None)
            return generic.registry[nearest if inherited else object](distribution, *arguments)

        of_distribution.register = generic.register  # type: ignore[attr-defined]
        return of_distribution

    return decorated
