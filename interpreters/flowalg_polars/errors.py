"""Errors of a query as the functions that Polars calls have raised them: with their class, message and cause.

Polars raises such an error as a new one of its class, made of its message and of what it adds to that. So it is raised
as an error of a class of its own, which has the error itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from polars.exceptions import PanicException

from flowalg.data.errors import FlowalgError, with_message

_INTERRUPTED: Final = "PyErr { type: <class 'KeyboardInterrupt'>"
_ADDED: Final = "\n\nThis error occurred "


class _Carried(BaseException):
    """An error on its way through Polars."""

    error: ClassVar[BaseException]

    def __init__(self, message: str) -> None:
        BaseException.__init__(self, message)


@contextmanager
def raise_causes() -> Iterator[None]:
    """Raises the errors of flowalg, and those of functions that Polars has called, as they were raised."""
    try:
        yield
    except _Carried as carried:
        error = carried.error
        raise error from error.__cause__
    except PanicException as panic:
        if _INTERRUPTED not in str(panic):
            raise
        raise KeyboardInterrupt from panic  # Ctrl-C while Polars called a function of its own
    except FlowalgError as error:
        message, added, _ = str(error).partition(_ADDED)
        if not added:
            raise
        raise with_message(type(error), message) from error.__cause__


@contextmanager
def keep_causes() -> Iterator[None]:
    """Lets the errors of a function that Polars calls keep what they are."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, FlowalgError | MemoryError):
            raise
        kind = type(error)
        carrier = type(kind.__name__, (_Carried, kind), {"error": error, "__module__": kind.__module__})
        raise carrier(str(error)) from error
