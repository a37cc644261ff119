"""What the stages of a query drop in one instant: counted at once, and as values or fields of sinks when asked for.

With late data each value is one element, and so are the fields of each; otherwise those of a grouping are combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_columns.json_text import encode_json
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.values import read_elements
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.late_data import dropped_rows, may_be_dropped
from flowalg_shard.step.shard_state import Late
from flowalg_shard.step.side_inputs import LateElement, SideDrops
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON, END, EVENT_TIME, START, WEIGHT
from flowalg_shard.tables.queries import compute

from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.panes import Change, Drop, DroppedElement, DropReason, dropped_key
from flowalg.windows.window import Window
from flowalg_polars.lowering.packed_results import result_columns
from flowalg_polars.lowering.python_steps import to_arrow
from flowalg_polars.streaming.rows import Elements, PreparedGrouping, late_elements

DropFields: TypeAlias = Mapping[str, object]
"""A drop as sinks store it: ``drop`` with its stage, reason, count, key, value and clocks, and its window.

With late data the value is the element, and ``drop`` has its event time, change and input too.
"""


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


@frozen(eq=False)
class GroupingDrops:
    """The late elements of a grouping, by shard. ``name`` is that of the stage in the plan.

    ``inputs`` are the rows that each input received with their elements, or ``None`` without late data.
    """

    name: str
    prepared: PreparedGrouping
    clocks: Clocks
    shards: Sequence[Late]
    inputs: Sequence[pl.DataFrame] | None

    @property
    def count(self) -> int:
        """The number of dropped elements."""
        return sum(late.count for late in self.shards)

    @property
    def _tables(self) -> list[pl.DataFrame]:
        return [late.table for late in self.shards if not late.table.is_empty()]

    def values(self) -> list[Drop]:
        """Returns the drops as values."""
        if self.inputs is not None:
            return [*self._elements]
        now = self.clocks.processing_time
        return [
            Drop(key, window, DropReason(reason), now, count=count)
            for table in self._tables
            for key, (window, reason, count) in zip(self._keys(table), _facts(table), strict=True)
        ]

    def fields(self) -> list[DropFields]:
        """Returns the drops as sinks store them."""
        if self.inputs is not None:
            shapes = [elements.shape for elements in self.prepared.elements]
            return [
                _element_fields(self.name, dropped, shapes[dropped.input], self.clocks)
                for dropped in self._elements
            ]
        fields: list[DropFields] = []
        key, value = (field.shape for field in self.prepared.dropped.fields)
        for table in self._tables:
            keys = [encode_json(dropped, key) for dropped in self._keys(table)]
            combined = self._values(table, value)
            for dropped, text, (window, reason, count) in zip(keys, combined, _facts(table), strict=True):
                drop = _drop(self.name, reason, count, dropped, text, self.clocks)
                fields.append(_fields(drop, window))
        return fields

    @cached_property
    def _elements(self) -> tuple[DroppedElement, ...]:
        """The dropped elements, input by input."""
        return tuple(self._read_elements()) if self.count else ()

    def _read_elements(self) -> Iterator[DroppedElement]:
        stage, now, before = self.prepared.stage, self.clocks.processing_time, self.shards[0].before
        for number, received in enumerate(self.inputs or ()):
            rows = dropped_rows(stage, received.filter(may_be_dropped(stage, before)), self.shards)
            weight = WEIGHT if stage.retractions else pl.lit(1)
            facts = rows.select(START, END, DROP_REASON, EVENT_TIME, weight).iter_rows()
            elements = late_elements(self.prepared.elements[number], rows)
            for element, (start, end, reason, time, weight) in zip(elements, facts, strict=True):
                yield DroppedElement(
                    dropped_key(element),
                    _window(start, end),
                    DropReason(reason),
                    now,
                    element,
                    EventTime(time),
                    before,
                    Change.of(weight),
                    stage.label,
                    input=number,
                )

    def _values(self, table: pl.DataFrame, shape: Shape) -> list[str | None]:
        """Returns the combined value of each drop as JSON; ``None`` where it has none."""
        stage, dropped = self.prepared.stage.of_drops, self.prepared.dropped
        present = table[stage.results[0]].is_not_null()
        elements = compute(pair_columns(stage, table.lazy().filter(present), dropped))
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

    ``name`` is that of the stage in the plan, and ``label`` that of its transform.
    """

    name: str
    label: str
    main: Elements
    side: Shape
    clocks: Clocks
    dropped: SideDrops
    late_data: bool

    @property
    def count(self) -> int:
        """The number of dropped elements."""
        return self.dropped.counts.total()

    def values(self) -> list[Drop]:
        """Returns the drops as values."""
        now = self.clocks.processing_time
        if self.late_data:
            return [late.dropped(self.label, now) for late, _ in self._late()]
        return [Drop(late.key, late.window, late.reason, now) for late, _ in self._late()]

    def fields(self) -> list[DropFields]:
        """Returns the drops as sinks store them."""
        now = self.clocks.processing_time
        return [
            _element_fields(
                self.name, late.dropped(self.label, now), shape, self.clocks, late_data=self.late_data
            )
            for late, shape in self._late()
        ]

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


# Many elements of a micro-batch are late for the same window.
@lru_cache(maxsize=10_000)
def _window(start: int, end: int) -> Window:
    return Window(EventTime(start), EventTime(end))


def pair_columns(
    stage: Stage, table: pl.LazyFrame, pair: RecordOf, others: Sequence[pl.Expr] = ()
) -> pl.LazyFrame:
    """Returns the columns of pairs of a shape, from the keys and the results of a table of the step, and ``others``."""
    keys = _key_columns(stage, pair)
    value = key_and_value(layout_of(pair))[1]
    if stage.combiner is not None:
        rows = compute(table)
        return rows.lazy().select(*keys, *result_columns(rows, value, stage.label), *others)
    names = zip(stage.results, leaf_columns(value), strict=True)
    return table.select(*keys, *(pl.col(old).alias(new) for old, new in names), *others)


def _key_columns(stage: Stage, pair: RecordOf) -> list[pl.Expr]:
    key = key_and_value(layout_of(pair))[0]
    return [pl.col(old).alias(new) for old, new in zip(stage.keys, leaf_columns(key), strict=True)]


def _facts(table: pl.DataFrame) -> list[tuple[Window, str, int]]:
    return [
        (_window(start, end), reason, count)
        for start, end, reason, count in table.select(START, END, DROP_REASON, DROP_COUNT).rows()
    ]


def _element_fields(
    name: str, dropped: DroppedElement, shape: Shape, clocks: Clocks, *, late_data: bool = True
) -> DropFields:
    """Returns a dropped element of a shape as sinks store it."""
    key = shape.fields[0].shape if isinstance(shape, RecordOf) and shape.cls is KV else shape
    texts = encode_json(dropped.key, key), encode_json(dropped.element, shape)
    own = {
        "event_time": dropped.event_time.datetime,
        "change": dropped.change.value,
        "input": dropped.input,
        "watermark": dropped.watermark.datetime,
    }
    drop = _drop(name, dropped.reason.value, 1, *texts, clocks)
    return _fields({**drop, **own} if late_data else drop, dropped.window)


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
