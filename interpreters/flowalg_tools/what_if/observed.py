"""Records in the instants in which they are observed, as in ``Timeline.from_records``."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME
from numpy.typing import NDArray

from flowalg.data.time import Micros
from flowalg.runs.division import Division
from flowalg_tools.what_if.recorded_delays import RecordedDelays

INSTANT: Final = "__instant"
"""The column with the number of the instant in which a record is observed, from 0."""

LONGEST: Final = 2**62
"""Longer durations are clipped to this: no two times are as far apart, and sums with it fit into 64 bits."""

Integers = NDArray[np.int64]


@frozen(eq=False)
class ObservedRecords:
    """Records with the numbers of their instants, in order, and the processing time of each instant.

    With ``ends`` there is one more instant, the end of the input, at the processing time of the last one.
    """

    rows: pl.DataFrame
    times: Integers
    ends: bool

    @classmethod
    def of(
        cls, records: RecordedDelays, *, every: timedelta, tick: timedelta | None, ends: bool
    ) -> ObservedRecords:
        """Returns the records of each period of processing time in one instant; with ``tick`` also empty instants.

        ``every``, ``tick`` and ``ends`` are those of ``Timeline.from_records``. Law: the instants have the same
        processing times and records. Raises ``ArgumentError`` for durations that are not positive.
        """
        division = Division(every, tick=tick, ends=False)
        rows = records.frame.sort(PROCESSING_TIME)
        slot = pl.col(PROCESSING_TIME).floordiv(min(division.period, LONGEST))
        busy = rows.group_by(slot.alias("slot"), maintain_order=True).agg(
            pl.col(PROCESSING_TIME).max(), pl.len().alias("count")
        )
        instants = list(division.instants(busy.select("slot", PROCESSING_TIME).iter_rows()))
        times = np.array([instant.processing_time for instant in instants])
        numbers = [number for number, instant in enumerate(instants) if instant.key is not None]
        number = pl.Series(INSTANT, np.repeat(numbers, busy["count"]), dtype=pl.Int64())
        return cls(rows.with_columns(number), times, ends)

    @property
    def clock(self) -> Integers:
        """The processing time of each instant, including the end of the input."""
        return np.append(self.times, self.times[-1]) if self.ends else self.times

    def rows_for_clocks(self, max_ahead: Micros | None) -> pl.DataFrame:
        """Returns the rows whose event time counts for the clocks (``WatermarkPolicy.max_ahead``)."""
        if max_ahead is None:
            return self.rows
        ahead = pl.col(EVENT_TIME) - pl.col(PROCESSING_TIME)
        return self.rows.filter(ahead <= min(max_ahead, LONGEST))
