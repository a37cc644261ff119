"""The JVM of a Spark session, which a client of Spark Connect does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from flowalg.data.errors import UnsupportedError


class Java(Protocol):
    """A package, class, object or method of the JVM. Numbers and texts are those of Python."""

    def __getattr__(self, name: str) -> Java:
        """Returns a member."""
        ...

    def __call__(self, *arguments: object) -> Java:
        """Calls a method."""
        ...

    def __int__(self) -> int:
        """Returns a number."""
        ...

    def __iter__(self) -> Iterator[Java]:
        """Yields the items of an array."""
        ...


def jvm_of(session: SparkSession, use: str) -> Java:
    """Returns the JVM of a session; raises ``UnsupportedError`` over Spark Connect, which names the use."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedError(
            f"{use} needs a classic Spark session, since a client of Spark Connect has no JVM; got a session of "
            "Spark Connect; run it on the driver"
        )
    return cast("Java", session._jvm)


def is_class(value: object) -> bool:
    """Returns whether a member of the JVM is a class on its class path; py4j takes unknown names for packages."""
    return isinstance(value, JavaClass)


def items_of(iterable: Java) -> Iterator[Java]:
    """Yields the items of an iterable of Java."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()
