"""Lookups in the mapping of a side input: a broadcast join on the window and the key, for each key."""

from __future__ import annotations

from typing import Final

from attrs import evolve
from flowalg_columns.layout import Branch, Leaf, flatten_columns, key_and_value
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

from flowalg.data.shapes import BOOLEAN, TupleOf
from flowalg.lifting.lookups import Lookups
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, aggregate, col, nest, select, unnest, where
from flowalg_spark.encoding.sql import TRUE
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.expressions.errors import fail_for_element
from flowalg_spark.lowering.element_wise import apply_analyses
from flowalg_spark.lowering.flow import Flow

READ: Final = "__side read"
SIDE_START: Final = "__side start"
"""The start of the window that an element reads, and that of the window of a value."""
_KEY: Final = "__side key"
_VALUE: Final = "__side value"
_COUNT: Final = "__side count"
_MOST: Final = "__side most"
_FOUND: Final = "__side found"


def lower_lookups(lookups: Lookups, main: Flow, side: Flow, reading: DataFrame, values: DataFrame) -> Flow:
    """Returns the elements after steps that look keys up.

    ``reading`` are the rows of the main input with ``READ``, the start of the window that they read, and ``values``
    those of the side with ``SIDE_START``. A key with several values in a window that is read fails.
    """
    key, value = key_and_value(side.element)
    pairs = select(values, col(SIDE_START), nest(key).alias(_KEY), nest(value).alias(_VALUE))

    counts = aggregate(pairs, (col(SIDE_START), col(_KEY)), [sql.count(1).alias(_COUNT)])
    commonest = sql.max_by(col(_KEY), col(_COUNT)).cast("string").alias(_MOST)
    most = aggregate(counts, [col(SIDE_START)], [sql.max(col(_COUNT)).alias(_COUNT), commonest])
    of_window = (col(READ) == col(SIDE_START)).column
    frame = reading.join(broadcast(most), of_window, "left").drop(SIDE_START)
    several = fail_for_element(
        sql.concat(
            "as_map() has ",
            col(_COUNT).cast("string"),
            " values under ",
            col(_MOST),
            " in a window; each key must have one value",
        )
    )
    # A key with several values would repeat elements. A filter fails first, also if no later step reads the value.
    frame = where(frame, sql.when(col(_COUNT) > 1, several.cast("boolean")).otherwise(True))
    results: list[Columns] = []
    for number, (looked_up, shape) in enumerate(zip(lookups.keys, lookups.shape.items[1:], strict=True)):
        assert isinstance(shape, TupleOf), "a key is found or not, and has a value"
        own_key, own_value, is_there = (f"{name} {number}" for name in (_KEY, _VALUE, _FOUND))
        right = select(
            pairs,
            col(SIDE_START),
            col(_KEY).alias(own_key),
            col(_VALUE).alias(own_value),
            TRUE.alias(is_there),
        )
        on = (col(READ) == col(SIDE_START)) & (compile_scalar(looked_up, main.element) == col(own_key))
        frame = frame.join(broadcast(right), on.column, "left").drop(SIDE_START)
        parts = (Leaf(BOOLEAN, col(is_there).is_not_null()), unnest(col(own_value), shape.items[1]))
        results.append(Branch(shape, parts))
    columns = Branch(lookups.shape, (main.element, *results))
    joined = select(frame, *flatten_columns(columns, lookups.shape), *map(col, main.meta))
    flow = evolve(main, frame=joined, shape=lookups.shape).with_notes(*side.notes)
    return apply_analyses(flow, lookups.steps)
