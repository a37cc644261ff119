"""The elements of a grouping as rows: keys, windows, values, and what data-driven triggers observe."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

import polars as pl
from attrs import frozen

from flowalg.combiners.core import Count, Over
from flowalg.combiners.result_shapes import argument_shape
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

_KINDS: dict[Shape, pl.DataType] = {INTEGER: pl.Int64(), FLOAT: pl.Float64(), TEXT: pl.String()}
"""The shapes of arguments that have columns here."""


@frozen
class Argument:
    """The argument of an aggregate."""

    column: AggregateColumn
    part: AnyCombiner
    shape: Shape

    @property
    def name(self) -> str:
        """Its column."""
        return str(self.column.argument)

    def of(self, value: object) -> object:
        """The argument in a value, checked by the combiner itself."""
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
        """The stage of a node, with its contents in columns where possible."""
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
        read = (Argument(one, part, shape) for one, part, shape in parts if shape is not None)
        return cls(stage, keys, tuple(read))

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of rows."""
        stage = self.stage
        windows: dict[str, pl.DataType] = {START: pl.Int64(), END: pl.Int64()} if self._brings_windows else {}
        values: dict[str, pl.DataType] = (
            {VALUE: pl.Binary()}
            if stage.combiner is not None
            else {one.name: _KINDS[one.shape] for one in self.arguments}
        )
        fields = stage.automaton.summary
        kinds = fields.columns(NEW)
        seen = {NEW + name: kinds[NEW + name] for name, _ in fields.data}
        times: dict[str, pl.DataType] = {EVENT_TIME: pl.Int64(), WEIGHT: pl.Int8(), ARRIVAL: pl.Int64()}
        return {
            KEY: self.keys.kind,
            SHARD: pl.Int32(),
            KEEP: pl.Boolean(),
            **times,
            **windows,
            **values,
            **seen,
        }

    @property
    def _brings_windows(self) -> bool:
        return self.stage.preassigned or not self.stage.fresh

    def rows(self, elements: Sequence[Element], shards: int) -> pl.DataFrame:
        """The rows of some elements, in order of arrival."""
        found = [row for number, one in enumerate(elements) for row in self._rows(one, number, shards)]
        return pl.DataFrame(found, schema=self.schema, orient="row")

    def _rows(self, element: Element, number: int, shards: int) -> Iterable[tuple[object, ...]]:
        stage = self.stage
        pair = require_keyed(element.value, stage.label)
        column = self.keys.encode(pair.key)
        shard = hash64(column, stage.label) % shards
        times = (element.event_time, element.weight, number)
        if stage.combiner is not None:
            values: tuple[object, ...] = (pickle.dumps(pair.value),)
        else:
            values = tuple(one.of(pair.value) for one in self.arguments)
        data = stage.automaton.summary.data
        given = element.weight > 0
        seen = tuple(evaluate_leaf(leaf, untagged(pair.value)) if given else None for _, leaf in data)
        for bounds in self._bounds(element, pair.key):
            yield (column, shard, True, *times, *bounds, *values, *seen)

    def _bounds(self, element: Element, key: object) -> Iterable[tuple[int, ...]]:
        if not self._brings_windows:
            return ((),)
        windows: Sequence[Window] = (element.window,)
        if self.stage.fresh:
            windows = self.stage.strategy.windows.assign(element.event_time, key)
        return tuple((one.start, one.end) for one in windows)


def _shapes(node: GroupingNode) -> tuple[Shape, Shape] | None:
    """The shapes of key and value, if they are known."""
    match node.inputs[0].shape:
        case RecordOf(fields=(key, value)):
            return key.shape, value.shape
        case _:
            return None


def _arguments(combiner: AnyCombiner, value: Shape | None) -> tuple[Shape | None, ...] | None:
    """The shape of each combiner's argument; ``None`` if the contents of one cannot be in columns."""
    found: list[Shape | None] = []
    for part in scalar_combiners(combiner):
        inner: object = part.combiner if isinstance(part, Over) else part
        if isinstance(inner, Count) and not isinstance(part, Over):
            found.append(None)
            continue
        shape = None if value is None else argument_shape(part, value) if isinstance(part, Over) else value
        if shape is None or shape not in _KINDS or isinstance(inner, Count):
            return None
        found.append(shape)
    return tuple(found)


__all__ = ["Argument", "CompiledGrouping"]
