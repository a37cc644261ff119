"""The results of combiners over objects, which the shard step stores, as columns."""

from __future__ import annotations

import polars as pl
from flowalg_columns.layout import Layout, leaves
from flowalg_columns.values import write_arrays
from flowalg_shard.contents.stage import RESULT

from flowalg.serialization.stored import read
from flowalg_polars.columns import polars_type
from flowalg_polars.lowering.python_steps import series_of


def result_columns(table: pl.DataFrame, value: Layout, label: str) -> list[pl.Series]:
    """Returns the columns of a table's stored results, named by the leaves of a layout; nulls without a result."""
    packed = table[RESULT]
    values = [read(result, object) for result in packed.drop_nulls().to_list()]
    arrays = write_arrays(value, values, f"the result of {label}")
    columns = [
        series_of(array, polars_type(leaf.shape)).alias(leaf.column)
        for array, leaf in zip(arrays, leaves(value), strict=True)
    ]
    if not packed.null_count():
        return columns
    has_result = packed.is_not_null()
    positions = pl.select(pl.when(has_result).then(has_result.cast(pl.Int64()).cum_sum() - 1)).to_series()
    return [column.gather(positions) for column in columns]
