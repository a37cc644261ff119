"""Conversion of times to and from numbers."""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.lifting.tree.expressions import Apply

DATE: Final = pl.Date()
TIMESTAMP: Final = pl.Datetime("us", "UTC")
DURATION: Final = pl.Duration("us")
OUT_OF_RANGE: Final = "OverflowError: date value out of range"


def to_long(_: Apply, of: pl.Expr) -> pl.Expr:
    """Returns the microseconds of a time, or the days of a date."""
    return of.cast(pl.Int64())


def year(_: Apply, of: pl.Expr) -> pl.Expr:
    """Compiles the year of a date."""
    return of.dt.year().cast(pl.Int64())


def month(_: Apply, of: pl.Expr) -> pl.Expr:
    """Compiles the month of a date."""
    return of.dt.month().cast(pl.Int64())


def day_of_month(_: Apply, of: pl.Expr) -> pl.Expr:
    """Compiles the day of a date."""
    return of.dt.day().cast(pl.Int64())
