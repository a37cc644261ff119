"""Floats as texts of decimals. Those of Java have the digits of the shortest decimal, not those of the exact value."""

from __future__ import annotations

from typing import Final

from flowalg.lifting.tree.expressions import Apply
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.floats import nearest_to_product

_LIMB_BITS: Final = 32
_LIMB: Final = 2**_LIMB_BITS
_LIMBS: Final = 32
"""The number of limbs of the largest float."""
_BASE_DIGITS: Final = 9
_BASE: Final = 10**_BASE_DIGITS
"""A digit to this base times the size of a limb fits 64 bits."""


def fixed_point(node: Apply, a: Sql, _: Sql) -> Sql:
    """Compiles the decimal of a float with a constant number of digits after its point."""
    return sql.let(a, lambda number: _fixed_point(number, node.integer(1)))


def _fixed_point(number: Sql, places: int) -> Sql:
    """Writes the whole part and the fraction of a float, which are floats themselves, one after the other."""
    size = sql.abs(number)
    minus = sql.startswith(number.cast("string"), "-")  # as text, since -0.0 equals 0.0
    if places:
        scale = 10.0**places
        text = sql.let(
            nearest_to_product(size % 1.0, scale),
            lambda parts: sql.concat(
                _integer(size - size % 1.0 + sql.when(parts == scale, 1.0).otherwise(0.0)),
                ".",
                sql.lpad((parts % scale).cast("bigint").cast("string"), places, "0"),
            ),
        )
    else:
        text = _integer(sql.rint(size))
    written = sql.when(size == float("inf"), "inf").otherwise(text)
    return sql.when(sql.isnan(number), "nan").otherwise(
        sql.concat(sql.when(minus, "-").otherwise(""), written)
    )


def _integer(of: Sql) -> Sql:
    """Writes a float that is an integer and not negative."""
    return sql.when(of < 2.0**63, of.cast("bigint").cast("string")).otherwise(_large_integer(of))


def _large_integer(of: Sql) -> Sql:
    """Writes a large integer by digits to the base of a billion, from its limbs, the first of which is the highest."""
    limbs = sql.transform(
        sql.sequence(_LIMBS - 1, 0),
        lambda place: (of / sql.pow(2.0, place * _LIMB_BITS) % float(_LIMB)).cast("bigint"),
    )
    digits = sql.aggregate(limbs, sql.array(sql.long(0)), _append_limb)
    texts = sql.transform(
        sql.reverse(digits), lambda digit: sql.lpad(digit.cast("string"), _BASE_DIGITS, "0")
    )
    return sql.ltrim("0", sql.array_join(texts, ""))


def _append_limb(digits: Sql, limb: Sql) -> Sql:
    """Returns the digits of a number times the size of a limb, plus a limb; the first digit is the lowest."""
    start = sql.named_struct("digits", sql.array().cast("array<bigint>"), "carry", limb)

    def carry_on(done: Sql, digit: Sql) -> Sql:
        total = digit * sql.long(_LIMB) + done["carry"]
        digits = sql.concat(done["digits"], sql.array(total % _BASE))
        return sql.named_struct("digits", digits, "carry", total.div(_BASE))

    def finish(done: Sql) -> Sql:
        carry = done["carry"]
        return sql.concat(done["digits"], sql.array(carry % _BASE, carry.div(_BASE)))

    return sql.aggregate(digits, start, carry_on, finish)


def thousands(_: Apply, text: Sql) -> Sql:
    """Compiles the commas of a number."""
    return sql.regexp_replace(text, "(?<=[0-9])(?=([0-9]{3})+$)", ",")
