"""Garbage collection in Python workers.

Spark collects garbage in a worker after each task. The collection visits every object of every imported module, which
takes some 20 ms, and delays the next task of the worker.
"""

from __future__ import annotations

import gc
from functools import cache

from pyspark import TaskContext


def freeze_imports() -> None:
    """Exempts the objects that exist from garbage collection, once in each worker; does nothing on the driver."""
    if TaskContext.get() is not None:
        _freeze()


@cache
def _freeze() -> None:
    gc.collect()
    gc.freeze()
