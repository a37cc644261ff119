"""Values as engines store them in their states."""

from __future__ import annotations

import sys
from typing import TypeVar

from flowalg.serialization.stored import read, store

A = TypeVar("A")


def stored(what: str, value: A) -> A:
    """Returns a value that was stored and read again; raises ``AssertionError`` for one that is not data.

    A value of a class that no module has, as in code that ``exec`` runs, is returned as it is.
    """
    kind: type[A] = type(value)
    if kind.__module__ not in sys.modules:
        return value
    try:
        return read(store(value), kind)
    except (TypeError, ValueError, RecursionError) as error:
        raise AssertionError(
            f"{what} cannot be stored: {type(error).__name__}: {error}; state is data: numbers, texts, bytes, times, "
            "tuples, lists, sets, dicts, enums, and records of them"
        ) from error
