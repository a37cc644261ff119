"""The elements of a grouping as rows: keys, windows, values, and the observations of data-driven triggers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

import polars as pl
from attrs import frozen

from flowalg.combiners.core import Count, Over
from flowalg.combiners.result_shapes import argument_shape
from flowalg.data.errors import errors_of
from flowalg.data.hashing import hash64
from flowalg.data.shapes import FLOAT, INTEGER, TEXT, RecordOf, Shape
from flowalg.elementwise.functions import apply, require_keyed
from flowalg.pipeline.co_group import untagged
from flowalg.pipeline.nodes import CoGroupByKey, GroupingNode
from flowalg.runs.elements import Element
from flowalg.windows.window import Window
from flowalg_shard.local.keys import KEY, Keys
from flowalg_shard.step.stage import (
    AggregateColumn,
    AnyCombiner,
    Stage,
    aggregate_columns,
    runs_in_columns,
    scalar_combiners,
)
from flowalg_shard.step.trigger_summary import evaluate_leaf
from flowalg_shard.step.window_assignment import assigned_in_columns
from flowalg_shard.tables.columns import (
    ARRIVAL,
    END,
    EVENT_TIME,
    KEEP,
    NEW,
    SHARD,
    START,
    VALUE,
    WEIGHT,
)

_TYPES: dict[Shape, pl.DataType] = {INTEGER: pl.Int64(), FLOAT: pl.Float64(), TEXT: pl.String()}
"""The types of columns for arguments, by shape."""


@frozen
class Argument:
    """The argument of an aggregate."""

    column: AggregateColumn
    part: AnyCombiner
    shape: Shape

    @property
    def name(self) -> str:
        """The column of the argument."""
        return str(self.column.argument)

    def of(self, value: object) -> object:
        """Returns the argument in a value, after the combiner has validated it."""
        part = self.part
        if isinstance(part, Over):
            value, part = apply(part.function, value, part.label), part.combiner
        part.add(part.zero(), value)
        return float(value) if self.shape == FLOAT and isinstance(value, int) else value


@frozen
class CompiledGrouping:
    """A grouping of a pipeline, compiled for the local engine."""

    stage: Stage
    keys: Keys
    arguments: tuple[Argument, ...]

    @classmethod
    def of(cls, node: GroupingNode) -> CompiledGrouping:
        """Compiles a node; its contents are in columns if possible."""
        effective, retracting = node.windowed_by, node.receives_retractions
        shapes = _shapes(node)
        keys = Keys(None if shapes is None else shapes[0], node.label)
        arguments = _arguments(
            node.combiner, None if shapes is None or isinstance(node, CoGroupByKey) else shapes[1]
        )
        native = arguments is not None and runs_in_columns(
            node.combiner, effective.strategy, retractions=retracting
        )
        columns = aggregate_columns(node.combiner, arguments) if native and arguments is not None else ()
        stage = Stage(
            node.label,
            (KEY,),
            columns,
            effective.strategy,
            fresh=effective.fresh,
            retractions=retracting,
            preassigned=effective.fresh and not assigned_in_columns(effective.strategy.windows),
            combiner=None if native else node.combiner,
        )
        parts = zip(columns, scalar_combiners(node.combiner), arguments or (), strict=False)
        read = (Argument(column, part, shape) for column, part, shape in parts if shape is not None)
        return cls(stage, keys, tuple(read))

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of rows."""
        stage = self.stage
        windows: dict[str, pl.DataType] = {START: pl.Int64(), END: pl.Int64()} if self._brings_windows else {}
        values: dict[str, pl.DataType] = (
            {VALUE: pl.Binary()}
            if stage.combiner is not None
            else {argument.name: _TYPES[argument.shape] for argument in self.arguments}
        )
        fields = stage.automaton.summary
        types = fields.columns(NEW)
        observed = {NEW + name: types[NEW + name] for name, _ in fields.data}
        times: dict[str, pl.DataType] = {EVENT_TIME: pl.Int64(), WEIGHT: pl.Int8(), ARRIVAL: pl.Int64()}
        return {
            KEY: self.keys.kind,
            SHARD: pl.Int32(),
            KEEP: pl.Boolean(),
            **times,
            **windows,
            **values,
            **observed,
        }

    @property
    def _brings_windows(self) -> bool:
        return self.stage.preassigned or not self.stage.fresh

    def rows(self, elements: Sequence[Element], shards: int) -> pl.DataFrame:
        """Returns the rows of elements, in order of arrival."""
        with errors_of(self.stage.label):
            rows = [
                row for number, element in enumerate(elements) for row in self._rows(element, number, shards)
            ]
        return pl.DataFrame(rows, schema=self.schema, orient="row")

    def _rows(self, element: Element, number: int, shards: int) -> Iterable[tuple[object, ...]]:
        stage = self.stage
        pair = require_keyed(element.value, stage.label)
        column = self.keys.encode(pair.key)
        shard = hash64(column, stage.label) % shards
        times = (element.event_time, element.weight, number)
        if stage.combiner is not None:
            values: tuple[object, ...] = (pickle.dumps(pair.value),)
        else:
            values = tuple(argument.of(pair.value) for argument in self.arguments)
        data = stage.automaton.summary.data
        is_value = element.weight > 0
        observed = tuple(evaluate_leaf(leaf, untagged(pair.value)) if is_value else None for _, leaf in data)
        for bounds in self._bounds(element, pair.key):
            yield (column, shard, True, *times, *bounds, *values, *observed)

    def _bounds(self, element: Element, key: object) -> Iterable[tuple[int, ...]]:
        if not self._brings_windows:
            return ((),)
        windows: Sequence[Window] = (element.window,)
        if self.stage.fresh:
            windows = self.stage.strategy.windows.assign(element.event_time, key)
        return tuple((window.start, window.end) for window in windows)


def _shapes(node: GroupingNode) -> tuple[Shape, Shape] | None:
    """Returns the shapes of key and value, if they are known."""
    match node.inputs[0].shape:
        case RecordOf(fields=(key, value)):
            return key.shape, value.shape
        case _:
            return None


def _arguments(combiner: AnyCombiner, value: Shape | None) -> tuple[Shape | None, ...] | None:
    """Returns the shape of each combiner's argument; ``None`` if the contents of any cannot be in columns."""
    shapes: list[Shape | None] = []
    for part in scalar_combiners(combiner):
        inner: object = part.combiner if isinstance(part, Over) else part
        if isinstance(inner, Count) and not isinstance(part, Over):
            shapes.append(None)
            continue
        shape = None if value is None else argument_shape(part, value) if isinstance(part, Over) else value
        if shape is None or shape not in _TYPES or isinstance(inner, Count):
            return None
        shapes.append(shape)
    return tuple(shapes)


__all__ = ["Argument", "CompiledGrouping"]
