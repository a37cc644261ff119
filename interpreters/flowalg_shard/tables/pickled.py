"""Objects that are stored as pickles in the state."""

from __future__ import annotations

import pickle

from flowalg.data.errors import CheckpointError


def unpickle(packed: bytes) -> object:
    """Returns an object of the state; raises ``CheckpointError`` if its class cannot be imported any more."""
    try:
        return pickle.loads(packed)  # trusted: pickled by the engine
    except (ImportError, AttributeError) as error:
        raise CheckpointError(
            f"the checkpoint has a value of a class that cannot be imported: {error}; start the query with the program "
            "that wrote it, or with a new checkpoint"
        ) from error
