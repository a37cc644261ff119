"""User-defined watermark policies: a plain function from a view of the clock to a watermark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, require_name
from flowalg.data.time import EventTime, event_time
from flowalg.elementwise.functions import user_function_error
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.lags import RecentLags
from flowalg.watermarks.options import QUANTILE, is_quantile, predicate_validator
from flowalg.watermarks.policy import WatermarkPolicy


@frozen
class ClockView:
    """The clock of a source as a user-defined policy receives it, in datetimes and durations.

    ``watermark`` is the watermark before the instant. ``reached`` is the least of the greatest event times of the
    partitions that are not idle. ``source_watermark`` is the watermark that the source itself knows or has published:
    no record before it is still to come. Both are ``None`` if they are unknown. ``partitions`` maps each partition to
    its greatest event time, and ``idle`` has the idle partitions.
    """

    processing_time: datetime
    watermark: datetime
    reached: datetime | None
    source_watermark: datetime | None
    partitions: Mapping[str, datetime]
    idle: frozenset[str]
    _lags: RecentLags = field(repr=False)

    def lag(self, q: float) -> timedelta | None:
        """Returns the lag that a fraction ``q`` of recent records did not exceed; ``None`` before the first record."""
        if not is_quantile(q):
            raise ArgumentError("lag(q)", q, QUANTILE)
        lag = self._lags.quantile(q)
        return None if lag is None else timedelta(microseconds=lag)


@frozen
class CustomPolicy(WatermarkPolicy):
    """A user-defined policy: ``watermark_of`` returns a timezone-aware datetime for a view of the clock.

    ``None``, or a time before the current watermark, leaves the watermark unchanged. ``MAX_TIME`` ends the input. The
    function must depend only on the view. Raises ``UserFunctionError`` if the function raises, and ``ArgumentError``
    if it returns a naive datetime or one outside ``[MIN_TIME, MAX_TIME]``.

    Example:

    >>> watermarks(CustomPolicy("a day behind", lambda clock: clock.processing_time - timedelta(days=1)))
    ['2023-12-31T12:02:00Z', '2023-12-31T12:03:00Z', '2023-12-31T12:05:00Z']
    """

    name: str = field(validator=lambda _, __, name: require_name("CustomPolicy.name", name))
    watermark_of: Callable[[ClockView], datetime | None] = field(
        validator=predicate_validator(callable, "a function from a ClockView to a datetime or None")
    )

    @property
    def keeps_lags(self) -> bool:  # noqa: D102
        return True

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """Returns the result of the user function."""
        view = self.view(clock)
        try:
            point = self.watermark_of(view)
        except Exception as cause:
            raise user_function_error(self.name, self.watermark_of, view, cause) from cause
        return None if point is None else event_time(point, argument=f"the watermark of {self.name}")

    def view(self, clock: SourceClock) -> ClockView:
        """Returns the view of a clock that the function receives."""
        return ClockView(
            clock.processing_time.datetime,
            clock.watermark.datetime,
            _to_datetime(clock.reached(self.idle_micros)),
            _to_datetime(clock.own_watermark(self.idle_micros)),
            {name: partition.latest_event.datetime for name, partition in clock.partitions.items()},
            clock.idle_partitions(self.idle_micros),
            clock.lags,
        )

    @property
    def description(self) -> str:  # noqa: D102
        return self.name


def _to_datetime(point: EventTime | None) -> datetime | None:
    return None if point is None else point.datetime
