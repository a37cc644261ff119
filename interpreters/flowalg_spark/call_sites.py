"""Without PySpark's record of where each column was made, while flowalg makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import utils

_SWITCH: Final = "_enable_debugging_cache"
"""What PySpark remembers of the setting ``spark.python.sql.dataFrameDebugging.enabled``; it has no other switch."""


@contextmanager
def unrecorded() -> Iterator[None]:
    """Have PySpark leave out of its columns where in Python they were made.

    It would be a place in flowalg, which tells a user nothing, at the price of half of the time that compiling takes:
    five calls of the JVM for each column instead of one. A PySpark without that switch goes on as ever.
    """
    if not hasattr(utils, _SWITCH):
        yield
        return
    before = getattr(utils, _SWITCH)
    setattr(utils, _SWITCH, False)
    try:
        yield
    finally:
        setattr(utils, _SWITCH, before)


__all__ = ["unrecorded"]
