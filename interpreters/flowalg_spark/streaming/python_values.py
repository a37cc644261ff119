"""Functions over Arrow data for a grouping: store values, evaluate data-driven triggers, and assign windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.layout import Layout, leaf_columns
from flowalg_columns.python.rows import mark_firsts, mask_column, select_kept
from flowalg_columns.python.windows import assign_rows
from flowalg_columns.values import AnyArray, read_arrays
from flowalg_shard.tables.columns import KEEP, OBSERVED_TIME
from flowalg_shard.triggers.summary import evaluate_leaf, type_of

from flowalg.data.errors import errors_of
from flowalg.serialization.stored import store_value
from flowalg.triggers.syntax import DataDrivenTrigger
from flowalg.windows.window_functions import WindowFn
from flowalg_spark.lowering.python_columns import compute_where_kept


@frozen
class PickleValues:
    """Pickles the values in some arrays, for a step."""

    label: str
    value: Layout

    def __call__(self, kept: AnyArray, *columns: AnyArray) -> AnyArray:
        """Returns the stored values of a batch; null for control rows."""
        return compute_where_kept(self.of_elements, kept, *columns)

    def of_elements(self, columns: tuple[AnyArray, ...]) -> AnyArray:
        """Returns the stored values of a batch without control rows."""
        values = _values(self.value, columns)
        return pa.array([store_value(self.label, "a value", value) for value in values], pa.binary())


@frozen
class EvaluateLeaf:
    """Evaluates a data-driven part of a trigger on elements."""

    leaf: DataDrivenTrigger
    value: Layout

    def __call__(self, kept: AnyArray, *columns: AnyArray) -> AnyArray:
        """Returns the results for a batch, from weights and the columns of values; null for control rows."""
        return compute_where_kept(self.of_elements, kept, *columns)

    def of_elements(self, columns: tuple[AnyArray, ...]) -> AnyArray:
        """Returns the results for a batch of elements only."""
        weights, *values = columns
        signs = cast("list[int]", weights.to_pylist())
        pairs = zip(_values(self.value, tuple(values)), signs, strict=True)
        results = [evaluate_leaf(self.leaf, value, sign) for value, sign in pairs]
        return pa.array(results, _ARROW_TYPES[type(type_of(self.leaf))])


_ARROW_TYPES: Final[dict[type[pl.DataType], pa.DataType]] = {
    pl.Int64: pa.int64(),
    pl.Boolean: pa.bool_(),
    pl.Binary: pa.binary(),
}


def _values(layout: Layout, columns: tuple[AnyArray, ...]) -> list[object]:
    names = leaf_columns(layout)
    return read_arrays(layout, dict(zip(names, columns, strict=True)))


@frozen
class AssignWindows:
    """Repeats each element for each window that it is assigned; control rows are unchanged.

    An element without a window becomes a control row, so its event time still advances the clocks. Errors have the
    ``label`` of the grouping.
    """

    label: str
    pair: Layout
    window_fn: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the batches in windows."""
        for batch in batches:
            yield self.transform(batch)

    def transform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns a batch in windows: first the elements, and then the other rows."""
        positions, present = select_kept(batch)
        with errors_of(self.label):
            assigned = assign_rows(self.window_fn, self.pair, present)
        origins = positions
        if assigned.numbers is not None:
            origins = [positions[number] for number in assigned.numbers]
        others = sorted(set(range(batch.num_rows)) - set(origins))
        rows = [*origins, *others]
        table = batch.take(pa.array(rows, pa.int64()))
        columns: dict[str, AnyArray] = {}
        rest = table.slice(len(origins))
        for name, bounds in assigned.bounds.items():
            other_bounds = (
                rest.column(name) if name in batch.schema.names else pa.nulls(len(others), pa.int64())
            )
            columns[name] = pa.concat_arrays([bounds, other_bounds])
        columns[KEEP] = pa.array([True] * len(origins) + [False] * len(others), pa.bool_())
        if OBSERVED_TIME in self.schema.names:
            columns[OBSERVED_TIME] = mask_column(table.column(OBSERVED_TIME), mark_firsts(rows))
        arrays = [columns[name] if name in columns else table.column(name) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
