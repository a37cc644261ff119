"""The built-in watermark policies (SEMANTICS section 9; *Watermarks in Stream Processing Systems*, section 2)."""

from __future__ import annotations

from datetime import timedelta

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.distributions import LagDistribution
from flowalg.watermarks.options import QUANTILE, duration_validator, is_quantile, predicate_validator
from flowalg.watermarks.policy import WatermarkPolicy


@frozen
class Perfect(WatermarkPolicy):
    """The watermark that the source itself knows: no record before it is still to come.

    A source may publish it, for each of its partitions: then it is the least that they have published. Otherwise a
    timeline that is made from records knows all event times; a stream does not. Law: no element is late, unless the
    source has published too late a watermark.

    Source: MillWheel, section 4.4 (injectors); Watermarks in Stream Processing Systems, section 4.

    Example:

    >>> watermarks(Perfect())
    ['2024-01-01T12:01:00Z', '2024-01-01T12:03:00Z', '2024-01-01T12:03:00Z']
    """

    @property
    def by_clock(self) -> bool:  # noqa: D102
        return False

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """Returns the watermark that the source knows."""
        return clock.own_watermark(self.idle_micros)

    @property
    def description(self) -> str:  # noqa: D102
        return "the watermark that the source itself knows"


@frozen
class MonotonicTimestamps(WatermarkPolicy):
    """The event time that every partition has reached, for partitions whose records are ordered by event time.

    It is conformant if the partitions are ordered and each has emitted a record before the watermark first matters. A
    partition that appears later is not waited for.

    Example:

    >>> watermarks(MonotonicTimestamps())
    ['2024-01-01T12:00:00Z', '2024-01-01T12:01:00Z', '2024-01-01T12:03:00Z']
    """

    @property
    def by_clock(self) -> bool:  # noqa: D102
        return False

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """Returns the least of the greatest event times of the partitions."""
        return clock.reached(self.idle_micros)

    @property
    def description(self) -> str:  # noqa: D102
        return "the least of the greatest event times of the partitions"


@frozen
class BoundedOutOfOrderness(WatermarkPolicy):
    """The greatest event time observed, minus a delay: the assumed bound on how far out of order elements are.

    With several partitions it is the least of their greatest event times. The policy is heuristic: an element that is
    further behind is late, and ``allowed_lateness`` applies to it.

    Example:

    >>> watermarks(BoundedOutOfOrderness(MINUTE))
    ['2024-01-01T11:59:00Z', '2024-01-01T12:00:00Z', '2024-01-01T12:02:00Z']
    """

    delay: timedelta = field(validator=duration_validator(allow_zero=True))

    @property
    def delay_micros(self) -> Micros:
        """The delay in microseconds."""
        return self.delay // timedelta(microseconds=1)

    @property
    def by_clock(self) -> bool:  # noqa: D102
        return False

    def candidate(self, clock: SourceClock) -> int | None:
        """Returns the event time that every partition has reached, minus the delay."""
        reached = clock.reached(self.idle_micros)
        return None if reached is None else reached - self.delay_micros

    @property
    def description(self) -> str:  # noqa: D102
        return f"the greatest event time observed, minus {self.delay}"


@frozen
class Timeout(WatermarkPolicy):
    """The greatest event time that had been reached at least ``delay`` ago, in processing time.

    After a record has arrived, earlier ones have ``delay`` to follow before they are late. With several partitions the
    watermark is the least of theirs. The policy is heuristic. A source without new records keeps its watermark, once
    the delay has passed. The watermark advances only at instants (``Timeline.from_records(..., tick=...)`` adds some).
    The time at which an event time was reached is rounded up, by less than one part in 128 of the delay.

    Source: Watermarks in Stream Processing Systems, section 4.3.

    Example:

    >>> watermarks(Timeout(MINUTE))
    ['start of time', '2024-01-01T12:00:00Z', '2024-01-01T12:01:00Z']
    """

    delay: timedelta = field(validator=duration_validator(allow_zero=True))

    @property
    def reached_delay(self) -> Micros:  # noqa: D102
        return self.delay // timedelta(microseconds=1)

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """Returns the event time that every partition had reached when the delay began."""
        return clock.reached_in_time(self.idle_micros)

    @property
    def description(self) -> str:  # noqa: D102
        return f"the greatest event time observed at least {self.delay} ago"


@frozen
class ProcessingTimeLag(WatermarkPolicy):
    """The processing time minus a delay: a record within that delay of its event time is never late.

    The policy is heuristic. It advances without data if there are instants (``Timeline.from_records(..., tick=...)``).

    Example:

    >>> watermarks(ProcessingTimeLag(3 * MINUTE))
    ['2024-01-01T11:59:00Z', '2024-01-01T12:00:00Z', '2024-01-01T12:02:00Z']
    """

    delay: timedelta = field(validator=duration_validator(allow_zero=True))

    def candidate(self, clock: SourceClock) -> int:
        """Returns the processing time minus the delay."""
        return clock.processing_time - self.delay // timedelta(microseconds=1)

    @property
    def description(self) -> str:  # noqa: D102
        return f"the processing time, minus {self.delay}"


@frozen
class LagQuantile(WatermarkPolicy):
    """The processing time minus the lag that a fraction ``q`` of the recent records did not exceed.

    ``q`` lies strictly between 0 and 1: at 0.99 about one record in a hundred is late. It is a
    ``ProcessingTimeLag`` with a learned delay. The policy is heuristic, and has no watermark before the first record.

    Example:

    >>> watermarks(LagQuantile(0.9))
    ['2024-01-01T12:00:00Z', '2024-01-01T12:01:00Z', '2024-01-01T12:03:00Z']
    """

    q: float = field(validator=predicate_validator(is_quantile, QUANTILE))

    @property
    def keeps_lags(self) -> bool:  # noqa: D102
        return True

    def candidate(self, clock: SourceClock) -> int | None:
        """Returns the processing time minus the quantile of the lags."""
        lag = clock.lags.quantile(self.q)
        return None if lag is None else clock.processing_time - lag

    @property
    def description(self) -> str:  # noqa: D102
        return f"the processing time, minus the {self.q} quantile of the lags of the last {self.recent}"


@frozen
class FittedLag(WatermarkPolicy):
    """The processing time minus the ``q`` quantile of a distribution that is fitted to the lags of recent records.

    The gamma or log-normal distribution has the mean and the variance of the recent lags. It needs 27 numbers where
    ``LagQuantile`` needs a histogram, and extrapolates beyond the lags that were observed; it is worth as much as the
    lags resemble the distribution. The policy is heuristic, and has no watermark before the first record.

    Source: Watermarks in Stream Processing Systems, section 4.3 (statistical).

    Example:

    >>> watermarks(FittedLag(0.9))
    ['2024-01-01T12:00:00Z', '2024-01-01T12:01:00Z', '2024-01-01T12:03:00Z']
    """

    q: float = field(validator=predicate_validator(is_quantile, QUANTILE))
    distribution: LagDistribution = field(
        default=LagDistribution.GAMMA,
        validator=predicate_validator(
            lambda value: isinstance(value, LagDistribution),
            "a LagDistribution, such as LagDistribution.GAMMA",
        ),
    )

    @property
    def keeps_moments(self) -> bool:  # noqa: D102
        return True

    def candidate(self, clock: SourceClock) -> int | None:
        """Returns the processing time minus the quantile of the fitted distribution."""
        lag = clock.moments.quantile(self.q, self.distribution, self.resolution_micros)
        return None if lag is None else clock.processing_time - lag

    @property
    def description(self) -> str:  # noqa: D102
        return (
            f"the processing time, minus the {self.q} quantile of a {self.distribution.value} distribution fitted to "
            f"the lags of the last {self.recent}"
        )


@frozen
class IngressTime(WatermarkPolicy):
    """The processing time: perfect if the event time of each element is its arrival time (Watermarks, section 2)."""

    def candidate(self, clock: SourceClock) -> int:
        """Returns the processing time."""
        return clock.processing_time

    @property
    def description(self) -> str:  # noqa: D102
        return "the processing time"
