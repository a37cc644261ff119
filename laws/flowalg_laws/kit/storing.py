"""Values as engines store them in their states."""

from __future__ import annotations

import sys
from typing import TypeVar

from flowalg.serialization.stored import NOT_DATA, read, store, unstorable_message

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
    except NOT_DATA as error:
        raise AssertionError(unstorable_message(what, error)) from error
