"""A collection on its way through Spark: a frame, where its element lies, and the columns that travel along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import starmap

from attrs import evolve, field, frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import Shape
from flowalg.lifting.tree.expressions import Expr
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg_spark.encoding.layout import (
    Branch,
    Columns,
    Leaf,
    alias_column,
    col,
    columns_of,
    flatten_columns,
    layout_of,
    leaf_columns,
    leaves,
)
from flowalg_spark.encoding.meta import EVENT_TIME, KEEP, META_TYPES, OBSERVED_TIME, PROCESSING_TIME, SPAN
from flowalg_spark.encoding.schema import cast_to, spark_type
from flowalg_spark.expressions import compile_expression, compile_scalar
from flowalg_spark.lowering.python_rows import ArrowFunction


@frozen
class LiftingNote:
    """Whether a user function runs as Spark columns or in Python, with the reason and the source location."""

    transform: str
    reason: str | None
    location: str | None

    def __str__(self) -> str:
        if self.reason is None:
            return f"{self.transform}: lifted to Spark columns"
        where = f", at {self.location}" if self.location else ""
        return f"{self.transform}: runs in Python: {self.reason}{where}"


@frozen
class Selection:
    """Columns of a frame that are not selected yet: Spark looks through a plan anew for each select.

    If they are ``cheap`` an expression may use them in place of their names, as often as it likes.
    """

    rows: DataFrame
    columns: Mapping[str, Column]
    cheap: bool = False

    def element(self, shape: Shape) -> Columns:
        """The columns of an element of the shape."""
        return columns_of(layout_of(shape), self.columns.__getitem__)

    @cached_property
    def frame(self) -> DataFrame:
        """The frame of these columns."""
        return self.rows.select(*starmap(alias_column, self.columns.items()))


@frozen
class Flow:
    """A frame whose columns are the leaves of an element's layout, and then ``meta``.

    A *guarded* flow, on a stream, keeps a row for every element of its source: those that a filter has dropped
    have ``KEEP`` false and no value, but their event times move the clocks. If it ``catches``, so do elements that a
    function of the user's cannot take: their rows tell it, as those of drops do.
    """

    _selected: DataFrame | Selection = field(alias="frame")
    shape: Shape
    meta: Mapping[str, T.DataType]
    notes: tuple[LiftingNote, ...] = ()
    dead_letters: bool = False

    @property
    def frame(self) -> DataFrame:
        """The rows, with these columns."""
        return self._selected.frame if isinstance(self._selected, Selection) else self._selected

    @property
    def selection(self) -> Selection:
        """The columns, of a frame that they may still have to be selected of."""
        return self._selected if isinstance(self._selected, Selection) else self._by_name

    @property
    def _by_name(self) -> Selection:
        """The columns by their names."""
        names = (*leaf_columns(layout_of(self.shape)), *self.meta)
        return Selection(self.frame, {name: col(name) for name in names})

    @property
    def guarded(self) -> bool:
        """Whether rows that are not kept are carried along."""
        return KEEP in self.meta

    @property
    def element(self) -> Columns:
        """The columns of the element."""
        return columns_of(layout_of(self.shape))

    def with_meta(self, **columns: Column) -> Flow:
        """The flow with some of its other columns added or replaced."""
        meta = {**self.meta, **{name: META_TYPES[name] for name in columns}}
        kept = leaf_columns(self.element)
        others = [
            cast_to(columns[name], kind).alias(name) if name in columns else col(name)
            for name, kind in meta.items()
        ]
        return evolve(self, frame=self.frame.select(*kept, *others), meta=meta)

    def without_meta(self, name: str) -> Flow:
        """The flow without one of its other columns, if it has it."""
        if name not in self.meta:
            return self
        meta = {one: kind for one, kind in self.meta.items() if one != name}
        return evolve(self, frame=self.frame.drop(name), meta=meta)

    @property
    def source(self) -> Selection:
        """The columns as expressions that other expressions can be made of, and the frame that these are of."""
        return self.selection if self.selection.cheap else self._by_name

    def map(self, expression: Expr, shape: Shape) -> Flow:
        """The flow with what an expression gives for each element in its place."""
        source = self.source
        columns = self.evaluate(expression, source.element(self.shape))
        meta = (alias_column(name, source.columns[name]) for name in self.meta)
        frame = source.rows.select(*flatten_columns(columns, shape), *meta)
        return evolve(self, frame=frame, shape=shape)

    def filter(self, predicate: Expr) -> Flow:
        """The flow without the elements for which an expression is false."""
        source = self.source
        rows = source.rows.filter(compile_scalar(predicate, source.element(self.shape)))
        return evolve(self, frame=evolve(source, rows=rows) if source.cheap else rows)

    def select(self, columns: Columns, shape: Shape) -> Flow:
        """The flow with another element in place of its own."""
        frame = self.frame.select(*flatten_columns(columns, shape), *map(col, self.meta))
        return evolve(self, frame=frame, shape=shape)

    def evaluate(self, expression: Expr, element: Columns) -> Columns:
        """What an expression gives for elements; on rows that are not kept it is not evaluated if it can fail."""
        columns = compile_expression(expression, element)
        return guard_columns(columns) if self.guarded and can_raise_in_engine(expression) else columns

    def map_in_arrow(self, function: ArrowFunction, shape: Shape) -> Flow:
        """The flow with its rows replaced by what a function of Arrow batches makes of them."""
        schema = row_schema(shape, self.meta)
        return evolve(self, frame=self.frame.mapInArrow(function, schema), shape=shape)

    def with_notes(self, *notes: LiftingNote) -> Flow:
        """The flow with more said about how its functions run."""
        return evolve(self, notes=(*self.notes, *notes))


def keep_observed_times(flow: Flow) -> Flow:
    """The flow with the event times by which the clocks see its records kept apart from those of its elements."""
    if OBSERVED_TIME in flow.meta or PROCESSING_TIME not in flow.meta:
        return flow
    return flow.with_meta(**{OBSERVED_TIME: F.when(col(PROCESSING_TIME).isNotNull(), col(EVENT_TIME))})


def guard_columns(columns: Columns) -> Columns:
    """The columns of an element on the rows that are kept, and null elsewhere."""
    match columns:
        case Leaf(shape=shape, column=column):
            return Leaf(shape, F.when(col(KEEP), column))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(guard_columns(part) for part in parts))


def row_schema(shape: Shape, meta: Mapping[str, T.DataType]) -> T.StructType:
    """The Spark schema of a flow's rows."""
    fields = [T.StructField(leaf.column, spark_type(leaf.shape)) for leaf in leaves(layout_of(shape))]
    return T.StructType([*fields, *(T.StructField(name, kind) for name, kind in meta.items())])


def union(flows: tuple[Flow, ...]) -> Flow:
    """Several flows of one shape as one; raises ``UnsupportedError`` when their shapes differ."""
    require_equal_shapes([flow.shape for flow in flows])
    whole, *others = (flow.without_meta(SPAN) for flow in flows)
    for other in others:
        columns = [col(name) for name in whole.frame.columns]
        frame = whole.frame.union(other.frame.select(*columns))
        whole = evolve(whole, frame=frame).with_notes(*other.notes)
    return whole


def require_equal_shapes(shapes: Sequence[Shape]) -> None:
    """Raises ``UnsupportedError`` when collections to be united have different shapes."""
    for other in shapes:
        if other != shapes[0]:
            raise UnsupportedError(
                f"flatten: collections of {shapes[0]} and of {other} have no common columns"
            )


__all__ = [
    "Flow",
    "LiftingNote",
    "Selection",
    "guard_columns",
    "keep_observed_times",
    "require_equal_shapes",
    "row_schema",
    "union",
]
