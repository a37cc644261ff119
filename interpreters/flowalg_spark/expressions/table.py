"""Each primitive operation as a Spark column, given the columns of its arguments.

Integer arguments come as 64-bit columns or as decimals without a scale; either serves. What is null in an argument
is null in the result: the compiler tries 64 bits first, and null says that they were not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.expressions import floats, texts, times
from flowalg_spark.expressions.integers import ARITHMETIC

Builder = Callable[..., Column]


def _of(make: Callable[..., Column]) -> Builder:
    """An operation that needs to know nothing but its columns."""

    def build(_: Apply, *args: Column) -> Column:
        return make(*args)

    return build


def _one_of(_: Apply, of: Column, *items: Column) -> Column:
    return of.isin(*items)


TABLE: Final[Mapping[Op, Builder]] = {
    Op.DIVIDE: floats.divide_integers,
    Op.BIT_AND: _of(Column.bitwiseAND),
    Op.BIT_OR: _of(Column.bitwiseOR),
    Op.BIT_XOR: _of(Column.bitwiseXOR),
    Op.FLOAT_ADD: _of(lambda a, b: a + b),
    Op.FLOAT_SUBTRACT: _of(lambda a, b: a - b),
    Op.FLOAT_MULTIPLY: _of(lambda a, b: a * b),
    Op.FLOAT_DIVIDE: floats.divide,
    Op.FLOAT_FLOOR_DIVIDE: floats.floor_divide,
    Op.FLOAT_MODULO: floats.modulo,
    Op.FLOAT_NEGATE: _of(lambda a: -a),
    Op.FLOAT_ABSOLUTE: _of(F.abs),
    Op.SQUARE_ROOT: floats.square_root,
    Op.TO_FLOAT: _of(lambda a: a.cast("double")),
    Op.TRUNCATE: floats.to_integer,
    Op.FLOOR: floats.to_integer,
    Op.CEILING: floats.to_integer,
    Op.ROUND_HALF_EVEN: floats.to_integer,
    Op.IS_NAN: _of(F.isnan),
    Op.IS_INFINITE: floats.is_infinite,
    Op.NOT: _of(lambda a: ~a),
    Op.IS_NONE: _of(Column.isNull),
    Op.EQUAL: _of(lambda a, b: a == b),
    Op.LESS: _of(lambda a, b: a < b),
    Op.LESS_EQUAL: _of(lambda a, b: a <= b),
    Op.FLOAT_EQUAL: floats.equal,
    Op.FLOAT_LESS: floats.less,
    Op.FLOAT_LESS_EQUAL: floats.less_equal,
    Op.ONE_OF: _one_of,
    Op.LENGTH: texts.size,
    Op.CONCATENATE: _of(F.concat),
    Op.CONTAINS: _of(F.contains),
    Op.STARTS_WITH: _of(F.startswith),
    Op.ENDS_WITH: _of(F.endswith),
    Op.FIND: texts.find,
    Op.REPLACE: _of(F.replace),
    Op.STRIP: texts.strip,
    Op.STRIP_LEFT: texts.strip,
    Op.STRIP_RIGHT: texts.strip,
    Op.SLICE: texts.slice_text,
    Op.CHARACTER: texts.character_at,
    Op.SPLIT: texts.split,
    Op.WORDS: texts.words,
    Op.TEXT_OF_INTEGER: _of(lambda a: a.cast("string")),
    Op.TEXT_OF_DAY: _of(lambda a: a.cast("string")),
    Op.ENUM_NAME: _of(lambda a: a),
    Op.SIZE: texts.size,
    Op.ITEM: texts.item_at,
    Op.LIST: _of(F.array),
    Op.HAS_ITEM: _of(F.array_contains),
    Op.MICROS: _of(F.unix_micros),
    Op.INSTANT: times.timestamp_from_micros,
    Op.DAYS: _of(lambda a: F.unix_date(a).cast("bigint")),
    Op.DAY: times.date_from_days,
    Op.DURATION_MICROS: times.micros_of_interval,
    Op.DURATION: times.interval_from_micros,
    Op.YEAR: _of(lambda a: F.year(a).cast("bigint")),
    Op.MONTH: _of(lambda a: F.month(a).cast("bigint")),
    Op.DAY_OF_MONTH: _of(lambda a: F.day(a).cast("bigint")),
}
"""Every operation but integer arithmetic, which is done both ways (``flowalg_spark.expressions.integers``)."""

STORING: Final = (Op.LIST, Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR)
"""The operations whose integer arguments must be 64-bit columns."""

assert TABLE.keys() | set(ARITHMETIC) == set(Op), "every operation has a column"

__all__ = ["STORING", "TABLE", "Builder"]
