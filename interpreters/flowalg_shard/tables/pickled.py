"""Objects that are stored as pickles in the state."""

from __future__ import annotations

import pickle

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
    """Returns a value of a stage as bytes; raises ``ElementError`` if it cannot be pickled."""
    try:
        return pickle.dumps(value)
    except MemoryError:
        raise
    except Exception as error:
        raise ElementError(
            f"{label}: {what} cannot be stored: {describe_raised(error)}; its class, and those of its parts, must be "
            "defined at the top level of a module, and must be picklable"
        ) from error
