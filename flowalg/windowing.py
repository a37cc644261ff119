"""The where, when and how of a grouping as one value (Dataflow Model, section 1: what, where, when, how)."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, unique
from typing import Final, TypeAlias

from attrs import field, frozen

from flowalg.errors import ArgumentError
from flowalg.time import Micros, duration_of
from flowalg.triggers import DEFAULT_TRIGGER, AtWatermark, Repeat, Trigger
from flowalg.windows import FixedWindows, GlobalWindows, WindowFn


@unique
class Accumulation(Enum):
    """How the panes of one window refine each other (Dataflow Model, section 2.3)."""

    ACCUMULATING = "accumulating"
    """Each pane holds all contents of the window so far."""


@unique
class Forever(Enum):
    """The allowed lateness that never runs out."""

    FOREVER = "forever"

    def __repr__(self) -> str:
        return "FOREVER"


FOREVER: Final = Forever.FOREVER
"""Late elements are welcome for ever; the state of a window is never freed."""

AllowedLateness: TypeAlias = timedelta | Forever


@frozen
class WindowingStrategy:
    """Where in event time, when in processing time, and how refinements relate.

    ``allowed_lateness`` is how far the watermark may pass a window's end before the window is freed; ``None``
    means unset: unlimited in the reference and in batch, and refused by streaming on finite windows, because
    it keeps state for ever (SEMANTICS section 5).
    """

    windows: WindowFn = field(factory=GlobalWindows)
    trigger: Trigger = field(default=DEFAULT_TRIGGER)
    accumulation: Accumulation = field(default=Accumulation.ACCUMULATING)
    allowed_lateness: AllowedLateness | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.windows, FixedWindows | GlobalWindows):
            raise ArgumentError(
                "windows", self.windows, "a window strategy, such as FixedWindows(timedelta(minutes=2))"
            )
        if not isinstance(self.trigger, AtWatermark | Repeat):
            raise ArgumentError("trigger", self.trigger, "a trigger, such as Repeat(AtWatermark())")
        if not isinstance(self.accumulation, Accumulation):
            raise ArgumentError("accumulation", self.accumulation, "Accumulation.ACCUMULATING")
        if self.allowed_lateness is not None and not isinstance(self.allowed_lateness, Forever):
            duration_of("allowed_lateness", self.allowed_lateness, allow_zero=True)

    @property
    def lateness_micros(self) -> Micros | None:
        """The allowed lateness in microseconds, or ``None`` when it is unlimited or unset."""
        if isinstance(self.allowed_lateness, timedelta):
            return duration_of("allowed_lateness", self.allowed_lateness, allow_zero=True)
        return None


__all__ = ["FOREVER", "Accumulation", "AllowedLateness", "Forever", "WindowingStrategy"]
