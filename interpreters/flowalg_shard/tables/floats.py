"""Floats in columns: sums that are infinite only if the result is, and one zero.

A sum is kept twice, the second time of values that are multiplied by ``SCALE``. The scaled sum has a greater range and
the same digits, but for values near the least float, so it replaces a sum that is not finite: the largest float twice
and its negative are the largest float.
"""

from __future__ import annotations

from typing import Final

import polars as pl

SCALE: Final = 2.0**-64
"""The factor of scaled sums, which are not infinite for up to 2**64 finite values."""


def scale(values: pl.Expr) -> pl.Expr:
    """Returns values or a sum of them as a scaled sum has them."""
    return values * SCALE


def finite_total(total: pl.Expr, scaled: pl.Expr) -> pl.Expr:
    """Returns a sum of floats: where it is not finite, from the scaled sum."""
    return pl.when(total.is_finite()).then(total).otherwise(scaled / SCALE)


def without_negative_zeros(floats: pl.Expr) -> pl.Expr:
    """Returns floats with 0.0 for -0.0. Polars adds 0.0 without effect."""
    return pl.when(floats == 0.0).then(pl.lit(0.0, dtype=pl.Float64())).otherwise(floats)
