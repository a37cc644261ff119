"""The rows of a grouping: elements as the tables that the shard step reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_columns.checks.stages import GroupingStage, grouping_stage, with_aggregates
from flowalg_columns.combiners import accumulated_argument_of
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.notes import LiftingNote
from flowalg_columns.python.windows import AssignWindows
from flowalg_columns.values import read_elements
from flowalg_shard import Stage
from flowalg_shard.contents.stage import side_argument
from flowalg_shard.tables.columns import END, EVENT_TIME, KEEP, NEW, SIDE, START, VALUE, WEIGHT
from flowalg_shard.tables.queries import without
from flowalg_shard.triggers.summary import evaluate_leaf, type_of

from flowalg.data.errors import errors_of
from flowalg.data.shapes import Shape
from flowalg.pipeline.nodes import CombinePerKey, GroupingNode
from flowalg.serialization.stored import store_value
from flowalg_polars.columns import columns_of, nest, polars_type
from flowalg_polars.lowering.arguments import combiner_arguments
from flowalg_polars.lowering.programs import ENGINE
from flowalg_polars.lowering.python_steps import arrow_schema, frame_schema, from_arrow, to_arrow
from flowalg_polars.meta import weight_of
from flowalg_polars.streaming.storage.placement import shard_of

ElementsToRows: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]


@frozen
class Elements:
    """The form of the elements of an input: their shape and their metadata columns."""

    shape: Shape
    meta: tuple[str, ...]


@frozen
class PreparedGrouping(GroupingStage):
    """A grouping with its rows: ``inputs`` are functions from elements of some forms to rows."""

    elements: tuple[Elements, ...]
    inputs: tuple[ElementsToRows, ...]
    notes: tuple[LiftingNote, ...]


def prepare_grouping(
    node: GroupingNode, inputs: Sequence[Elements], shards: int, *, late_data: bool = False
) -> PreparedGrouping:
    """Prepares a grouping of one input of pairs, or a co-group of several.

    Raises ``UnsupportedError`` for types of keys and of combiners' results that columns do not hold, and for windows
    without a lateness, whose state would be kept indefinitely.
    """
    grouping = grouping_stage(node, [elements.shape for elements in inputs])
    late = [_late_columns(elements) if late_data else () for elements in inputs]
    stage = grouping.stage
    if stage.combiner is None:
        if isinstance(node, CombinePerKey):
            return _in_columns(node, grouping, inputs[0], shards, late[0])
        sides = tuple(
            _side_rows(grouping, elements, side, shards, late[side]) for side, elements in enumerate(inputs)
        )
        return _prepared(grouping, stage, inputs, sides, ())
    (elements,) = inputs
    rows = _ObjectRows(stage, elements, shards, late[0])
    note = LiftingNote(node.label, "its combiner, which keeps objects", None, ENGINE)
    return _prepared(grouping, stage, inputs, (rows,), (note,))


def _prepared(
    grouping: GroupingStage,
    stage: Stage,
    inputs: Sequence[Elements],
    rows: tuple[ElementsToRows, ...],
    notes: tuple[LiftingNote, ...],
) -> PreparedGrouping:
    shapes = grouping.pair, grouping.dropped, grouping.values
    return PreparedGrouping(stage, *shapes, tuple(inputs), rows, notes)


_LATE: Final = "__late_"


def _late_columns(elements: Elements) -> tuple[pl.Expr, ...]:
    """Returns the columns of elements under names that those of rows do not have."""
    return tuple(pl.col(name).alias(_LATE + name) for name in leaf_columns(layout_of(elements.shape)))


def without_elements(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows without the columns of late data."""
    return without(rows, {name for name in rows.columns if name.startswith(_LATE)})


def late_elements(elements: Elements, rows: pl.DataFrame) -> list[object]:
    """Returns the elements of rows with late data."""
    names = leaf_columns(layout_of(elements.shape))
    own = rows.select(pl.col(_LATE + name).alias(name) for name in names)
    return read_elements(layout_of(elements.shape), to_arrow(own, elements.shape, ()))


def _in_columns(
    node: CombinePerKey,
    grouping: GroupingStage,
    elements: Elements,
    shards: int,
    late: tuple[pl.Expr, ...],
) -> PreparedGrouping:
    """Prepares a grouping whose combiners are aggregates over columns."""
    element = columns_of(layout_of(elements.shape))
    value = key_and_value(element)[1]
    arguments = combiner_arguments(node, value, accumulated_argument_of)
    stage, read = with_aggregates(grouping.stage, node.combiner, arguments.columns)
    # Retractions find values by the whole value.
    whole = {VALUE: value} if stage.keeps_values else {}
    columns = tuple(nest(item).alias(name) for name, item in (whole | dict(read)).items())
    rows = _ColumnRows(stage, elements, (*columns, *late), shards)
    return _prepared(grouping, stage, [elements], (rows,), arguments.notes)


def _side_rows(
    grouping: GroupingStage, elements: Elements, side: int, shards: int, late: tuple[pl.Expr, ...]
) -> _ColumnRows:
    """Returns the rows of an input of a co-group in columns: those of the other inputs have no values here."""
    value = nest(key_and_value(columns_of(layout_of(elements.shape)))[1])
    columns = (
        (value if number == side else pl.lit(None)).cast(polars_type(shape)).alias(side_argument(number))
        for number, shape in enumerate(grouping.values)
    )
    number = pl.lit(side, pl.Int8()).alias(SIDE)
    return _ColumnRows(grouping.stage, elements, (*columns, number, *late), shards)


@frozen
class _ColumnRows:
    """The rows of a grouping whose contents are columns."""

    stage: Stage
    elements: Elements
    columns: tuple[pl.Expr, ...]
    shards: int

    def __call__(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        if self.stage.preassigned or self.stage.automaton.summary.data:
            frame = _with_python_columns(self.stage, self.elements, frame.collect()).lazy()
        return frame.select(*_row_columns(self.stage, self.elements, self.shards), *self.columns)


@frozen
class _ObjectRows:
    """The rows of a grouping whose values are stored as objects."""

    stage: Stage
    elements: Elements
    shards: int
    late: tuple[pl.Expr, ...]

    def __call__(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        rows = _with_python_columns(self.stage, self.elements, frame.collect())
        values = _values(self.elements, rows)
        packed = [store_value(self.stage.label, "a value", value) for value in values]
        with_values = rows.with_columns(pl.Series(VALUE, packed, pl.Binary()))
        return with_values.lazy().select(
            *_row_columns(self.stage, self.elements, self.shards), VALUE, *self.late
        )


def _values(elements: Elements, rows: pl.DataFrame) -> list[object]:
    value = key_and_value(layout_of(elements.shape))[1]
    return read_elements(value, to_arrow(rows, elements.shape, elements.meta))


def _row_columns(stage: Stage, elements: Elements, shards: int) -> list[pl.Expr]:
    """Returns the columns of rows besides those of values."""
    key = leaf_columns(key_and_value(columns_of(layout_of(elements.shape)))[0])
    keys = [column.alias(name) for column, name in zip(key, stage.keys, strict=True)]
    others = [pl.col(EVENT_TIME), pl.lit(True).alias(KEEP)]
    if stage.retractions:
        others.append(weight_of(elements.meta))
    if stage.preassigned or not stage.fresh:
        others += [pl.col(START), pl.col(END)]
    others += [pl.col(NEW + name) for name, _ in stage.automaton.summary.data]
    return [*keys, *others, shard_of(key, shards)]


def _with_python_columns(stage: Stage, elements: Elements, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the windows that Python assigns, and the observations of data-driven triggers."""
    if stage.preassigned:
        rows = _assign_windows(stage, elements, rows)
    data = stage.automaton.summary.data
    if not data:
        return rows
    values = _values(elements, rows)
    signs = rows.with_columns(weight_of(elements.meta))[WEIGHT].to_list()
    for name, leaf in data:
        with errors_of(stage.label):
            observed = [evaluate_leaf(leaf, value, sign) for value, sign in zip(values, signs, strict=True)]
        rows = rows.with_columns(pl.Series(NEW + name, observed, type_of(leaf)))
    return rows


def _assign_windows(stage: Stage, elements: Elements, rows: pl.DataFrame) -> pl.DataFrame:
    meta = (*elements.meta, *(name for name in (START, END) if name not in elements.meta))
    assign = AssignWindows(
        stage.label,
        layout_of(elements.shape),
        stage.strategy.windows,
        arrow_schema(elements.shape, meta),
    )
    unset = rows.with_columns(pl.lit(None, pl.Int64()).alias(name) for name in (START, END))
    schema = frame_schema(elements.shape, meta)
    with errors_of(stage.label):
        batches = assign(to_arrow(unset, elements.shape, meta).to_batches())
        parts = [from_arrow(batch, schema) for batch in batches]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)
