"""The built-in combiners as Spark's native aggregates, with the meaning that the algebra gives them."""

from __future__ import annotations

from typing import assert_never

from flowalg_shard.stage import AggregateColumn
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.combiners import Count, Max, Mean, Min, Sum
from flowalg_spark.layout import named


def native(column: AggregateColumn, label: str) -> Column:
    """The aggregate that computes a combiner's result column over the rows of a group.

    An integer sum that overflows is an error whatever the session's ANSI setting, and so is NaN under an order.
    """
    match column.combiner:
        case Count():
            result = F.count(F.lit(1))
        case Sum():
            result = F.sum(_argument(column)) if column.floating else _exact_sum(column, label)
        case Mean():
            total = F.sum(_argument(column)) if column.floating else _exact_sum(column, label)
            result = total.cast("double") / F.count(F.lit(1)).cast("double")
        case Min():
            result = F.min(_ordered(column, label))
        case Max():
            result = F.max(_ordered(column, label))
        case _:
            assert_never(column.combiner)
    return result.alias(column.result)


def _argument(column: AggregateColumn) -> Column:
    assert column.argument is not None
    return named(column.argument)


def _exact_sum(column: AggregateColumn, label: str) -> Column:
    overflow = F.raise_error(F.lit(f"{label}: a sum overflows 64 bits: integers must lie in [-2**63, 2**63)"))
    return F.coalesce(F.try_sum(_argument(column)), overflow)


def _ordered(column: AggregateColumn, label: str) -> Column:
    value = _argument(column)
    if not column.floating:
        return value
    name = type(column.combiner).__name__
    unordered = F.raise_error(F.lit(f"{label}: {name} was given nan, which has no place in an order"))
    return F.when(F.isnan(value), unordered).otherwise(value)


__all__ = ["native"]
