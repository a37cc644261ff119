"""Functions and classes by name: ``"games.scoring:team_of"`` is the object that importing it returns.

Lambdas, closures and objects in ``__main__`` have no name that identifies them in another process: they are opaque.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import MethodType
from typing import Final, TypeVar

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from flowalg.data.errors import FlowalgError

A = TypeVar("A")

AT_TOP_LEVEL: Final = "define it at the top level of a module that can be imported"
"""The remedy for what has no name."""


def name_of(target: object) -> Result[str, str]:
    """Returns the import name of an object, ``module:qualified.name``, or the reason why it has none."""
    owner = getattr(target, "__self__", None)
    holder = owner if isinstance(owner, type) else getattr(target, "__objclass__", target)
    module = getattr(target, "__module__", None) or getattr(holder, "__module__", None)
    path = getattr(target, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str):
        return Failure("has no name")
    if "<lambda>" in path:
        return Failure("is a lambda, which cannot be imported")
    if "<locals>" in path:
        return Failure("is defined inside a function, so it cannot be imported")
    if module == "__main__":
        return Failure("is defined in __main__, which is a different module in other processes")
    name = f"{module}:{path}"
    imported = import_object(name)
    if not isinstance(imported, Success):
        return Failure(f"cannot be imported: {imported.failure()}")
    value = imported.unwrap()
    if value is target or (_is_bound_to_class(value) and value == target):
        return Success(name)
    return Failure(f"is not the object that importing {name} returns")


def import_object(name: str) -> Result[object, str]:
    """Returns the object of a name, or the reason why there is none. Imports the module, which runs its code."""
    module, separator, path = name.partition(":")
    if not separator or not module or not path or module.startswith("."):
        return Failure(f"{name!r} is not a name of the form module:name")
    try:
        imported: object = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a script exits when it is imported
        return Failure(f"importing {module} raised {type(error).__name__}: {error}")
    for part in path.split("."):
        try:
            imported = getattr(imported, part)
        except AttributeError:
            return Failure(f"{module} has no {path}")
    return Success(imported)


def _is_bound_to_class(target: object) -> bool:
    """Returns whether an object is a method bound to its class, which is a new object at each access."""
    return isinstance(getattr(target, "__self__", None), type) and (
        isinstance(target, MethodType) or type(target).__name__ == "builtin_function_or_method"
    )


def unwrap_or_raise(result: Result[A, str], error: Callable[[str], FlowalgError]) -> A:
    """Returns the value of a result; raises ``error(reason)`` if it is a failure."""
    if is_successful(result):
        return result.unwrap()
    raise error(result.failure())
