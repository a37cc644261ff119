"""Values as engines store them in their states."""

from __future__ import annotations

import pickle
import sys
from typing import TypeVar

A = TypeVar("A")


def stored(what: str, value: A) -> A:
    """Returns a value that was pickled and read again; raises ``AssertionError`` for one that cannot be pickled.

    A value of a class that no module has, as in code that ``exec`` runs, is returned as it is.
    """
    if type(value).__module__ not in sys.modules:
        return value
    try:
        copy: A = pickle.loads(pickle.dumps(value))  # trusted: the same process wrote it
    except Exception as error:
        raise AssertionError(
            f"{what} cannot be stored: {type(error).__name__}: {error}; its class, and those of its parts, must be "
            "defined at the top level of a module, and must be picklable"
        ) from error
    return copy
