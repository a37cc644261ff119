"""Fewer calls of the JVM while flowalg makes columns: each costs as much as a thousand steps of Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.errors import utils

from flowalg_spark.encoding.layout import cache_columns

_SWITCH: Final = "_enable_debugging_cache"
"""What PySpark remembers of the setting ``spark.python.sql.dataFrameDebugging.enabled``; it has no other switch."""

_CLASSES: Final = ("org.apache.spark.sql.functions", "functions", "PythonUtils")
"""The classes of the JVM that PySpark's functions are members of, by the names that PySpark calls them."""


@contextmanager
def few_calls() -> Iterator[None]:
    """Make columns with a third of the calls that PySpark takes, which is most of the time that compiling takes."""
    with ExitStack() as stack:
        stack.enter_context(unrecorded())
        stack.enter_context(looked_up_once())
        stack.enter_context(cache_columns())
        yield


@contextmanager
def unrecorded() -> Iterator[None]:
    """Have PySpark leave out of its columns where in Python they were made.

    It would be a place in flowalg, which tells a user nothing, at the price of five calls of the JVM for each column
    instead of one. A PySpark without that switch goes on as ever.
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


class _Once:
    """The members of a class of the JVM, each of which is looked up once."""

    def __init__(self, of: object) -> None:
        self._of = of

    def __getattr__(self, name: str) -> object:
        member: object = getattr(self._of, name)
        setattr(self, name, member)
        return member


_KNOWN: Final[WeakKeyDictionary[object, dict[str, _Once]]] = WeakKeyDictionary()
"""What was looked up in a JVM; there is one at a time."""


@contextmanager
def looked_up_once() -> Iterator[None]:
    """Have PySpark look up each of its functions in the JVM once, not by two calls for each column.

    Over Spark Connect there is nothing to look up.
    """
    jvm = SparkContext._jvm
    if jvm is None:
        yield
        return
    found = vars(jvm)
    if jvm not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[jvm] = {name: _Once(getattr(jvm, name)) for name in _CLASSES}
    mine = {name: once for name, once in _KNOWN[jvm].items() if name not in found}
    found.update(mine)
    try:
        yield
    finally:
        for name in mine:
            found.pop(name, None)


__all__ = ["few_calls", "looked_up_once", "unrecorded"]
