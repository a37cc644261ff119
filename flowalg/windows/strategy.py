"""The where, when and how of a grouping as one value (Dataflow Model, section 1: what, where, when, how)."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, unique
from typing import Final, TypeAlias

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import Micros, duration_of
from flowalg.triggers.syntax import DEFAULT_TRIGGER, Trigger, require_trigger
from flowalg.windows.window_functions import GlobalWindows, WindowFn


@unique
class Accumulation(Enum):
    """How the panes of one window refine each other (Dataflow Model, section 2.3)."""

    DISCARDING = "discarding"
    """Each pane holds what has come since the last one; whoever wants the whole adds them up."""

    ACCUMULATING = "accumulating"
    """Each pane holds all contents of the window so far, and takes the last one's place."""

    RETRACTING = "retracting"
    """Accumulating, and before each pane the ones that it replaces are taken back: for a grouping downstream."""


@unique
class TimestampCombiner(Enum):
    """Which event time a pane carries (SEMANTICS section 7)."""

    END_OF_WINDOW = "end of window"
    """The last instant inside the window, so that what follows puts the pane in the same window."""

    EARLIEST = "earliest"
    """The earliest event time among the pane's contents; the watermark downstream is held back to it."""

    LATEST = "latest"
    """The latest event time among the pane's contents."""


@unique
class OnTimeBehavior(Enum):
    """Whether a window has an on-time pane when nothing has changed since the last one."""

    IF_CHANGED = "if changed"
    """As in all drawn figures: a watermark that passes an unchanged window emits nothing."""

    ALWAYS = "always"
    """An on-time pane for every window that exists, unchanged or empty as it may be."""


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
    timestamp_combiner: TimestampCombiner = field(default=TimestampCombiner.END_OF_WINDOW)
    on_time_behavior: OnTimeBehavior = field(default=OnTimeBehavior.IF_CHANGED)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.windows, WindowFn):
            valid = "a window strategy, such as FixedWindows(timedelta(minutes=2))"
            raise ArgumentError("windows", self.windows, valid)
        require_trigger("trigger", self.trigger)
        for argument, value, kind in (
            ("accumulation", self.accumulation, Accumulation),
            ("timestamp_combiner", self.timestamp_combiner, TimestampCombiner),
            ("on_time_behavior", self.on_time_behavior, OnTimeBehavior),
        ):
            if not isinstance(value, kind):
                raise ArgumentError(argument, value, " or ".join(map(str, kind)))
        lateness = self.allowed_lateness
        if lateness is None or isinstance(lateness, Forever):
            return
        if not isinstance(lateness, timedelta) or lateness < timedelta(0):
            valid = "a timedelta of zero or more, FOREVER, or None"
            raise ArgumentError("allowed_lateness", lateness, valid)

    @property
    def lateness_micros(self) -> Micros | None:
        """The allowed lateness in microseconds, or ``None`` when it is unlimited or unset."""
        if isinstance(self.allowed_lateness, timedelta):
            return duration_of("allowed_lateness", self.allowed_lateness, allow_zero=True)
        return None


__all__ = [
    "FOREVER",
    "Accumulation",
    "AllowedLateness",
    "Forever",
    "OnTimeBehavior",
    "TimestampCombiner",
    "WindowingStrategy",
]
