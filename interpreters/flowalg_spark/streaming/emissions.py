"""After the stateful operator: what shards emit becomes rows of elements, of drops, and of what the clocks read.

An emission's rows are those of panes; of drops, which are not kept and have what was refused; and, for a stage behind,
one that has only the shard's report.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, cast

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_shard import StageReport, unpack
from flowalg_shard.operators import unpack_side_drops, unpack_side_values
from flowalg_shard.step.panes import ORDER_END, ORDER_START
from flowalg_shard.step.side_inputs import READ_START
from flowalg_shard.step.stage import RESULT, Stage
from flowalg_shard.tables.columns import (
    CHANGE,
    DROPPED,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    POSITION,
    REASON,
    START,
    TIMING,
)

from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime
from flowalg.elementwise.steps import Step
from flowalg_spark.encoding import meta
from flowalg_spark.encoding.json_text import encode_json
from flowalg_spark.encoding.layout import Layout, key_and_value, layout_of, leaf_columns, leaves
from flowalg_spark.encoding.schema import arrow_type
from flowalg_spark.encoding.values import AnyArray, read_elements, take_indices, write_arrays
from flowalg_spark.lowering.python_rows import Rows
from flowalg_spark.state.worker_gc import freeze_imports

Columns = Mapping[str, AnyArray]

_PANE: Final = {
    meta.EVENT_TIME: EVENT_TIME,
    meta.START: START,
    meta.END: END,
    meta.CHANGE: CHANGE,
    meta.TIMING: TIMING,
    meta.INDEX: INDEX,
    meta.IS_FIRST: IS_FIRST,
    meta.IS_LAST: IS_LAST,
}
"""What a pane says of itself: the name of each column in a frame, and in an emission."""

_EMITTED: Final = ("panes", "side_values", "drops", "upstream", "report", "metrics")
"""The columns of an emission."""

_DROP: Final = {meta.START: START, meta.END: END, meta.DROP_REASON: REASON, meta.DROP_COUNT: DROPPED}


@frozen
class OutOfGrouping:
    """The panes and drops of a grouping.

    With ``texts`` the key and the value of a drop are JSON, because it has to pass stages whose elements lie in other
    columns; otherwise they lie where those of panes do.
    """

    stage: Stage
    pair: RecordOf
    texts: bool

    def panes(self, emission: Emission) -> Iterator[Columns]:
        """The rows of panes; where some are taken back, before those that take their place."""
        table = unpack(emission.panes)
        if POSITION in table.columns:
            table = table.sort(ORDER_END, ORDER_START, POSITION, maintain_order=True)
        if table.height:
            yield {**self.elements(table), **_given(table, _PANE), **emission.clocks(table.height)}

    def drops(self, emission: Emission) -> Iterator[Columns]:
        """The rows of drops: one for each key and window that has refused elements, with what they come to."""
        table = unpack(emission.drops)
        if not table.height:
            return
        said = {
            **_given(table, _DROP),
            **emission.clocks(table.height),
            meta.EVENT_TIME: (table[END] - 1).to_arrow(),
        }
        elements = self.elements(table)
        if not self.texts:
            yield {**elements, **said}
            return
        key, value = self.pair.fields
        key_layout, value_layout = key_and_value(layout_of(self.pair))
        rows = pa.Table.from_pydict(dict(elements))
        told = [one is not None for one in table[self.stage.results[0]].to_list()]
        values = iter(read_elements(value_layout, rows.filter(pa.array(told, pa.bool_()))))
        yield {
            **said,
            meta.STAGE: _texts([self.stage.label] * table.height),
            meta.DROPPED_KEY: _texts(
                [encode_json(one, key.shape) for one in read_elements(key_layout, rows)]
            ),
            meta.DROPPED_VALUE: _texts(
                [encode_json(next(values), value.shape) if one else None for one in told]
            ),
        }

    def elements(self, table: pl.DataFrame) -> dict[str, AnyArray]:
        """The leaves of pairs, from the keys and the results of a table."""
        key, value = key_and_value(layout_of(self.pair))
        found = _columns(_arrays(table.select(self.stage.keys), key), key)
        if self.stage.combiner is None:
            results = _arrays(table.select(self.stage.results), value)
        else:
            packed = table[RESULT].to_list()
            values = [pickle.loads(one) for one in packed if one is not None]  # of our own making
            rows = take_indices(one is not None for one in packed)
            where = f"the result of {self.stage.label}"
            results = [one.take(rows) for one in write_arrays(value, values, where)]
        return {**found, **_columns(results, value)}


@frozen
class OutOfSide:
    """Elements beside what they have read, and through the steps that follow; and what came late for the side."""

    label: str
    main: Layout
    side: Shape
    steps: tuple[Step, ...]
    after: Layout

    def panes(self, emission: Emission) -> Iterator[Columns]:
        """The rows of elements."""
        table = unpack(emission.panes)
        if not table.height:
            return
        readings = unpack_side_values(emission.side_values)
        names = leaf_columns(self.main)
        columns = _columns(_arrays(table.select(names), self.main), self.main)
        elements = read_elements(self.main, pa.Table.from_pydict(columns))
        starts = table[READ_START].to_list()
        pairs: list[object] = [
            (element, readings[EventTime(start)]) for element, start in zip(elements, starts, strict=True)
        ]
        rows = Rows(pairs, [*table[EVENT_TIME].to_list()], list(range(table.height)))
        for step in self.steps:
            rows.apply_step(step)
        where = f"the result of {self.steps[-1].label if self.steps else self.label}"
        found = _columns(write_arrays(self.after, rows.elements, where), self.after)
        others = [name for name in table.columns if name in meta.PANE_META]
        kept = table.select(others)[rows.origins]
        yield {
            **found,
            **_given(kept, {name: name for name in others}),
            meta.EVENT_TIME: pa.array(rows.times, pa.int64()),
        }

    def drops(self, emission: Emission) -> Iterator[Columns]:
        """The rows of what came late, one for each element."""
        late = unpack_side_drops(emission.drops)
        if not late:
            return
        key = (
            self.side.fields[0].shape
            if isinstance(late[0].value, KV) and isinstance(self.side, RecordOf)
            else self.side
        )
        yield {
            **emission.clocks(len(late)),
            meta.START: pa.array([one.window.start for one in late], pa.int64()),
            meta.END: pa.array([one.window.end for one in late], pa.int64()),
            meta.EVENT_TIME: pa.array([one.window.end - 1 for one in late], pa.int64()),
            meta.STAGE: _texts([self.label] * len(late)),
            meta.DROP_REASON: _texts([one.reason.value for one in late]),
            meta.DROP_COUNT: pa.array([1] * len(late), pa.int64()),
            meta.DROPPED_KEY: _texts([encode_json(one.key, key) for one in late]),
            meta.DROPPED_VALUE: _texts([encode_json(one.value, self.side) for one in late]),
        }


@frozen
class Emission:
    """What a shard emits in an instant, unpacked so far."""

    panes: bytes
    side_values: bytes
    drops: bytes
    upstream: bytes
    packed_report: bytes
    metrics: str | None

    @cached_property
    def report(self) -> StageReport:
        """What the shard says of the clocks."""
        return cast("StageReport", pickle.loads(self.packed_report))  # of our own making

    def clocks(self, count: int) -> dict[str, AnyArray]:
        """What the clocks read, as columns."""
        clocks = self.report.clocks
        return {
            meta.PANE_TIME: pa.array([clocks.processing_time] * count, pa.int64()),
            meta.WATERMARK: pa.array([clocks.watermark] * count, pa.int64()),
        }


@frozen
class FromEmissions:
    """Emissions as rows of ``schema``; what nothing is said of is null. With ``reports`` there is a row for each."""

    out: OutOfGrouping | OutOfSide
    reports: bool
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of each emission."""
        freeze_imports()
        for batch in batches:
            for row in batch.to_pylist():
                emission = Emission(*(row[name] for name in _EMITTED))
                for columns in self.out.panes(emission):
                    yield self.rows(columns, kept=True)
                for columns in self.out.drops(emission):
                    yield self.rows(columns, kept=False)
                yield from self.passing(emission)

    def passing(self, emission: Emission) -> Iterator[pa.RecordBatch]:
        """Drops of earlier stages and what these tell of themselves, what this one tells, and the report."""
        upstream = unpack(emission.upstream)
        if upstream.height:
            yield self.rows(_given(upstream, {name: name for name in upstream.columns}), kept=False)
        if emission.metrics is not None:
            yield self.rows({meta.METRICS: _texts([emission.metrics])}, kept=False)
        if self.reports:
            yield self.rows({meta.REPORT: pa.array([emission.packed_report], pa.binary())}, kept=False)

    def rows(self, columns: Columns, *, kept: bool) -> pa.RecordBatch:
        """A batch of the output schema."""
        count = len(next(iter(columns.values())))
        given = {**columns, meta.KEEP: pa.array([kept] * count, pa.bool_())}
        arrays = [
            given[one.name].cast(one.type) if one.name in given else pa.nulls(count, one.type)
            for one in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _columns(arrays: list[AnyArray], layout: Layout) -> dict[str, AnyArray]:
    """The arrays of a layout's leaves, by the names of their columns."""
    return dict(zip(leaf_columns(layout), arrays, strict=True))


def _texts(values: list[str] | list[str | None]) -> AnyArray:
    return pa.array(values, pa.string())


def _arrays(table: pl.DataFrame, layout: Layout) -> list[AnyArray]:
    """The columns of a table as the arrays of a layout's leaves, in order."""
    given = table.to_arrow()
    kinds = [arrow_type(leaf.shape) for leaf in leaves(layout)]
    return [column.cast(kind).combine_chunks() for column, kind in zip(given.columns, kinds, strict=True)]


def _given(table: pl.DataFrame, names: Mapping[str, str]) -> dict[str, AnyArray]:
    """Some columns of a table, by other names."""
    return {name: table[column].to_arrow() for name, column in names.items()}


__all__ = ["FromEmissions", "OutOfGrouping", "OutOfSide"]
