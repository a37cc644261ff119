"""The Polars expression of each primitive operation, as a function of the columns of its arguments.

Integer arguments have 64 bits, or 128 bits if one of them may exceed 64; then all of them have 128.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl
from flowalg_shard.tables.floats import without_negative_zeros

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.primitives import Op
from flowalg_polars.expressions import floats, texts, times
from flowalg_polars.expressions.failures import Failures, fail_where
from flowalg_polars.expressions.integers import ARITHMETIC

Builder = Callable[..., pl.Expr]
"""A function of the operation and the columns of its arguments."""
PartialBuilder = Callable[..., tuple[pl.Expr, Failures]]
"""A builder of an operation that may fail. Where it fails, its value is arbitrary."""


def _ignore_node(make: Callable[..., pl.Expr]) -> Builder:
    """Converts a function of columns alone to a builder."""

    def build(_: Apply, *args: pl.Expr) -> pl.Expr:
        return make(*args)

    return build


def _one_of(_: Apply, of: pl.Expr, *items: pl.Expr) -> pl.Expr:
    return of.is_in(pl.concat_list(items))


def _entry(_: Apply, key: pl.Expr, *entries: pl.Expr) -> pl.Expr:
    half = len(entries) // 2
    keys, values = (
        pl.select(pl.concat_list(constants).explode()).to_series()
        for constants in (entries[:half], entries[half:])
    )
    return key.replace_strict(keys, values, default=None, return_dtype=values.dtype)


TOTAL: Final[Mapping[Op, Builder]] = {
    Op.BIT_AND: _ignore_node(lambda a, b: a & b),
    Op.BIT_OR: _ignore_node(lambda a, b: a | b),
    Op.BIT_XOR: _ignore_node(lambda a, b: a ^ b),
    Op.FLOAT_ADD: floats.add,
    Op.FLOAT_SUBTRACT: floats.subtract,
    Op.FLOAT_MULTIPLY: _ignore_node(lambda a, b: a * b),
    Op.FLOAT_NEGATE: _ignore_node(lambda a: -a),
    Op.FLOAT_ABSOLUTE: _ignore_node(lambda a: a.abs()),
    Op.FLOAT_CANONICAL: _ignore_node(without_negative_zeros),
    Op.ROUND_DIGITS: floats.round_digits,
    Op.TO_FLOAT: _ignore_node(lambda a: a.cast(floats.FLOAT)),
    Op.IS_NAN: _ignore_node(lambda a: a.is_nan()),
    Op.IS_INFINITE: _ignore_node(lambda a: a.is_infinite()),
    Op.NOT: _ignore_node(lambda a: ~a),
    Op.IS_NONE: _ignore_node(lambda a: a.is_null()),
    Op.EQUAL: _ignore_node(lambda a, b: a == b),
    Op.LESS: _ignore_node(lambda a, b: a < b),
    Op.LESS_EQUAL: _ignore_node(lambda a, b: a <= b),
    Op.FLOAT_EQUAL: floats.equal,
    Op.FLOAT_LESS: floats.less,
    Op.FLOAT_LESS_EQUAL: floats.less_equal,
    Op.ONE_OF: _one_of,
    Op.LENGTH: texts.size,
    Op.CONCATENATE: texts.concatenate,
    Op.CONTAINS: texts.contains,
    Op.STARTS_WITH: _ignore_node(lambda a, b: a.str.starts_with(b)),
    Op.ENDS_WITH: _ignore_node(lambda a, b: a.str.ends_with(b)),
    Op.FIND: texts.find,
    Op.REPLACE: texts.replace,
    Op.STRIP: texts.strip,
    Op.STRIP_LEFT: texts.strip,
    Op.STRIP_RIGHT: texts.strip,
    Op.LOWER: texts.change_case,
    Op.UPPER: texts.change_case,
    Op.CASEFOLD: texts.change_case,
    Op.TITLE: texts.change_case,
    Op.CAPITALIZE: texts.change_case,
    Op.SLICE: texts.slice_text,
    Op.SPLIT: texts.split,
    Op.WORDS: texts.words,
    Op.MATCHES: texts.matches,
    Op.SUBSTITUTE: texts.substitute,
    Op.FIND_ALL: texts.find_all,
    Op.TEXT_OF_INTEGER: _ignore_node(lambda a: a.cast(pl.String())),
    Op.FIXED_POINT: floats.fixed_point,
    Op.THOUSANDS: texts.thousands,
    Op.TEXT_OF_DAY: _ignore_node(lambda a: a.cast(pl.String())),
    Op.ENUM_NAME: _ignore_node(lambda a: a),
    Op.SIZE: texts.size,
    Op.LIST: texts.make_list,
    Op.HAS_ITEM: texts.has_item,
    Op.POSITION: _ignore_node(lambda a: a),
    Op.ENTRY: _entry,
    Op.MICROS: times.to_long,
    Op.DAYS: times.to_long,
    Op.DURATION_MICROS: times.to_long,
    Op.YEAR: times.year,
    Op.MONTH: times.month,
    Op.DAY_OF_MONTH: times.day_of_month,
}
"""The operations that never fail."""


def _require(node: Apply, is_found: pl.Expr, value: pl.Expr) -> tuple[pl.Expr, Failures]:
    return value, fail_where(~is_found, node.location, "KeyError: the mapping has no such key")


PARTIAL: Final[Mapping[Op, PartialBuilder]] = {
    Op.DIVIDE: floats.divide_integers,
    Op.FLOAT_DIVIDE: floats.divide,
    Op.FLOAT_FLOOR_DIVIDE: floats.floor_divide,
    Op.FLOAT_MODULO: floats.modulo,
    Op.SQUARE_ROOT: floats.square_root,
    Op.TRUNCATE: floats.to_integer,
    Op.FLOOR: floats.to_integer,
    Op.CEILING: floats.to_integer,
    Op.ROUND_HALF_EVEN: floats.to_integer,
    Op.CHARACTER: texts.character_at,
    Op.GROUP: texts.group,
    Op.ITEM: texts.item_at,
    Op.REQUIRE: _require,
}
"""The operations that may fail."""

RANGED: Final = (Op.INSTANT, Op.DAY, Op.DURATION)
"""The times of integers in a range, which are in ``flowalg_polars.expressions.compiler``."""

STORING: Final = (Op.LIST, Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR, Op.ENTRY)
"""The operations whose integer arguments must fit 64 bits."""

assert {*TOTAL, *PARTIAL, *RANGED, *ARITHMETIC} == set(Op) - {Op.LOOKUP}, (
    "every operation but a join is compiled"
)
