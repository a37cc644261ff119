"""A Python worker whose imports are out of the collector's way.

Spark collects garbage in a worker after every task. That looks at each object of each module that the worker has
imported: some 20 ms, six times in a batch of one stage, and while the next stage wants to run.
"""

from __future__ import annotations

import gc
from functools import cache

from pyspark import TaskContext


def settle() -> None:
    """Leave what there is in this process to itself from now on, if it is a worker."""
    if TaskContext.get() is not None:
        _freeze()


@cache
def _freeze() -> None:
    gc.collect()
    gc.freeze()


__all__ = ["settle"]
