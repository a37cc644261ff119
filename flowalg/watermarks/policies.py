"""The built-in watermark policies (SEMANTICS section 9; *Watermarks in Stream Processing Systems*, section 2)."""

from __future__ import annotations

from datetime import timedelta

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.options import QUANTILE, duration, is_quantile, satisfying
from flowalg.watermarks.policy import WatermarkPolicy


@frozen
class Perfect(WatermarkPolicy):
    """What the source itself knows to be complete: no event before it is still to come.

    A timeline that is made from records knows them all. An engine whose source says nothing keeps the watermark where
    it is until the input ends. Law: no element is ever late.
    """

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """The latest that the source has said."""
        return clock.known

    @property
    def meaning(self) -> str:  # noqa: D102
        return "what the source knows to be complete"


@frozen
class MonotonicTimestamps(WatermarkPolicy):
    """The event time that every partition has reached, for partitions that are each in order of event time.

    Conformant when they are, and when all partitions have shown a record before the watermark first matters:
    one that shows up later is not waited for.
    """

    def candidate(self, clock: SourceClock) -> EventTime | None:
        """The least, over the partitions, of the greatest event time seen there."""
        return clock.reached(self.idle_micros)

    @property
    def meaning(self) -> str:  # noqa: D102
        return "the greatest event time seen in every partition"


@frozen
class BoundedOutOfOrderness(WatermarkPolicy):
    """The greatest event time seen, less a delay: no element is expected to be later than that behind others.

    Of several partitions the one that is furthest behind counts. Heuristic: an element that is later is late, and
    treated as ``allowed_lateness`` says.
    """

    delay: timedelta = field(validator=duration(allow_zero=True))

    @property
    def delay_micros(self) -> Micros:
        """The delay in microseconds."""
        return self.delay // timedelta(microseconds=1)

    def candidate(self, clock: SourceClock) -> int | None:
        """What every partition has reached, less the delay."""
        reached = clock.reached(self.idle_micros)
        return None if reached is None else reached - self.delay_micros

    @property
    def meaning(self) -> str:  # noqa: D102
        return f"the greatest event time seen, less {self.delay}"


@frozen
class Timeout(WatermarkPolicy):
    """The processing time, less a delay: an element is waited for that long by the clock, and no longer.

    Heuristic. It moves on without any data, as long as there are instants (``Timeline.from_records(..., tick=...)``).
    """

    delay: timedelta = field(validator=duration(allow_zero=True))

    def candidate(self, clock: SourceClock) -> int:
        """The processing time, less the delay."""
        return clock.processing_time - self.delay // timedelta(microseconds=1)

    @property
    def meaning(self) -> str:  # noqa: D102
        return f"the processing time, less {self.delay}"


@frozen
class LagQuantile(WatermarkPolicy):
    """The processing time, less the lag that a share ``q`` of the recent records did not exceed.

    ``q`` lies strictly between 0 and 1: at 0.99 about one record in a hundred is late. A ``Timeout`` whose delay is
    learnt. Heuristic; nothing is known before the first record.
    """

    q: float = field(validator=satisfying(is_quantile, QUANTILE))

    @property
    def keeps_lags(self) -> bool:  # noqa: D102
        return True

    def candidate(self, clock: SourceClock) -> int | None:
        """The processing time, less the quantile."""
        lag = clock.lags.quantile(self.q)
        return None if lag is None else clock.processing_time - lag

    @property
    def meaning(self) -> str:  # noqa: D102
        return f"the processing time, less the {self.q} quantile of the lags of the last {self.recent}"


@frozen
class IngressTime(WatermarkPolicy):
    """The processing time itself: perfect where an element's event time is when it arrives (WM, section 2)."""

    def candidate(self, clock: SourceClock) -> int:
        """The processing time."""
        return clock.processing_time

    @property
    def meaning(self) -> str:  # noqa: D102
        return "the processing time"


__all__ = ["BoundedOutOfOrderness", "IngressTime", "LagQuantile", "MonotonicTimestamps", "Perfect", "Timeout"]
