"""Lookups in the mapping of a side input: a broadcast join on the window and the key, for each key."""

from __future__ import annotations

from typing import Final

from attrs import evolve
from flowalg_columns.layout import Branch, Leaf, key_and_value
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.shapes import BOOLEAN, TupleOf
from flowalg.lifting.lookups import Lookups
from flowalg_spark.encoding.columns import Columns, col, flatten_columns, nest, unnest
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.expressions.errors import fail_for_element
from flowalg_spark.lowering.element_wise import apply_analyses
from flowalg_spark.lowering.flow import Flow

_READ: Final = "__side read"
_SIDE: Final = "__side start"
_KEY: Final = "__side key"
_VALUE: Final = "__side value"
_COUNT: Final = "__side count"
_MOST: Final = "__side most"
_FOUND: Final = "__side found"


def lower_lookups(lookups: Lookups, main: Flow, side: Flow, read: Column, start: Column) -> Flow:
    """Returns the elements after steps that look keys up; ``read`` is the start of the window that they read.

    ``start`` is that of the side's own windows. A key with several values in a window that is read fails.
    """
    key, value = key_and_value(side.element)
    pairs = side.frame.select(start.alias(_SIDE), nest(key).alias(_KEY), nest(value).alias(_VALUE))

    counts = pairs.groupBy(_SIDE, _KEY).agg(F.count(F.lit(1)).alias(_COUNT))
    most = counts.groupBy(_SIDE).agg(
        F.max(_COUNT).alias(_COUNT), F.max_by(_KEY, _COUNT).cast("string").alias(_MOST)
    )
    frame = main.frame.withColumn(_READ, read)
    frame = frame.join(F.broadcast(most), col(_READ) == col(_SIDE), "left").drop(_SIDE)
    several = fail_for_element(
        F.concat(
            F.lit("as_map() has "),
            col(_COUNT).cast("string"),
            F.lit(" values under "),
            col(_MOST),
            F.lit(" in a window; each key must have one value"),
        )
    )
    # A key with several values would repeat elements. A filter fails first, also if no later step reads the value.
    frame = frame.filter(F.when(col(_COUNT) > 1, several.cast("boolean")).otherwise(F.lit(True)))
    results: list[Columns] = []
    for number, (looked_up, shape) in enumerate(zip(lookups.keys, lookups.shape.items[1:], strict=True)):
        assert isinstance(shape, TupleOf), "a key is found or not, and has a value"
        own_key, own_value, is_there = (f"{name} {number}" for name in (_KEY, _VALUE, _FOUND))
        right = pairs.select(
            _SIDE, col(_KEY).alias(own_key), col(_VALUE).alias(own_value), F.lit(True).alias(is_there)
        )
        on = (col(_READ) == col(_SIDE)) & (compile_scalar(looked_up, main.element) == col(own_key))
        frame = frame.join(F.broadcast(right), on, "left").drop(_SIDE)
        parts = (Leaf(BOOLEAN, col(is_there).isNotNull()), unnest(col(own_value), shape.items[1]))
        results.append(Branch(shape, parts))
    columns = Branch(lookups.shape, (main.element, *results))
    joined = frame.select(*flatten_columns(columns, lookups.shape), *map(col, main.meta))
    flow = evolve(main, frame=joined, shape=lookups.shape).with_notes(*side.notes)
    return apply_analyses(flow, lookups.steps)
