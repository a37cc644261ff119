"""The clock of Spark's micro-batches, which is the driver's: what a shard makes of one that jumps, without Spark.

Spark logs the time of a micro-batch before it runs, so a repeated one has the same reading. These tests catch a stage
whose time goes back, stands still, or differs from that of the local engine.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

import pytest
from flowalg_shard import FromSource, OperatorState
from flowalg_shard.clocks.exchange import InputClocks, advance_clocks
from flowalg_shard.clocks.steady_clock import SteadyClock
from flowalg_spark.streaming.processor import read_clock
from hypothesis import given
from hypothesis import strategies as st

from flowalg import BoundedOutOfOrderness
from flowalg.data.time import ProcessingTime

SECOND = 1_000_000
SOURCE = FromSource(BoundedOutOfOrderness(timedelta(0)), "scores", at_batch_time=True)


def times_of_a_shard(readings: list[ProcessingTime]) -> list[ProcessingTime]:
    """Returns the processing times of a shard after micro-batches without data at some readings of a clock."""
    stored: OperatorState | None = None
    times = []
    for reading in readings:
        clock = read_clock(stored, reading, warns=True)
        before = (InputClocks.initial([SOURCE]),) if stored is None else stored.input_clocks
        after = advance_clocks(((SOURCE,),), before, [{}], clock=clock)
        stored = OperatorState(after)
        times.append(after[0].clocks.processing_time)
    return times


@given(st.lists(st.integers(0, 10_000 * SECOND).map(ProcessingTime), min_size=1))
def test_a_shard_has_the_time_of_the_local_engine(readings: list[ProcessingTime]) -> None:
    """Law: after any readings the time is that of ``SteadyClock``, by which the local engine goes, with its bound."""
    first, *others = readings
    steady = accumulate(others, SteadyClock.read, initial=SteadyClock(first, first))
    assert times_of_a_shard(readings) == [clock.time for clock in steady]


def test_a_clock_that_jumps_forward_and_back_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """After a jump of an hour, a second of the clock is half a second of processing time, and one warning says so."""
    readings = [0, 3600, 1, 2, 3, 4, 5]
    times = times_of_a_shard([ProcessingTime(reading * SECOND) for reading in readings])
    assert [time / SECOND for time in times] == [0, 3600, 3600, 3600.5, 3601, 3601.5, 3602]
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "the clock of this machine has gone back" in warning
