"""What the stages of a query drop in one instant: counted at once, and as values or fields of sinks when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_columns.json_text import encode_json
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.values import read_elements
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.shard_state import Late
from flowalg_shard.step.side_inputs import LateElement, SideDrops
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON, END, START

from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.panes import Drop, DropReason
from flowalg.windows.window import Window
from flowalg_polars.lowering.packed_results import result_columns
from flowalg_polars.lowering.python_steps import to_arrow
from flowalg_polars.streaming.rows import Elements, PreparedGrouping

DropFields: TypeAlias = Mapping[str, object]
"""A drop as sinks store it: ``drop`` with its stage, reason, count, key, value and clocks, and its window."""


class StageDrops(Protocol):
    """The drops of a stage in one instant."""

    @property
    def count(self) -> int:
        """The number of dropped elements."""
        ...

    def values(self) -> list[Drop]:
        """Returns the drops as values."""
        ...

    def fields(self) -> list[DropFields]:
        """Returns the drops as sinks store them: one for each key and window."""
        ...


@frozen
class NoDrops:
    """The drops of a stage that drops nothing."""

    count: int = 0

    def values(self) -> list[Drop]:
        """Returns no drops."""
        return []

    def fields(self) -> list[DropFields]:
        """Returns no drops."""
        return []


@frozen
class GroupingDrops:
    """The late elements of a grouping, by shard. ``name`` is that of the stage in the plan."""

    name: str
    prepared: PreparedGrouping
    clocks: Clocks
    shards: Sequence[Late]

    @property
    def count(self) -> int:
        """The number of dropped elements."""
        return sum(late.count for late in self.shards)

    @property
    def _tables(self) -> list[pl.DataFrame]:
        return [late.table for late in self.shards if not late.table.is_empty()]

    def values(self) -> list[Drop]:
        """Returns the drops as values."""
        now = self.clocks.processing_time
        return [
            Drop(key, window, DropReason(reason), now, count=count)
            for table in self._tables
            for key, (window, reason, count) in zip(self._keys(table), _facts(table), strict=True)
        ]

    def fields(self) -> list[DropFields]:
        """Returns the drops as sinks store them."""
        fields: list[DropFields] = []
        key, value = (field.shape for field in self.prepared.dropped.fields)
        for table in self._tables:
            keys = [encode_json(dropped, key) for dropped in self._keys(table)]
            combined = self._values(table, value)
            for dropped, text, (window, reason, count) in zip(keys, combined, _facts(table), strict=True):
                drop = _drop(self.name, reason, count, dropped, text, self.clocks)
                fields.append(_fields(drop, window))
        return fields

    def _values(self, table: pl.DataFrame, shape: Shape) -> list[str | None]:
        """Returns the combined value of each drop as JSON; ``None`` where it has none."""
        stage, dropped = self.prepared.stage.of_drops, self.prepared.dropped
        present = table[stage.results[0]].is_not_null()
        elements = pair_columns(stage, table.filter(present), dropped)
        layout = key_and_value(layout_of(dropped))[1]
        names = leaf_columns(layout)
        values = iter(read_elements(layout, elements.select(names).to_arrow()))
        return [encode_json(next(values), shape) if is_present else None for is_present in present.to_list()]

    def _keys(self, table: pl.DataFrame) -> list[object]:
        """Returns the keys of some rows as values."""
        layout = key_and_value(layout_of(self.prepared.pair))[0]
        keys = _key_columns(self.prepared.stage, self.prepared.pair)
        return read_elements(layout, table.select(keys).to_arrow())


@frozen
class DropsOfSide:
    """The elements that a side input dropped: some of the side, and some that were to read it.

    ``name`` is that of the stage in the plan.
    """

    name: str
    main: Elements
    side: Shape
    clocks: Clocks
    dropped: SideDrops

    @property
    def count(self) -> int:
        """The number of dropped elements."""
        return self.dropped.counts.total()

    def values(self) -> list[Drop]:
        """Returns the drops as values."""
        now = self.clocks.processing_time
        return [Drop(late.key, late.window, late.reason, now) for late, _ in self._late()]

    def fields(self) -> list[DropFields]:
        """Returns the drops as sinks store them."""
        fields = []
        for late, shape in self._late():
            key = shape.fields[0].shape if isinstance(shape, RecordOf) and shape.cls is KV else shape
            texts = encode_json(late.key, key), encode_json(late.value, shape)
            fields.append(_fields(_drop(self.name, late.reason.value, 1, *texts, self.clocks), late.window))
        return fields

    def _late(self) -> Iterator[tuple[LateElement, Shape]]:
        """Yields the dropped elements with their shapes."""
        for late in self.dropped.side:
            yield late, self.side
        if self.dropped.elements.is_empty():
            return
        shape, meta = self.main.shape, self.main.meta
        values = read_elements(layout_of(shape), to_arrow(self.dropped.elements, shape, meta))
        for late in self.dropped.late_elements(values):
            yield late, shape


def pair_columns(stage: Stage, table: pl.DataFrame, pair: RecordOf) -> pl.DataFrame:
    """Returns the columns of pairs of a shape, from the keys and the results of a table of the step."""
    keys = _key_columns(stage, pair)
    value = key_and_value(layout_of(pair))[1]
    if stage.combiner is not None:
        return table.select(*keys).with_columns(result_columns(table, value, stage.label))
    names = zip(stage.results, leaf_columns(value), strict=True)
    return table.select(*keys, *(pl.col(old).alias(new) for old, new in names))


def _key_columns(stage: Stage, pair: RecordOf) -> list[pl.Expr]:
    key = key_and_value(layout_of(pair))[0]
    return [pl.col(old).alias(new) for old, new in zip(stage.keys, leaf_columns(key), strict=True)]


def _facts(table: pl.DataFrame) -> list[tuple[Window, str, int]]:
    return [
        (Window(EventTime(start), EventTime(end)), reason, count)
        for start, end, reason, count in table.select(START, END, DROP_REASON, DROP_COUNT).rows()
    ]


def _drop(stage: str, reason: str, count: int, key: str, value: str | None, clocks: Clocks) -> DropFields:
    return {
        "stage": stage,
        "reason": reason,
        "count": count,
        "key": key,
        "value": value,
        "processing_time": clocks.processing_time.datetime,
        "watermark": clocks.watermark.datetime,
    }


def _fields(drop: DropFields, window: Window) -> DropFields:
    return {"drop": drop, "start": window.start.datetime, "end": window.end.datetime}
