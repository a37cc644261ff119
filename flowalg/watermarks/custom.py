"""Policies of the user's own: a plain function from what the clock shows to a watermark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, FlowalgError
from flowalg.data.time import EventTime, event_time, to_datetime
from flowalg.elementwise.functions import user_function_error
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.lags import RecentLags
from flowalg.watermarks.options import QUANTILE, is_quantile, satisfying
from flowalg.watermarks.policy import WatermarkPolicy


@frozen
class ClockView:
    """What a function of the user's sees of a source's clock, in datetimes and durations.

    ``watermark`` is where it was before the instant. ``reached`` is the event time that all partitions have reached
    which are not idle, ``known`` what the source itself says (no event before it is still to come), both ``None``
    where there is nothing to say. ``partitions`` has the greatest event time of each partition.
    """

    processing_time: datetime
    watermark: datetime
    reached: datetime | None
    known: datetime | None
    partitions: Mapping[str, datetime]
    idle: frozenset[str]
    _lags: RecentLags = field(repr=False)

    def lag(self, q: float) -> timedelta | None:
        """The lag that a share ``q`` of the recent records did not exceed; ``None`` before the first record."""
        if not is_quantile(q):
            raise ArgumentError("lag(q)", q, QUANTILE)
        lag = self._lags.quantile(q)
        return None if lag is None else timedelta(microseconds=lag)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


@frozen
class CustomPolicy(WatermarkPolicy):
    """A policy of the user's own: ``watermark_of`` gives a timezone-aware datetime from what the clock shows.

    ``None`` leaves the watermark where it is, and so does a point behind it. ``MAX_TIME`` says that the input has
    ended. The function must depend on nothing but the view. What it raises is raised as ``UserFunctionError``; a naive
    datetime, or one outside ``[MIN_TIME, MAX_TIME]``, is an ``ArgumentError``.
    """

    name: str = field(validator=satisfying(_is_name, "a non-empty str"))
    watermark_of: Callable[[ClockView], datetime | None] = field(
        validator=satisfying(callable, "a function from a ClockView to a datetime")
    )

    @property
    def keeps_lags(self) -> bool:  # noqa: D102
        return True

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """What the function gives."""
        view = self.view(clock)
        try:
            point = self.watermark_of(view)
        except FlowalgError:
            raise
        except Exception as cause:
            raise user_function_error(self.name, self.watermark_of, view, cause) from cause
        return None if point is None else event_time(point, argument=f"the watermark of {self.name}")

    def view(self, clock: SourceClock) -> ClockView:
        """What the function is shown of a clock."""
        return ClockView(
            to_datetime(clock.processing_time),
            to_datetime(clock.watermark),
            _shown(clock.reached(self.idle_micros)),
            _shown(clock.known),
            {name: to_datetime(partition.latest_event) for name, partition in clock.partitions.items()},
            clock.idle(self.idle_micros),
            clock.lags,
        )

    @property
    def meaning(self) -> str:  # noqa: D102
        return self.name


def _shown(point: EventTime | None) -> datetime | None:
    return None if point is None else to_datetime(point)


__all__ = ["ClockView", "CustomPolicy"]
