"""The function of a computation that observes elements, as columns: what it receives, and what it returns."""

from __future__ import annotations

from typing import Final

import polars as pl
from attrs import frozen

LATE: Final = "__late"
NOW: Final = "__now"
WATERMARK: Final = "__watermark"
"""Whether an element is late, and the processing time and the watermark in microseconds: further arguments."""


@frozen
class TimerColumns:
    """What a function does to the timer of a tag: whether it sets or clears it, and the microseconds of its time."""

    tag: str
    of_event: bool
    touched: pl.Expr
    point: pl.Expr


@frozen
class OutputColumns:
    """Whether there is an output, and the columns of its value."""

    present: pl.Expr
    values: tuple[pl.Expr, ...]


@frozen
class TransitionColumns:
    """What a function of elements returns, as columns over its arguments; ``fails`` says where Python must repeat it.

    The column of a state has a value also where the key is ``freed``.
    """

    state: tuple[pl.Expr, ...]
    freed: pl.Expr
    outputs: tuple[OutputColumns, ...]
    timers: tuple[TimerColumns, ...]
    fails: pl.Expr | None
