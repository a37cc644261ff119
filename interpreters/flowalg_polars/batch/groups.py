"""A grouping over bounded data: one row for each key and window, with the metadata of its only pane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.checks.stages import grouped_pair
from flowalg_columns.combiners import may_be_native
from flowalg_columns.layout import Layout, key_and_value, layout_of, leaf_columns, leaves
from flowalg_columns.notes import LiftingNote
from flowalg_columns.python.groups import EARLIEST as PYTHON_EARLIEST
from flowalg_columns.python.groups import LATEST as PYTHON_LATEST
from flowalg_columns.python.groups import CombineGroups
from flowalg_shard.tables.columns import EVENT_TIME, START

from flowalg.combiners.core import AnyCombiner, component_combiners
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.nodes import CombinePerKey
from flowalg_polars.batch.aggregates import Native, native_aggregate
from flowalg_polars.batch.flow import Flow
from flowalg_polars.batch.panes import EARLIEST, LATEST, pane_flow, time_aggregates
from flowalg_polars.batch.windows import ISLAND, Slices, WindowedFlow, assign_windows, key_columns
from flowalg_polars.columns import polars_type
from flowalg_polars.lowering.arguments import combiner_arguments
from flowalg_polars.lowering.programs import ENGINE
from flowalg_polars.lowering.python_steps import arrow_schema, to_arrow


def lower_grouping(node: CombinePerKey, flow: Flow, time: pl.Expr) -> Flow:
    """Returns the panes of a grouping, by aggregates of Polars if all of its combiners have them, else by Python."""
    pair = grouped_pair(node, flow.shape)
    aggregated = _aggregates(node, flow)
    if aggregated is None:
        return _group_in_python(node, flow, pair, time)
    return _group_natively(node, *aggregated, pair, time)


def _aggregates(node: CombinePerKey, flow: Flow) -> tuple[Flow, list[Native]] | None:
    """Returns the aggregate of each combiner, and the flow with notes about them; ``None`` without an aggregate."""
    if not all(map(may_be_native, component_combiners(node.combiner))):
        return None
    arguments = combiner_arguments(node, key_and_value(flow.element)[1])
    aggregates = []
    for part, columns in zip(arguments.combiners, arguments.columns, strict=True):
        aggregate = native_aggregate(part, columns, node.label)
        if aggregate is None:
            return None
        aggregates.append(aggregate)
    return flow.with_notes(*arguments.notes), aggregates


def _group_natively(
    node: CombinePerKey, flow: Flow, aggregates: Sequence[Native], pair: RecordOf, time: pl.Expr
) -> Flow:
    effective = node.input.windowing
    strategy = effective.strategy
    keys = key_columns(flow.shape)
    named = [
        [partial.alias(f"__part{number}_{index}") for index, partial in enumerate(aggregate.partials)]
        for number, aggregate in enumerate(aggregates)
    ]
    columns = [tuple(pl.col(part.meta.output_name()) for part in parts) for parts in named]
    point = pl.col(EVENT_TIME)
    slices = Slices.of(strategy.windows, fresh=effective.fresh)
    if slices is not None and all(aggregate.merge is not None for aggregate in aggregates):
        times = [point.min().alias(EARLIEST), point.max().alias(LATEST)]
        sliced = flow.frame.group_by(*keys, slices.start.alias(START)).agg(
            *(part for parts in named for part in parts), *times
        )
        windowed = slices.spread(flow, sliced)
        merged = [
            part.alias(column.meta.output_name())
            for aggregate, parts in zip(aggregates, columns, strict=True)
            if aggregate.merge is not None
            for part, column in zip(aggregate.merge(parts), parts, strict=True)
        ]
        bounds = time_aggregates(windowed, strategy, pl.col(EARLIEST).min(), pl.col(LATEST).max())
    else:
        windowed = assign_windows(flow, strategy.windows, fresh=effective.fresh, label=node.label)
        merged = [part for parts in named for part in parts]
        bounds = time_aggregates(windowed, strategy, point.min(), point.max())
    rows = grouped(windowed, keys, [*merged, *bounds])
    results = [aggregate.finish(parts) for aggregate, parts in zip(aggregates, columns, strict=True)]
    elements = (*map(pl.col, keys), *results)
    return pane_flow(flow.notes, rows, pair, elements, windowed, strategy, time)


def grouped(windowed: WindowedFlow, keys: tuple[str, ...], aggregates: Sequence[pl.Expr]) -> pl.LazyFrame:
    """Returns a row for each key and window of a flow."""
    frame = windowed.flow.frame
    if windowed.island:
        firsts = [pl.col(key).first() for key in keys]
        return frame.group_by(ISLAND).agg(*firsts, *aggregates)
    by = (*keys, *windowed.by)
    if not by:
        return frame.select(pl.len().alias(_ROWS), *aggregates).filter(pl.col(_ROWS) > 0)
    return frame.group_by(by).agg(*aggregates)


_ROWS: Final = "__rows"


def _group_in_python(node: CombinePerKey, flow: Flow, pair: RecordOf, time: pl.Expr) -> Flow:
    """Returns the panes of a grouping by Python: rows sorted by key and window, combined per group."""
    effective = node.input.windowing
    windowed = assign_windows(flow, effective.strategy.windows, fresh=effective.fresh, label=node.label)
    keys = key_columns(flow.shape)
    by = (*keys, *windowed.by)
    spread = windowed.flow
    key, value = key_and_value(layout_of(flow.shape))
    result = key_and_value(layout_of(pair))[1]
    combine = _CombineInPython(node.combiner, node.label, spread.shape, spread.meta, by, key, value, result)
    rows = (spread.frame.sort(*by) if by else spread.frame).map_batches(combine, schema=combine.schema)
    columns = tuple(map(pl.col, (*keys, *leaf_columns(result))))
    note = LiftingNote(f"{node.label}({node.combiner.title})", "its combiner", None, ENGINE)
    return pane_flow((*flow.notes, note), rows, pair, columns, windowed, effective.strategy, time)


@frozen
class _CombineInPython:
    """Combines the values of groups, whose rows are consecutive."""

    combiner: AnyCombiner
    label: str
    shape: Shape
    meta: tuple[str, ...]
    by: tuple[str, ...]
    key: Layout
    value: Layout
    result: Layout

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of the groups."""
        kinds = {leaf.column: polars_type(leaf.shape) for leaf in leaves(layout_of(self.shape))}
        results = {leaf.column: polars_type(leaf.shape) for leaf in leaves(self.result)}
        others = dict.fromkeys((EARLIEST, LATEST), pl.Int64())
        return {**{name: kinds.get(name, pl.Int64()) for name in self.by}, **results, **others}

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns a row for each group."""
        fields = arrow_schema(self.shape, self.meta)
        extra = [name for name in self.by if name not in fields.names]
        table = to_arrow(rows, self.shape, self.meta)
        for name in extra:
            table = table.append_column(name, rows[name].cast(pl.Int64()).to_arrow())
        types = {name: table.schema.field(name).type for name in self.by}
        schema = pa.schema(
            [
                *types.items(),
                *((leaf.column, arrow_type(leaf.shape)) for leaf in leaves(self.result)),
                *((name, pa.int64()) for name in (PYTHON_EARLIEST, PYTHON_LATEST)),
            ]
        )
        combine = CombineGroups(self.by, self.key, self.value, self.combiner, self.result, self.label, schema)
        parts = [_frame(batch) for batch in combine(table.combine_chunks().to_batches())]
        if not parts:
            return pl.DataFrame(schema=self.schema)
        whole = pl.concat(parts).rename({PYTHON_EARLIEST: EARLIEST, PYTHON_LATEST: LATEST})
        return whole.cast(self.schema).select(list(self.schema))  # type: ignore[arg-type]  # a mapping of names


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame
