"""The SQL of each primitive operation, as a function of that of its arguments.

Integer arguments are 64-bit columns or decimals of scale zero. If an argument is null, the result is null: the compiler
tries 64 bits first, and null marks an overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Final

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import cases, decimals, floats, texts, times
from flowalg_spark.expressions.errors import fail_where
from flowalg_spark.expressions.integers import ARITHMETIC

Builder = Callable[..., Sql]


def _ignore_node(make: Callable[..., Sql]) -> Builder:
    """Converts a function of columns alone to a builder."""

    def build(_: Apply, *args: Sql) -> Sql:
        return make(*args)

    return build


def _one_of(_: Apply, of: Sql, *items: Sql) -> Sql:
    return of.is_in(*items)


def _entry(_: Apply, key: Sql, *entries: Sql) -> Sql:
    half = len(entries) // 2
    pairs = zip(entries[:half], entries[half:], strict=True)
    return sql.try_element_at(sql.map(*chain.from_iterable(pairs)), key)


def _require(node: Apply, has_key: Sql, value: Sql) -> Sql:
    return fail_where(~has_key, node, "KeyError: the mapping has no such key", value)


TABLE: Final[Mapping[Op, Builder]] = {
    Op.DIVIDE: floats.divide_integers,
    Op.BIT_AND: _ignore_node(Sql.bit_and),
    Op.BIT_OR: _ignore_node(Sql.bit_or),
    Op.BIT_XOR: _ignore_node(Sql.bit_xor),
    Op.FLOAT_ADD: _ignore_node(lambda a, b: a + b),
    Op.FLOAT_SUBTRACT: _ignore_node(lambda a, b: a - b),
    Op.FLOAT_MULTIPLY: _ignore_node(lambda a, b: a * b),
    Op.FLOAT_DIVIDE: floats.divide,
    Op.FLOAT_FLOOR_DIVIDE: floats.floor_divide,
    Op.FLOAT_MODULO: floats.modulo,
    Op.FLOAT_NEGATE: _ignore_node(lambda a: -a),
    Op.FLOAT_ABSOLUTE: _ignore_node(sql.abs),
    Op.FLOAT_CANONICAL: _ignore_node(floats.canonical),
    Op.SQUARE_ROOT: floats.square_root,
    Op.ROUND_DIGITS: floats.round_digits,
    Op.TO_FLOAT: _ignore_node(lambda a: a.cast("double")),
    Op.TRUNCATE: floats.to_integer,
    Op.FLOOR: floats.to_integer,
    Op.CEILING: floats.to_integer,
    Op.ROUND_HALF_EVEN: floats.to_integer,
    Op.IS_NAN: _ignore_node(sql.isnan),
    Op.IS_INFINITE: floats.is_infinite,
    Op.NOT: _ignore_node(lambda a: ~a),
    Op.IS_NONE: _ignore_node(Sql.is_null),
    Op.EQUAL: _ignore_node(lambda a, b: a == b),
    Op.LESS: _ignore_node(lambda a, b: a < b),
    Op.LESS_EQUAL: _ignore_node(lambda a, b: a <= b),
    Op.FLOAT_EQUAL: floats.equal,
    Op.FLOAT_LESS: floats.less,
    Op.FLOAT_LESS_EQUAL: floats.less_equal,
    Op.ONE_OF: _one_of,
    Op.LENGTH: texts.size,
    Op.CONCATENATE: _ignore_node(sql.concat),
    Op.CONTAINS: _ignore_node(sql.contains),
    Op.STARTS_WITH: _ignore_node(sql.startswith),
    Op.ENDS_WITH: _ignore_node(sql.endswith),
    Op.FIND: texts.find,
    Op.REPLACE: _ignore_node(sql.replace),
    Op.STRIP: texts.strip,
    Op.STRIP_LEFT: texts.strip,
    Op.STRIP_RIGHT: texts.strip,
    Op.LOWER: cases.change_case,
    Op.UPPER: cases.change_case,
    Op.CASEFOLD: cases.change_case,
    Op.TITLE: cases.change_case,
    Op.CAPITALIZE: cases.change_case,
    Op.SLICE: texts.slice_text,
    Op.CHARACTER: texts.character_at,
    Op.SPLIT: texts.split,
    Op.WORDS: texts.words,
    Op.MATCHES: _ignore_node(sql.regexp_like),
    Op.GROUP: texts.group,
    Op.SUBSTITUTE: texts.substitute,
    Op.FIND_ALL: _ignore_node(lambda text, pattern: sql.regexp_extract_all(text, pattern, 0)),
    Op.TEXT_OF_INTEGER: _ignore_node(lambda a: a.cast("string")),
    Op.FIXED_POINT: decimals.fixed_point,
    Op.THOUSANDS: decimals.thousands,
    Op.TEXT_OF_DAY: _ignore_node(lambda a: a.cast("string")),
    Op.ENUM_NAME: _ignore_node(lambda a: a),
    Op.SIZE: texts.size,
    Op.ITEM: texts.item_at,
    Op.LIST: _ignore_node(sql.array),
    Op.HAS_ITEM: _ignore_node(sql.array_contains),
    Op.POSITION: _ignore_node(lambda a: a),
    Op.ENTRY: _entry,
    Op.REQUIRE: _require,
    Op.MICROS: _ignore_node(sql.unix_micros),
    Op.INSTANT: times.timestamp_from_micros,
    Op.DAYS: _ignore_node(lambda a: sql.unix_date(a).cast("bigint")),
    Op.DAY: times.date_from_days,
    Op.DURATION_MICROS: times.micros_of_interval,
    Op.DURATION: times.interval_from_micros,
    Op.YEAR: _ignore_node(lambda a: sql.year(a).cast("bigint")),
    Op.MONTH: _ignore_node(lambda a: sql.month(a).cast("bigint")),
    Op.DAY_OF_MONTH: _ignore_node(lambda a: sql.day(a).cast("bigint")),
}
"""All operations except integer arithmetic, which is in ``flowalg_spark.expressions.integers``."""

STORING: Final = (Op.LIST, Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR, Op.ENTRY, Op.ITEM, Op.CHARACTER)
"""The operations whose integer arguments must be 64-bit columns."""

assert TABLE.keys() | set(ARITHMETIC) == set(Op) - {Op.LOOKUP}, "every operation but a join has a column"
