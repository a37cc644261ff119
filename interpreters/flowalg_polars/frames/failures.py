"""Errors of a query without what Polars adds to their message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flowalg.data.errors import ElementError, UserFunctionError, ValueRangeError

_ADDED: Final = "\n\nThis error occurred "


@contextmanager
def raise_causes() -> Iterator[None]:
    """Raises the errors of elements and of user-defined functions with their own message only."""
    try:
        yield
    except (ElementError, UserFunctionError, ValueRangeError) as error:
        message, added, _ = str(error).partition(_ADDED)
        if not added:
            raise
        raise type(error)(message) from error.__cause__


__all__ = ["raise_causes"]
