"""Errors of a query without what Polars adds to their message, and with the cause that Polars loses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flowalg.data.errors import ElementError, FlowalgError, UserFunctionError, ValueRangeError

_ADDED: Final = "\n\nThis error occurred "


@contextmanager
def raise_causes() -> Iterator[None]:
    """Raises the errors of elements and of user-defined functions with their own class and message only."""
    try:
        yield
    except (ElementError, UserFunctionError, ValueRangeError) as error:
        message, added, _ = str(error).partition(_ADDED)
        if not added:
            raise
        own = next(kind for kind in type(error).__mro__ if kind.__module__ != __name__)
        raise own(message) from error.__cause__


@contextmanager
def keep_causes() -> Iterator[None]:
    """Lets the errors of a function that Polars calls keep their cause.

    Polars raises such an error as a new one of its class with its message, so a class of its own has the cause.
    """
    try:
        yield
    except FlowalgError as error:
        kind, cause = type(error), error.__cause__
        if cause is None:
            raise

        def __init__(self: FlowalgError, message: str) -> None:
            kind.__init__(self, message)
            self.__cause__ = cause

        kept = type(kind.__name__, (kind,), {"__init__": __init__, "__module__": __name__})
        raise kept(str(error)) from cause


__all__ = ["keep_causes", "raise_causes"]
