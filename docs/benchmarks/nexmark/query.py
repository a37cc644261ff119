"""A query of Nexmark: its pipeline beside its SQL, and the windows that the queries share."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from attrs import frozen

from flowalg import Accumulation, AtCount, GlobalWindows, PCollection, Repeat
from flowalg.windows import WindowFn

A = TypeVar("A")


class Rejected(Exception):
    """An engine cannot express a query; the message is the condition of its error."""


@frozen
class OnStreams:
    """A query in the SQL of Spark over streams, if it differs from that over tables.

    With a ``key``, which are columns of its rows, a row replaces the earlier one with the same key.
    """

    sql: str
    key: tuple[str, ...] = ()


@frozen
class Query:
    """A query as a pipeline, and over the tables ``person``, ``auction``, ``bid`` and ``side_input`` as SQL.

    The columns of both are in the same order, and records in the pipeline's results stand for their fields. ``sql`` is
    in the dialect of DuckDB, and so are ``spark_sql``, ``on_streams`` and ``flink_sql`` in those of Spark and Flink,
    where they differ. ``uses`` is what the pipeline uses of the library.
    """

    number: int
    name: str
    uses: str
    pipeline: PCollection[object]
    sql: str
    spark_sql: str | None = None
    on_streams: OnStreams | None = None
    flink_sql: str | None = None

    @property
    def label(self) -> str:
        """The number and the name."""
        return f"q{self.number}: {self.name}"


def once_complete(values: PCollection[A], windows: WindowFn) -> PCollection[A]:
    """Sets windows that emit one pane, when the watermark passes their end."""
    return values.window(windows, allowed_lateness=timedelta(0))


def as_they_come(values: PCollection[A]) -> PCollection[A]:
    """Sets one window for all time, for a join: it emits each pair once, when its second value arrives."""
    return values.window(GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.DISCARDING)


def kept_current(values: PCollection[A]) -> PCollection[A]:
    """Sets one window for all time, for a result of each key that is retracted whenever it changes."""
    return values.window(GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.RETRACTING)
