"""Classes that are not extended: engines compute them by themselves, and would ignore the methods of a subclass."""

from __future__ import annotations

from types import FunctionType
from typing import ClassVar

from flowalg.data.errors import ArgumentError


def is_of_library(defined: type | FunctionType) -> bool:
    """Returns whether a class or a function is one of this library, and not of a user."""
    return str(defined.__module__).startswith("flowalg.")


class Closed:
    """A class that a user does not extend: a subclass outside of this library raises ``ArgumentError``."""

    __slots__ = ()

    _instead: ClassVar[str]
    """What a user extends or uses instead, for the message."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if is_of_library(cls):
            return
        base = next(filter(is_of_library, cls.__mro__))
        why = f"engines compute {base.__name__} by themselves, without the methods of a subclass"
        raise ArgumentError(f"the base class of {cls.__name__}", base, cls._instead, why=why)
