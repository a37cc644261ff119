"""Rows that wait for a later reader: the stages in between forward them in columns of their own.

A Spark plan is a tree, so a stage that two outputs read would run twice, with two states. Instead, the second reader
continues the plan of the first. The rows that it needs pass through the stages of the first as control rows: they are
*parked* in a slot, which has a column for each of their columns, and taken out of it where the second reader begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, frozen
from flowalg_columns.layout import layout_of, leaf_columns, leaves
from flowalg_columns.names import (
    CLOCK_META,
    DROP_META,
    DROPPED_KEY,
    DROPPED_VALUE,
    ERROR,
    LATE_META,
    METRICS,
    STAGE,
)
from flowalg_shard import Upstream
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON, EVENT_TIME, KEEP, UPSTREAM
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data.shapes import Shape
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select, where
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import Sql, all_of
from flowalg_spark.lowering.flow import Flow, Selection
from flowalg_spark.streaming.streams.stream import Stream

_PREFIX: Final = "__parked_"
_COPY: Final = "__copy"
_OF_DROPS: Final = frozenset(
    (STAGE, DROP_REASON, DROP_COUNT, DROPPED_KEY, DROPPED_VALUE, *LATE_META, ERROR, METRICS)
)
"""The columns of drops and metrics, which have rows of their own and are never parked."""
_OBSERVED: Final = frozenset((KEEP, EVENT_TIME, *CLOCK_META)) - {UPSTREAM}
"""The columns that steps and clocks look at."""
_ELSEWHERE: Final = {KEEP: False, UPSTREAM: 0}
"""The values of columns, if not null, on rows that a slot does not have."""


def parked_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns of parked rows among some columns."""
    return tuple(name for name in names if name.startswith(_PREFIX))


def parked_marks(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns, one of each slot, that are null except on its parked rows."""
    return tuple(name for name in parked_columns(names) if name.endswith(KEEP))


@frozen
class Slot:
    """A place for the rows of a stream: its number, and the elements, metadata columns and upstreams of the rows."""

    number: int
    shape: Shape
    meta: Mapping[str, T.DataType]
    upstreams: tuple[Upstream, ...]

    @classmethod
    def of(cls, number: int, stream: Stream) -> Slot:
        """Returns a slot for the rows of a stream."""
        flow = stream.flow
        parked = parked_columns(flow.meta)
        meta = {name: kind for name, kind in flow.meta.items() if name not in (*parked, *_OF_DROPS)}
        return cls(number, flow.shape, meta, stream.upstreams)

    def column(self, name: str) -> str:
        """Returns the column in which a column of the rows is parked."""
        return f"{_PREFIX}{self.number}_{name}"

    @property
    def mark(self) -> str:
        """The column that is null except on the slot's rows."""
        return self.column(KEEP)

    @property
    def types(self) -> dict[str, T.DataType]:
        """The columns of the slot, with their types."""
        own = {leaf.column: spark_type(leaf.shape) for leaf in leaves(layout_of(self.shape))}
        return {self.column(name): kind for name, kind in {**own, **self.meta}.items()}

    def park(self, stream: Stream) -> Stream:
        """Returns a stream whose elements are moved to the slot, and are control rows now."""
        return self._with_slot(stream, stream.flow.frame, col(KEEP))

    def copy(self, stream: Stream) -> Stream:
        """Returns a stream with a copy of its rows in the slot: of all rows that a reader needs, elements or not."""
        flow = stream.flow
        marks = [*parked_marks(flow.meta), *(name for name in (DROP_REASON, METRICS) if name in flow.meta)]
        needed = all_of(col(name).is_null() for name in marks)
        copies = sql.when(needed, sql.array(False, True)).otherwise(sql.array(False))
        return self._with_slot(stream, select(flow.frame, "*", sql.explode(copies).alias(_COPY)), col(_COPY))

    def _with_slot(self, stream: Stream, frame: DataFrame, parked: Sql) -> Stream:
        """Returns the rows of a frame with the columns of the slot, which has the rows where ``parked`` is true."""
        flow = stream.flow
        own = leaf_columns(layout_of(flow.shape))
        kept = [_where_not(parked, name) if name in _OBSERVED else col(name) for name in flow.meta]
        slot = [sql.when(parked, col(name)).alias(self.column(name)) for name in (*own, *self.meta)]
        meta = {**flow.meta, **self.types}
        return evolve(stream, flow=evolve(flow, frame=select(frame, *map(col, own), *kept, *slot), meta=meta))

    def take(self, stream: Stream) -> Stream:
        """Returns the rows of the slot as a stream. What else the stream forwards are control rows in it."""
        flow = stream.flow
        forwarded = {
            name: kind
            for name, kind in flow.meta.items()
            if name in _OF_DROPS or (name in parked_columns(flow.meta) and name not in self.types)
        }

        def taken(name: str) -> Sql:
            column = sql.when(col(self.mark).is_not_null(), col(self.column(name)))
            if name in _ELSEWHERE:
                return column.otherwise(_ELSEWHERE[name])
            # Drops have their times and bounds in the same columns as panes.
            return column.otherwise(col(name)) if name in DROP_META and name in flow.meta else column

        own = [col(self.column(name)).alias(name) for name in leaf_columns(layout_of(self.shape))]
        meta = [taken(name).alias(name) for name in self.meta]
        frame = select(flow.frame, *own, *meta, *map(col, forwarded))
        taken_flow = evolve(flow, frame=frame, shape=self.shape, meta={**self.meta, **forwarded})
        return evolve(stream, flow=taken_flow, upstreams=self.upstreams)

    def flow(self, stream: Stream) -> Flow:
        """Returns the stream's rows with the columns of the slot as their element; all are kept."""
        columns = {
            name: col(self.column(name)) for name in (*leaf_columns(layout_of(self.shape)), *self.meta)
        }
        return evolve(
            stream.flow, frame=Selection(stream.flow.frame, columns), shape=self.shape, meta=self.meta
        )


def _where_not(parked: Sql, name: str) -> Sql:
    """Returns a column that the clocks and the steps do not see on parked rows."""
    column = sql.when(~parked, col(name))
    return (column.otherwise(False) if name == KEEP else column).alias(name)


def without_parked(flow: Flow) -> Flow:
    """Returns a flow without the rows that are parked in it."""
    parked = parked_columns(flow.meta)
    if not parked:
        return flow
    free = all_of(col(name).is_null() for name in parked_marks(parked))
    meta = {name: kind for name, kind in flow.meta.items() if name not in parked}
    return evolve(flow, frame=where(flow.frame, free).drop(*parked), meta=meta)
