"""The windowing strategy of a grouping: where, when and how results are computed (Dataflow Model, section 1)."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, unique
from typing import Final, TypeAlias, get_args

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import Micros, duration_of
from flowalg.triggers.normal_form import normalise
from flowalg.triggers.syntax import (
    DEFAULT_TRIGGER,
    AtWatermark,
    OnceTrigger,
    Repeat,
    Trigger,
    require_trigger,
)
from flowalg.windows.window_functions import GlobalWindows, WindowFn


@unique
class Accumulation(Enum):
    """How the panes of one window relate (Dataflow Model, section 2.3)."""

    DISCARDING = "discarding"
    """Each pane holds the elements since the previous pane; a consumer adds the panes up."""

    ACCUMULATING = "accumulating"
    """Each pane holds all elements of the window so far, and replaces the previous pane."""

    RETRACTING = "retracting"
    """As accumulating, but retracts the panes that it replaces first: for a grouping downstream."""


@unique
class TimestampCombiner(Enum):
    """The event time of a pane (SEMANTICS section 7)."""

    END_OF_WINDOW = "end of window"
    """The last instant inside the window, so the pane is assigned to the same window downstream."""

    EARLIEST = "earliest"
    """The earliest event time of the elements in the pane; it holds back the watermark downstream."""

    LATEST = "latest"
    """The latest event time of the elements in the pane."""


@unique
class OnTimeBehavior(Enum):
    """Whether a window emits an on-time pane if it has not changed since the last pane."""

    IF_CHANGED = "if changed"
    """As in all figures of the papers: the watermark emits nothing for an unchanged window."""

    ALWAYS = "always"
    """Every window that exists emits an on-time pane, even if it is unchanged or empty."""


@unique
class Forever(Enum):
    """The unlimited allowed lateness."""

    FOREVER = "forever"

    def __repr__(self) -> str:
        return "FOREVER"


FOREVER: Final = Forever.FOREVER
"""Late elements are accepted indefinitely; the state of a window is never freed."""

AllowedLateness: TypeAlias = timedelta | Forever


@frozen
class WindowingStrategy:
    """Where in event time and when in processing time results are computed, and how refinements relate.

    ``allowed_lateness`` is how far the watermark may pass the end of a window before the window is freed. ``None``
    means unset: unlimited in the reference interpreter and in batch. Streaming rejects it for finite windows, because
    their state would grow without bound (SEMANTICS section 5). ``accumulation`` may be unset too, with ``None``: panes
    are then RETRACTING if a window can emit several, and something reads them again, or only a retraction can tell that
    one is outdated; other panes are ACCUMULATING (SEMANTICS section 7).
    """

    windows: WindowFn = field(factory=GlobalWindows)
    trigger: Trigger = field(default=DEFAULT_TRIGGER)
    accumulation: Accumulation | None = field(default=None)
    allowed_lateness: AllowedLateness | None = field(default=None)
    timestamp_combiner: TimestampCombiner = field(default=TimestampCombiner.END_OF_WINDOW)
    on_time_behavior: OnTimeBehavior = field(default=OnTimeBehavior.IF_CHANGED)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.windows, WindowFn):
            valid = "a window function, such as FixedWindows(timedelta(minutes=2))"
            raise ArgumentError("windows", self.windows, valid)
        require_trigger("trigger", self.trigger)
        for argument, value, kind in (
            ("accumulation", self.accumulation, Accumulation),
            ("timestamp_combiner", self.timestamp_combiner, TimestampCombiner),
            ("on_time_behavior", self.on_time_behavior, OnTimeBehavior),
        ):
            if not isinstance(value, kind) and (argument != "accumulation" or value is not None):
                raise ArgumentError(argument, value, " or ".join(map(str, kind)))
        lateness = self.allowed_lateness
        if lateness is None or isinstance(lateness, Forever):
            return
        if not isinstance(lateness, timedelta) or lateness < timedelta(0):
            valid = "a timedelta of zero or more, FOREVER, or None"
            raise ArgumentError("allowed_lateness", lateness, valid)

    @property
    def mode(self) -> Accumulation:
        """The accumulation mode; ACCUMULATING if it is unset and has not been resolved otherwise."""
        return Accumulation.ACCUMULATING if self.accumulation is None else self.accumulation

    @property
    def lateness_micros(self) -> Micros | None:
        """The allowed lateness in microseconds, or ``None`` if it is unlimited or unset."""
        if isinstance(self.allowed_lateness, timedelta):
            return duration_of("allowed_lateness", self.allowed_lateness, allow_zero=True)
        return None


def emits_one_pane(strategy: WindowingStrategy) -> bool:
    """Returns whether every window emits at most one pane. The condition is sufficient, not necessary.

    Either the trigger finishes with its first firing, which closes the window; or only the watermark fires it, and the
    allowed lateness is zero, so the window expires at the same time.
    """
    trigger = normalise(strategy.trigger)
    if isinstance(trigger, get_args(OnceTrigger)):
        return strategy.on_time_behavior is OnTimeBehavior.IF_CHANGED
    return trigger == Repeat(AtWatermark()) and strategy.allowed_lateness == timedelta(0)
