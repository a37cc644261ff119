"""What each leaf of a trigger is in the step: the columns that it depends on, when it is ready, and from which time on.

This is the step's own statement of SEMANTICS section 6. It asks no leaf when it is ready, nor for a deadline, as the
reference does. What a leaf keeps of a change, and whether that is enough, is a function of the leaf that both call, as
that of a combiner is.
"""

from __future__ import annotations

from typing import Final, assert_never

import polars as pl

from flowalg.data.time import Micros, duration_of
from flowalg.runs.clocks import Clocks
from flowalg.triggers.syntax import (
    AfterDelay,
    AfterInactivity,
    Always,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtValue,
    AtWatermark,
    CustomTrigger,
    LeafTrigger,
    Never,
)

COUNT: Final = "count"
FIRST: Final = "first"
LAST: Final = "last"

_FAR: Final = 2**62
"""A duration beyond all of processing time that can still be added to a point in time in 64 bits."""


def columns_of(leaf: LeafTrigger) -> frozenset[str]:
    """Returns which of ``COUNT``, ``FIRST`` and ``LAST`` a leaf depends on."""
    match leaf:
        case AtCount():
            return frozenset({COUNT})
        case AtPeriod() | AfterDelay():
            return frozenset({FIRST})
        case AfterInactivity():
            return frozenset({LAST})
        case CustomTrigger() if leaf.due is not None:
            return frozenset({FIRST, LAST})
        case _:
            return frozenset()


def satisfied(leaf: LeafTrigger, prefix: str, own: str, end: str, clocks: Clocks) -> pl.Expr:
    """Returns whether a leaf is ready.

    ``prefix`` is that of the columns of its summary, ``own`` the column of what it alone keeps, if it keeps anything,
    and ``end`` that of the ends of windows.
    """
    match leaf:
        case AtWatermark(percentile=percentile):
            return pl.col(end) <= clocks.percentile(percentile)
        case AtCount(count=count):
            return pl.col(prefix + COUNT) >= min(count, _FAR)
        case AtMeasure(amount=amount):
            return pl.col(own) >= amount
        case AtElement() | AtValue() | CustomTrigger() | AtSignal():
            return pl.col(own)
        case AtPeriod() | AfterDelay() | AfterInactivity():
            return (_deadline(leaf, prefix) <= clocks.processing_time).fill_null(False)
        case Never():
            return pl.lit(False)
        case Always():
            return pl.lit(True)
    assert_never(leaf)


def satisfied_from(leaf: LeafTrigger, prefix: str, own: str, end: str, clocks: Clocks) -> pl.Expr:
    """Returns the processing time from which a leaf is ready; null if that needs more than the time."""
    if isinstance(leaf, AtPeriod | AfterDelay | AfterInactivity):
        return _deadline(leaf, prefix)
    now = pl.lit(clocks.processing_time, pl.Int64())
    return pl.when(satisfied(leaf, prefix, own, end, clocks)).then(now)


def _deadline(leaf: AtPeriod | AfterDelay | AfterInactivity, prefix: str) -> pl.Expr:
    """Returns the time from which a leaf is ready; null before the first arrival."""
    match leaf:
        case AfterInactivity():
            return pl.col(prefix + LAST) + min(leaf.gap_micros, _FAR)
        case AfterDelay():
            return pl.col(prefix + FIRST) + min(leaf.delay_micros, _FAR)
        case AtPeriod():
            first = pl.col(prefix + FIRST)
            period: Micros = duration_of("AtPeriod.period", leaf.period, allow_zero=False)
            offset: Micros = duration_of("AtPeriod.offset", leaf.offset, allow_zero=True)
            if period < _FAR:
                return first + (offset - first).mod(period)
            wide = first.cast(pl.Int128())
            waits = (pl.lit(offset, pl.Int128()) - wide).mod(pl.lit(period, pl.Int128()))
            return (wide + pl.min_horizontal(waits, pl.lit(_FAR, pl.Int128()))).cast(pl.Int64())
    assert_never(leaf)
