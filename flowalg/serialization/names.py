"""Functions and classes by name: ``"games.scoring:team_of"`` is the very object that importing it gives.

A lambda, a closure, and whatever lives in ``__main__`` have no name that means the same elsewhere: they are opaque.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import MethodType
from typing import TypeVar

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from flowalg.data.errors import FlowalgError

A = TypeVar("A")


def name_of(thing: object) -> Result[str, str]:
    """The name by which an object is imported, as ``module:qualified.name``, or the reason why it has none."""
    owner = getattr(thing, "__self__", None)
    holder = owner if isinstance(owner, type) else getattr(thing, "__objclass__", thing)
    module = getattr(thing, "__module__", None) or getattr(holder, "__module__", None)
    path = getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str):
        return Failure("has no name of its own")
    if "<lambda>" in path:
        return Failure("is a lambda, which has no name to import it by")
    if "<locals>" in path:
        return Failure("is defined inside a function, and cannot be imported")
    if module == "__main__":
        return Failure("is defined in __main__, which is another module elsewhere")
    name = f"{module}:{path}"
    found = named(name)
    if not isinstance(found, Success):
        return Failure(f"cannot be imported: {found.failure()}")
    value = found.unwrap()
    if value is thing or (_is_bound(value) and value == thing):
        return Success(name)
    return Failure(f"is not what importing {name} gives")


def named(name: str) -> Result[object, str]:
    """The object of a name, or the reason why there is none. Imports the module, which runs its code."""
    module, separator, path = name.partition(":")
    if not separator or not module or not path or module.startswith("."):
        return Failure(f"{name!r} is no name of the form module:name")
    try:
        found: object = importlib.import_module(module)
    except Exception as error:
        return Failure(f"importing {module} raised {type(error).__name__}: {error}")
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return Failure(f"{module} has no {path}")
    return Success(found)


def _is_bound(thing: object) -> bool:
    """Whether a thing is a method bound to its class: made anew whenever it is looked up."""
    return isinstance(getattr(thing, "__self__", None), type) and (
        isinstance(thing, MethodType) or type(thing).__name__ == "builtin_function_or_method"
    )


def or_raise(result: Result[A, str], error: Callable[[str], FlowalgError]) -> A:
    """What was found; raises what ``error`` makes of the reason why there is nothing."""
    if is_successful(result):
        return result.unwrap()
    raise error(result.failure())


__all__ = ["name_of", "named", "or_raise"]
