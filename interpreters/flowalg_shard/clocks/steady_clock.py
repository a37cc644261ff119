"""A processing time that never goes back and never stands still, whatever the machine's clock does."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from attrs import frozen

from flowalg.data.time import ProcessingTime

MOST_BEHIND: Final = timedelta(seconds=1)
"""If the machine's clock is further behind than this, a query logs a warning."""


@frozen
class SteadyClock:
    """The processing time after a reading of the machine's clock, and that reading.

    Processing time is the machine's clock. If that goes back, processing time goes on from where it was, at half the
    pace of the machine's clock, until that has caught up. So a delay takes at most twice as long (SEMANTICS section 4).
    """

    time: ProcessingTime
    reading: ProcessingTime | None = None

    def read(self, reading: ProcessingTime) -> SteadyClock:
        """Returns the clock after another reading."""
        if reading >= self.time:
            return SteadyClock(reading, reading)
        elapsed = 0 if self.reading is None else max(0, reading - self.reading)
        return SteadyClock(ProcessingTime(self.time + elapsed // 2), reading)

    @property
    def behind(self) -> timedelta:
        """How far the machine's clock is behind the processing time."""
        return timedelta(0) if self.reading is None else timedelta(microseconds=self.time - self.reading)

    def warning(self, before: SteadyClock) -> str | None:
        """Returns a warning if the machine's clock has gone back since ``before``; ``None`` if it has not."""
        if self.behind <= MOST_BEHIND or before.behind > MOST_BEHIND:
            return None
        return (
            f"the clock of this machine has gone back: it is {self.behind} behind the last micro-batch; until it has "
            "caught up, processing time advances at half its pace, so delays of triggers and timers take twice as long"
        )
