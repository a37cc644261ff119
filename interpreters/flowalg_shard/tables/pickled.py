"""Objects that are stored as pickles in the state."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from itertools import chain

import attrs

from flowalg.data.errors import CheckpointError, ElementError, describe_raised


def unpickle(packed: bytes) -> object:
    """Returns an object of the state; raises ``CheckpointError`` if its class cannot be imported any more."""
    try:
        return pickle.loads(packed)  # trusted: pickled by the engine
    except (ImportError, AttributeError) as error:
        raise CheckpointError(
            f"the checkpoint has a value of a class that cannot be imported: {error}; start the query with the program "
            "that wrote it, or with a new checkpoint"
        ) from error


def pickle_value(label: str, what: str, value: object) -> bytes:
    """Returns a value of a stage as bytes; raises ``ElementError`` if it cannot be pickled.

    Raises ``CheckpointError`` if that is since it has a record from the checkpoint that lacks a field of its class.
    """
    try:
        return pickle.dumps(value)
    except MemoryError:
        raise
    except Exception as error:
        require_fields(f"{label}: {what}", value)
        raise ElementError(
            f"{label}: {what} cannot be stored: {describe_raised(error)}; its class, and those of its parts, must be "
            "defined at the top level of a module, and must be picklable"
        ) from error


def require_fields(what: str, value: object) -> None:
    """Raises ``CheckpointError`` if a record in a value of the state lacks a field that its class has now."""
    missing = _missing_field(value)
    if missing is not None:
        raise CheckpointError(
            f"{what} in the checkpoint has no {missing}; the record class has changed since, so change it back, or "
            "start the query with a new checkpoint"
        )


def _missing_field(value: object) -> str | None:
    """Returns a field that a record in a value lacks, with its class; ``None`` if no record lacks one."""
    kind: type = type(value)
    parts: Iterable[object] = ()
    if isinstance(value, Mapping):
        parts = chain(value.keys(), value.values())
    elif isinstance(value, tuple | list | set | frozenset):
        parts = value
    elif attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
        lacking = next((name for name in names if not hasattr(value, name)), None)
        if lacking is not None:
            return f"{kind.__name__}.{lacking}"
        parts = (getattr(value, name) for name in names)
    return next(filter(None, map(_missing_field, parts)), None)
