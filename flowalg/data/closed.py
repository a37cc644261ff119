"""Classes that are not extended: engines compute them by themselves, and would ignore the methods of a subclass."""

from __future__ import annotations

from flowalg.data.errors import ArgumentError


def require_unextended(cls: type, valid: str) -> None:
    """Raises ``ArgumentError`` for a class of a user that extends one of this library; ``valid`` says what it may."""
    if cls.__module__.startswith("flowalg."):
        return
    base = next(ancestor for ancestor in cls.__mro__ if ancestor.__module__.startswith("flowalg."))
    why = f"engines compute {base.__name__} by themselves, without the methods of a subclass"
    raise ArgumentError(f"the base class of {cls.__name__}", base, valid, why=why)
