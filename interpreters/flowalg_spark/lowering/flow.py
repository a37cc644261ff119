"""The lowered form of a collection: a frame with the columns of its elements and metadata columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

import pyarrow as pa
from attrs import evolve, field, frozen
from flowalg_columns.checks.shapes import require_equal_shapes
from flowalg_columns.layout import Branch, Leaf, layout_of, leaf_columns, leaves
from flowalg_columns.names import BAD_RECORD, DROPPED_VALUE, ERROR, SPAN, STAGE
from flowalg_columns.notes import LiftingNote
from flowalg_columns.python.rows import ArrowFunction
from flowalg_shard.tables.columns import (
    DROP_COUNT,
    DROP_REASON,
    EVENT_TIME,
    KEEP,
    OBSERVED_TIME,
    PROCESSING_TIME,
)
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data.shapes import Shape
from flowalg.lifting.tree.expressions import Build, Constant, Expr, Param, Part
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, col, columns_of, select, where
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import compile_expression, compile_scalar
from flowalg_spark.lowering.worker_errors import SentBatches


@frozen
class Selection:
    """Columns of a frame that are not selected yet, since Spark analyses the whole plan for each ``select``.

    If they are ``cheap``, an expression may inline them instead of referring to them by name, any number of times.
    """

    rows: DataFrame
    columns: Mapping[str, Sql]
    cheap: bool = False

    def element(self, shape: Shape) -> Columns:
        """Returns the columns of an element of the shape."""
        return columns_of(layout_of(shape), self.columns.__getitem__)

    @cached_property
    def frame(self) -> DataFrame:
        """The frame with these columns selected."""
        return select(self.rows, *(column.alias(name) for name, column in self.columns.items()))


@frozen
class InTurn:
    """Functions of Arrow batches, each of the output of the one before it."""

    functions: tuple[ArrowFunction, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields what the last function does."""
        for function in self.functions:
            batches = function(batch for batch in batches if batch.num_rows)
        yield from batches


@frozen
class Pass:
    """Consecutive functions in Python, which one process of each task runs when their rows are needed."""

    rows: DataFrame
    functions: tuple[ArrowFunction, ...]
    schema: T.StructType

    @cached_property
    def frame(self) -> DataFrame:
        """The frame of their output."""
        return self.rows.mapInArrow(SentBatches(InTurn(self.functions)), self.schema)


@frozen
class Flow:
    """A frame whose columns are the leaves of an element's layout, followed by the metadata columns ``meta``.

    A *guarded* flow, in a stream, has a row for every element of its source. Rows that a filter has removed have
    ``KEEP`` false and no value, and their event times still advance the clocks. With ``dead_letters``, so do the rows
    of bad records, on which a user-defined function raised; they also have the columns of a drop.
    """

    _selected: DataFrame | Selection | Pass = field(alias="frame")
    shape: Shape
    meta: Mapping[str, T.DataType]
    notes: tuple[LiftingNote, ...] = ()
    dead_letters: bool = False

    @property
    def frame(self) -> DataFrame:
        """The frame of the rows, with the columns selected."""
        rows = self._selected
        return rows.frame if isinstance(rows, Selection | Pass) else rows

    @property
    def selection(self) -> Selection:
        """The columns, selected or not."""
        return self._selected if isinstance(self._selected, Selection) else self._by_name

    @property
    def _by_name(self) -> Selection:
        """The selected columns, by name."""
        names = (*leaf_columns(layout_of(self.shape)), *self.meta)
        return Selection(self.frame, {name: col(name) for name in names})

    @property
    def guarded(self) -> bool:
        """Whether the flow has rows that are not kept."""
        return KEEP in self.meta

    @property
    def element(self) -> Columns:
        """The columns of the element."""
        return columns_of(layout_of(self.shape))

    def with_meta(self, **columns: Sql) -> Flow:
        """Returns the flow with metadata columns added or replaced."""
        meta = {**self.meta, **{name: META_TYPES[name] for name in columns}}
        element = leaf_columns(self.element)
        meta_columns = [
            columns[name].cast(kind).alias(name) if name in columns else col(name)
            for name, kind in meta.items()
        ]
        return evolve(self, frame=select(self.frame, *element, *meta_columns), meta=meta)

    def without_meta(self, name: str) -> Flow:
        """Returns the flow without a metadata column, if it has that."""
        if name not in self.meta:
            return self
        meta = {other: kind for other, kind in self.meta.items() if other != name}
        return evolve(self, frame=self.frame.drop(name), meta=meta)

    def with_meta_only(self, names: tuple[str, ...]) -> Flow:
        """Returns the flow with these of its metadata columns, in this order."""
        if names == tuple(self.meta):
            return self
        frame = select(self.frame, *leaf_columns(self.element), *map(col, names))
        return evolve(self, frame=frame, meta={name: self.meta[name] for name in names})

    @property
    def inlined(self) -> Selection:
        """The columns to build expressions from: inlined if they are cheap, otherwise by name."""
        return self.selection if self.selection.cheap else self._by_name

    def map(self, expression: Expr, shape: Shape) -> Flow:
        """Returns the flow with each element replaced by the result of an expression."""
        inlined = self.inlined
        columns = self.evaluate(expression, inlined.element(self.shape))
        meta = {name: inlined.columns[name] for name in self.meta}
        rows = _named(columns, shape, meta, inlined.rows, cheap=is_stored(expression))
        return evolve(self, frame=rows, shape=shape)

    def filter(self, predicate: Expr) -> Flow:
        """Returns the flow without the elements for which an expression is false; their rows stay if it is guarded."""
        if self.guarded:
            kept = compile_scalar(predicate, self.element)
            return self.with_meta(**{KEEP: sql.when(col(KEEP), kept).otherwise(False)})
        inlined = self.inlined
        rows = where(inlined.rows, compile_scalar(predicate, inlined.element(self.shape)))
        return evolve(self, frame=evolve(inlined, rows=rows) if inlined.cheap else rows)

    def select(self, columns: Columns, shape: Shape) -> Flow:
        """Returns the flow with other columns as its element."""
        meta = {name: col(name) for name in self.meta}
        return evolve(self, frame=_named(columns, shape, meta, self.frame), shape=shape)

    def evaluate(self, expression: Expr, element: Columns) -> Columns:
        """Compiles an expression of elements. If it can fail, it is evaluated only on rows that are kept."""
        columns = compile_expression(expression, element)
        return guard_columns(columns) if self.guarded and can_raise_in_engine(expression) else columns

    def map_in_arrow(self, function: ArrowFunction, shape: Shape) -> Flow:
        """Returns the flow after a function of Arrow batches, in one pass with those right before it."""
        pending = self._selected
        rows, before = (pending.rows, pending.functions) if isinstance(pending, Pass) else (self.frame, ())
        together = Pass(rows, (*before, function), row_schema(shape, self.meta))
        return evolve(self, frame=together, shape=shape)

    def with_notes(self, *notes: LiftingNote) -> Flow:
        """Returns the flow with more notes about how its functions run."""
        return evolve(self, notes=(*self.notes, *notes))


def _named(
    element: Columns, shape: Shape, meta: Mapping[str, Sql], rows: DataFrame, *, cheap: bool = False
) -> Selection:
    """Returns the columns of an element, named by the layout of its shape, and metadata columns."""
    names = leaf_columns(layout_of(shape))
    return Selection(rows, {**dict(zip(names, leaf_columns(element), strict=True)), **meta}, cheap)


def is_stored(expression: Expr) -> bool:
    """Returns whether an expression needs no computation: parts of the element, and constants."""
    match expression:
        case Param() | Constant():
            return True
        case Part(of=of):
            return is_stored(of)
        case Build(parts=parts):
            return all(map(is_stored, parts))
        case _:
            return False


def keep_observed_times(flow: Flow) -> Flow:
    """Returns the flow with the event times of its source records, which clocks observe, in a separate column."""
    if OBSERVED_TIME in flow.meta or PROCESSING_TIME not in flow.meta:
        return flow
    return flow.with_meta(**{OBSERVED_TIME: sql.when(col(PROCESSING_TIME).is_not_null(), col(EVENT_TIME))})


_KEPT: Final = col(KEEP)


def guard_columns(columns: Columns, kept: Sql = _KEPT) -> Columns:
    """Returns columns that are null on rows that are not kept."""
    match columns:
        case Leaf(shape=shape, column=column):
            return Leaf(shape, sql.when(kept, column))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(guard_columns(part, kept) for part in parts))


def bad_record_columns(stage: str, error: Sql, record: Sql) -> dict[str, Sql]:
    """Returns the columns of the drop of a bad record, by name, but for its processing time; ``record`` is its JSON."""
    return {
        DROP_REASON: sql.lit(BAD_RECORD),
        DROP_COUNT: sql.lit(1),
        STAGE: sql.lit(stage),
        ERROR: error,
        DROPPED_VALUE: record,
    }


def row_schema(shape: Shape, meta: Mapping[str, T.DataType]) -> T.StructType:
    """Returns the Spark schema of a flow's rows."""
    fields = [T.StructField(leaf.column, spark_type(leaf.shape)) for leaf in leaves(layout_of(shape))]
    return T.StructType([*fields, *(T.StructField(name, kind) for name, kind in meta.items())])


def union(flows: tuple[Flow, ...]) -> Flow:
    """Returns the union of flows; raises ``UnsupportedError`` if their shapes differ."""
    require_equal_shapes([flow.shape for flow in flows])
    united, *others = with_common_meta(flows)
    for other in others:
        united = evolve(united, frame=united.frame.union(other.frame)).with_notes(*other.notes)
    return united


def with_common_meta(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Returns flows with the metadata columns that all of them have, in the same order.

    Where only some have passed a grouping, its windows are in none: elements have yet to be assigned those of all.
    """
    first, *others = flows
    common = tuple(
        name for name in first.meta if name != SPAN and all(name in other.meta for other in others)
    )
    return tuple(flow.with_meta_only(common) for flow in flows)
