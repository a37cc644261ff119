"""Fewer calls of the JVM during compilation: each call costs as much as a thousand steps of Python.

Two of the caches replace attributes of PySpark; ``docs/performance.md`` has what they save.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.errors import utils

from flowalg_spark.encoding.columns import cache_columns

_SWITCH: Final = "_enable_debugging_cache"
"""PySpark's cached value of the setting ``spark.python.sql.dataFrameDebugging.enabled``, which it reads once."""

_LOCK: Final = Lock()
_BEFORE: Final[list[object]] = []
"""What the switch was before the compilations that run now, in several threads: once for each of them."""

_CLASSES: Final = ("org.apache.spark.sql.functions", "functions", "PythonUtils")
"""The classes of the JVM that have PySpark's functions as members, by the names that PySpark uses."""


@contextmanager
def reduce_calls() -> Iterator[None]:
    """Makes columns with a third of PySpark's calls of the JVM, which take most of the time of a compilation."""
    with ExitStack() as stack:
        stack.enter_context(skip_source_locations())
        stack.enter_context(cache_functions())
        stack.enter_context(cache_columns())
        yield


@contextmanager
def skip_source_locations() -> Iterator[None]:
    """Makes columns without the source location that PySpark records for error messages.

    The location would be a line of flowalg, which is of no use to a user, and it takes five calls of the JVM for each
    column instead of one. Nothing changes in a PySpark without this switch.
    """
    if not hasattr(utils, _SWITCH):
        yield
        return
    with _LOCK:
        _BEFORE.append(_BEFORE[0] if _BEFORE else getattr(utils, _SWITCH))
        setattr(utils, _SWITCH, False)
    try:
        yield
    finally:
        with _LOCK:
            before = _BEFORE.pop()
            if not _BEFORE:
                setattr(utils, _SWITCH, before)


class _CachedMembers:
    """The members of a class of the JVM, each looked up once."""

    def __init__(self, of: object) -> None:
        self._of = of

    def __getattr__(self, name: str) -> object:
        member: object = getattr(self._of, name)
        setattr(self, name, member)
        return member


_KNOWN: Final[WeakKeyDictionary[object, dict[str, _CachedMembers]]] = WeakKeyDictionary()
"""The members that were looked up in a JVM; a process has one JVM at a time."""


@contextmanager
def cache_functions() -> Iterator[None]:
    """Looks up each of PySpark's functions in the JVM once, instead of by two calls for each column.

    Nothing changes over Spark Connect, which has no JVM in this process.
    """
    jvm = SparkContext._jvm
    if jvm is None:
        yield
        return
    members = vars(jvm)
    if jvm not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[jvm] = {name: _CachedMembers(getattr(jvm, name)) for name in _CLASSES}
    added = {name: cached for name, cached in _KNOWN[jvm].items() if name not in members}
    members.update(added)
    try:
        yield
    finally:
        for name in added:
            members.pop(name, None)
