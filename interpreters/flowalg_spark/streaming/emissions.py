"""The rows that a stage emits: panes, drops, metrics and clock reports.

Only panes have ``KEEP``. A drop has the key and value of the dropped elements. A report is for the next stage.
The operator emits few rows, each with an array for each column, and the JVM unpacks the arrays.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns import names as meta
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.json_text import encode_json
from flowalg_columns.layout import Layout, key_and_value, layout_of, leaf_columns, leaves
from flowalg_columns.python.rows import Rows
from flowalg_columns.values import AnyArray, read_elements, take_indices, write_arrays
from flowalg_shard import OperatorOutput, unpack
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.contents.stage import RESULT, Stage
from flowalg_shard.operators import unpack_computation_drops, unpack_side_drops, unpack_side_values
from flowalg_shard.step.late_data import BEFORE
from flowalg_shard.step.panes import ORDER_END, ORDER_START
from flowalg_shard.step.side_inputs import READ_START, LateElement
from flowalg_shard.tables.columns import (
    CHANGE,
    DROP_COUNT,
    DROP_REASON,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    KEEP,
    POSITION,
    REPORT,
    SIDE,
    START,
    TIMING,
    WEIGHT,
)

from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime
from flowalg.elementwise.steps import Step
from flowalg.runs.panes import Change, DropReason
from flowalg.serialization.stored import read
from flowalg.windows.window import Window
from flowalg_spark.lowering.computations import bad_record_columns
from flowalg_spark.streaming.grouping import late_columns

Columns = Mapping[str, AnyArray]

_PANE_COLUMNS: Final = (EVENT_TIME, START, END, CHANGE, TIMING, INDEX, IS_FIRST, IS_LAST)
"""The metadata columns of a pane in the output of a stage."""

_DROP_COLUMNS: Final = (START, END, DROP_REASON, DROP_COUNT)
"""The columns of a drop in the output of a stage."""


@frozen
class GroupingRows:
    """The rows of a grouping's panes and drops.

    With ``json_drops`` the key and the value of a drop are JSON, since a drop passes through later stages, whose
    elements have other columns. Otherwise they are in the same columns as those of panes. ``name`` is that of the stage
    in the plan, which its drops have, and ``dropped`` the shape of their keys and combined values. With late data a
    drop is one element, and ``elements`` are the shapes of the elements of each input.
    """

    name: str
    stage: Stage
    pair: RecordOf
    dropped: RecordOf
    json_drops: bool
    elements: tuple[Shape, ...]

    def panes(self, stage_output: StageOutput) -> Iterator[Columns]:
        """Returns the rows of panes; a retraction precedes the pane that replaces it."""
        table = unpack(stage_output.output.panes)
        if POSITION in table.columns:
            table = table.sort(ORDER_END, ORDER_START, POSITION, maintain_order=True)
        if table.height:
            yield {
                **_elements(self.stage, table, self.pair),
                **_select(table, _PANE_COLUMNS),
                **stage_output.clocks(table.height),
            }

    def drops(self, stage_output: StageOutput) -> Iterator[Columns]:
        """Returns the rows of drops: one for each key and window, with the combined value of the dropped elements."""
        table = unpack(stage_output.output.drops)
        if not table.height:
            return
        if self.elements:
            for number, shape in enumerate(self.elements):
                own = table if len(self.elements) == 1 else table.filter(pl.col(SIDE) == number)
                if own.height:
                    yield _dropped(stage_output, self.name, self._late(own, number, shape), shape)
            return
        columns = {
            **_select(table, _DROP_COLUMNS),
            **stage_output.clocks(table.height),
            EVENT_TIME: (table[END] - 1).to_arrow(),
        }
        stage = self.stage.of_drops
        elements = _elements(stage, table, self.dropped)
        if not self.json_drops:
            yield {**elements, **columns}
            return
        key, value = self.dropped.fields
        key_layout, value_layout = key_and_value(layout_of(self.dropped))
        rows = pa.Table.from_pydict(dict(elements))
        has_value = table[stage.results[0]].is_not_null().to_list()
        values = iter(read_elements(value_layout, rows.filter(pa.array(has_value, pa.bool_()))))
        yield {
            **columns,
            meta.STAGE: _texts([self.name] * table.height),
            meta.DROPPED_KEY: _texts(
                [encode_json(dropped, key.shape) for dropped in read_elements(key_layout, rows)]
            ),
            meta.DROPPED_VALUE: _texts(
                [encode_json(next(values), value.shape) if present else None for present in has_value]
            ),
        }

    def _late(self, table: pl.DataFrame, number: int, shape: Shape) -> list[LateElement]:
        """Returns the dropped elements of an input."""
        layout = layout_of(shape)
        own = late_columns(number, key_and_value(layout)[1])
        columns = _columns(_arrays(table.select(*self.stage.keys, *own), layout), layout)
        weight = WEIGHT if WEIGHT in table.columns else pl.lit(1)
        facts = table.select(START, END, DROP_REASON, EVENT_TIME, BEFORE, weight).iter_rows()
        return [
            LateElement(
                element,
                Window(EventTime(start), EventTime(end)),
                DropReason(reason),
                EventTime(time),
                EventTime(before),
                Change.of(weight),
                number,
            )
            for element, (start, end, reason, time, before, weight) in zip(
                read_elements(layout, pa.Table.from_pydict(columns)), facts, strict=True
            )
        ]


@frozen
class SideInputRows:
    """The rows of a side-input stage: elements with their side values, and dropped elements.

    ``name`` is that of the stage in the plan, which its drops have.
    """

    name: str
    label: str
    main: Layout
    side: Shape
    steps: tuple[Step, ...]
    after: Layout

    def panes(self, stage_output: StageOutput) -> Iterator[Columns]:
        """Returns the rows of elements."""
        table = unpack(stage_output.output.panes)
        if not table.height:
            return
        readings = unpack_side_values(stage_output.output.side_values)
        starts = table[READ_START].to_list()
        pairs: list[object] = [
            (element, readings[EventTime(start)])
            for element, start in zip(self._elements(table), starts, strict=True)
        ]
        rows = Rows(pairs, [*table[EVENT_TIME].to_list()], list(range(table.height)))
        for step in self.steps:
            rows.apply_step(step)
        where = f"the result of {self.steps[-1].label if self.steps else self.label}"
        element_columns = _columns(write_arrays(self.after, rows.elements, where), self.after)
        metadata = [name for name in table.columns if name in meta.PANE_META]
        origins = table.select(metadata)[rows.origins]
        yield {
            **element_columns,
            **stage_output.clocks(origins.height),
            **_select(_elements_at(origins, stage_output.times), metadata),
            EVENT_TIME: pa.array(rows.times, pa.int64()),
        }

    def drops(self, stage_output: StageOutput) -> Iterator[Columns]:
        """Returns the rows of dropped elements, one for each."""
        dropped = unpack_side_drops(stage_output.output.drops)
        if dropped.side:
            yield _dropped(stage_output, self.name, dropped.side, self.side)
        if not dropped.elements.is_empty():
            late = dropped.late_elements(self._elements(dropped.elements))
            yield _dropped(stage_output, self.name, late, self.main.shape)

    def _elements(self, table: pl.DataFrame) -> list[object]:
        """Returns the elements in a table."""
        names = leaf_columns(self.main)
        columns = _columns(_arrays(table.select(names), self.main), self.main)
        return read_elements(self.main, pa.Table.from_pydict(columns))


@frozen
class ComputationRows:
    """The rows of a computation: outputs, late elements and bad records. ``shape`` is that of its elements.

    ``name`` is that of the stage in the plan, which its drops have.
    """

    name: str
    stage: ComputationStage
    pair: RecordOf
    shape: Shape

    def panes(self, stage_output: StageOutput) -> Iterator[Columns]:
        """Returns the rows of outputs, which are in no pane."""
        table = unpack(stage_output.output.panes)
        if not table.height:
            return
        pair = layout_of(self.pair)
        names = leaf_columns(pair)
        yield {
            **_columns(_arrays(table.select(names), pair), pair),
            **stage_output.clocks(table.height),
            EVENT_TIME: table[EVENT_TIME].to_arrow(),
        }

    def drops(self, stage_output: StageOutput) -> Iterator[Columns]:
        """Returns the rows of late elements and of bad records, one for each."""
        late, bad, _ = unpack_computation_drops(stage_output.output.drops)
        if late:
            yield _dropped(stage_output, self.name, late, self.shape)
        if bad:
            yield {
                **stage_output.clocks(len(bad)),
                **bad_record_columns(bad),
                EVENT_TIME: pa.array([stage_output.output.report.clocks.watermark] * len(bad), pa.int64()),
            }


def _elements_at(origins: pl.DataFrame, times: Mapping[str, int]) -> pl.DataFrame:
    """Returns metadata with the times of a stage for elements in no pane; panes keep the clocks of their grouping."""
    in_pane = pl.col(INDEX).is_not_null() if INDEX in origins.columns else pl.lit(value=False)
    return origins.with_columns(
        pl.when(in_pane).then(pl.col(name)).otherwise(pl.lit(time, pl.Int64)).alias(name)
        for name, time in times.items()
        if name in origins.columns
    )


def _elements(stage: Stage, table: pl.DataFrame, pair: RecordOf) -> dict[str, AnyArray]:
    """Returns the columns of pairs of a shape, from the keys and the results of a table."""
    key, value = key_and_value(layout_of(pair))
    key_columns = _columns(_arrays(table.select(stage.keys), key), key)
    if stage.combiner is None:
        results = _arrays(table.select(stage.results), value)
    else:
        packed = table[RESULT].to_list()
        values = [read(result, object) for result in packed if result is not None]
        rows = take_indices(result is not None for result in packed)
        where = f"the result of {stage.label}"
        results = [array.take(rows) for array in write_arrays(value, values, where)]
    return {**key_columns, **_columns(results, value)}


def _dropped(stage_output: StageOutput, name: str, late: Sequence[LateElement], shape: Shape) -> Columns:
    """Returns the rows of elements of a shape that a stage dropped."""
    key = shape.fields[0].shape if isinstance(shape, RecordOf) and shape.cls is KV else shape
    return {
        **stage_output.clocks(len(late)),
        START: pa.array([drop.window.start for drop in late], pa.int64()),
        END: pa.array([drop.window.end for drop in late], pa.int64()),
        EVENT_TIME: pa.array([drop.window.end - 1 for drop in late], pa.int64()),
        meta.STAGE: _texts([name] * len(late)),
        DROP_REASON: _texts([drop.reason.value for drop in late]),
        DROP_COUNT: pa.array([1] * len(late), pa.int64()),
        meta.DROPPED_KEY: _texts([encode_json(drop.key, key) for drop in late]),
        meta.DROPPED_VALUE: _texts([encode_json(drop.value, shape) for drop in late]),
        meta.LATE_TIME: pa.array([drop.event_time for drop in late], pa.int64()),
        meta.LATE_WATERMARK: pa.array([drop.before for drop in late], pa.int64()),
        meta.LATE_CHANGE: _texts([drop.change.value for drop in late]),
        meta.LATE_INPUT: pa.array([drop.input for drop in late], pa.int32()),
    }


@frozen
class StageOutput:
    """What a shard emits in a micro-batch; ``upstream`` has the drops and metrics of earlier stages."""

    output: OperatorOutput
    upstream: pl.DataFrame
    metrics: str | None

    @property
    def times(self) -> dict[str, int]:
        """The clocks, by their columns."""
        clocks = self.output.report.clocks
        return {meta.PANE_TIME: clocks.processing_time, meta.WATERMARK: clocks.watermark}

    def clocks(self, count: int) -> dict[str, AnyArray]:
        """Returns the columns of the clocks, for ``count`` rows."""
        return {name: pa.array([time] * count, pa.int64()) for name, time in self.times.items()}


RowsOfStage: TypeAlias = GroupingRows | SideInputRows | ComputationRows


@frozen
class EmittedRows:
    """The rows of a stage as batches of ``schema``, whose unset columns are null.

    With ``reports`` there is a row for the report of each output.
    """

    unpacker: RowsOfStage
    reports: bool
    schema: pa.Schema

    def of(self, stage_output: StageOutput) -> Iterator[pa.RecordBatch]:
        """Returns the rows of a stage's output."""
        for columns in self.unpacker.panes(stage_output):
            yield self.rows(columns, kept=True)
        for columns in self.unpacker.drops(stage_output):
            yield self.rows(columns, kept=False)
        yield from self.pass_through(stage_output)

    def pass_through(self, stage_output: StageOutput) -> Iterator[pa.RecordBatch]:
        """Returns the rows of earlier stages' drops and metrics, of this stage's metrics, and of the report."""
        if stage_output.upstream.height:
            yield self.rows(_select(stage_output.upstream, stage_output.upstream.columns), kept=False)
        if stage_output.metrics is not None:
            yield self.rows({meta.METRICS: _texts([stage_output.metrics])}, kept=False)
        if self.reports:
            report = pickle.dumps(stage_output.output.report)
            yield self.rows({REPORT: pa.array([report], pa.binary())}, kept=False)

    def rows(self, columns: Columns, *, kept: bool) -> pa.RecordBatch:
        """Returns a batch of the output schema."""
        count = len(next(iter(columns.values())))
        by_name = {**columns, KEEP: pa.array([kept] * count, pa.bool_())}
        arrays = [
            by_name[field.name].cast(field.type) if field.name in by_name else pa.nulls(count, field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


ARRAY_ROWS: Final = 10_000
"""The greatest number of rows in the arrays of a row."""


def array_rows(batch: pa.RecordBatch) -> Iterator[dict[str, object]]:
    """Returns the rows of a batch as few rows, with an array of values for each column."""
    for start in range(0, batch.num_rows, ARRAY_ROWS):
        part = batch.slice(start, ARRAY_ROWS)
        yield {name: _array(part.column(name)) for name in part.schema.names}


def _array(values: AnyArray) -> object:
    """Returns values in a form that PySpark converts to an array without a loop in Python, if there is one."""
    if values.null_count == len(values):
        return [None] * len(values)
    kind = values.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if plain and not values.null_count:
        return values.to_numpy(zero_copy_only=False)
    # PySpark visits all values of a list, but not those of an array.
    objects = np.empty(len(values), dtype=object)
    objects[:] = values.to_pylist()
    return objects


def _columns(arrays: list[AnyArray], layout: Layout) -> dict[str, AnyArray]:
    """Returns the arrays of a layout's leaves, by the names of their columns."""
    return dict(zip(leaf_columns(layout), arrays, strict=True))


def _texts(values: list[str] | list[str | None]) -> AnyArray:
    return pa.array(values, pa.string())


def _arrays(table: pl.DataFrame, layout: Layout) -> list[AnyArray]:
    """Returns the columns of a table as the arrays of a layout's leaves, in order."""
    columns = table.to_arrow().columns
    types = [arrow_type(leaf.shape) for leaf in leaves(layout)]
    return [column.cast(type_).combine_chunks() for column, type_ in zip(columns, types, strict=True)]


def _select(table: pl.DataFrame, names: Iterable[str]) -> dict[str, AnyArray]:
    """Returns columns of a table by their names."""
    return {name: table[name].to_arrow() for name in names}
