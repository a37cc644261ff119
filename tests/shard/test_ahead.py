"""A watermark ahead of the clock: what an element from the future does is in the log, once."""

from __future__ import annotations

import logging
from datetime import timedelta

import polars as pl
import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_shard.clocks.ahead import warn_if_ahead
from hypothesis import given
from hypothesis import strategies as st

from flowalg import BoundedOutOfOrderness, Count, FixedWindows, ProcessingTime, Source, event_time
from flowalg.data.time import EventTime
from flowalg.watermarks import ClockSummary, SourceClock
from flowalg.watermarks.summaries import PartitionClock
from tests.support.scores import NOON, Score

MINUTE = timedelta(minutes=1)
MICROS = 60_000_000
POLICY = BoundedOutOfOrderness(MINUTE)
BOUNDED = BoundedOutOfOrderness(MINUTE, max_ahead=MINUTE)


def run(name: str, policy: BoundedOutOfOrderness, minutes: list[float]) -> int:
    """Runs a query over scores at event times, of which one is observed in each minute; returns the number of drops."""
    source = Source(name, Score, event_time=lambda score: score.at)
    counts = source.key_by(lambda score: score.team)
    windows = counts.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0)).combine_per_key(Count())
    frames = [
        pl.DataFrame([{"team": "red", "points": 1, "at": NOON + at * MINUTE, "seen": NOON + number * MINUTE}])
        for number, at in enumerate(minutes)
    ]
    stream = StreamInput(Frames(frames), policy, processing_time="seen")
    return sum(batch.dropped_count for batch in streaming.batches(windows, {source: stream}, shards=2))


def test_an_element_from_the_future_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A query of several shards and micro-batches logs one warning, which names the source, both times and a remedy."""
    with caplog.at_level(logging.WARNING, "flowalg.watermarks"):
        assert run("jumping", POLICY, [0, 1, 10_000, 3, 4]) > 0
    (warning,) = caplog.messages
    assert warning.startswith(
        "source 'jumping': the watermark 2024-01-08T10:39:00+00:00 is ahead of the processing time "
        "2024-01-01T12:02:00+00:00, because of an element or a published watermark from the future"
    )
    assert "max_ahead=timedelta(...)" in warning


def test_elements_of_the_present_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Clocks that differ by little, old elements, and elements further ahead than ``max_ahead`` say nothing."""
    with caplog.at_level(logging.WARNING, "flowalg.watermarks"):
        assert run("present", POLICY, [0, 1.5, 4, 3, 4]) == 0
        assert run("bounded", BOUNDED, [0, 1, 10_000, 3, 4]) == 0
    assert caplog.messages == []


class Counting(logging.Handler):
    """Counts what is logged."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Counts a message."""
        self.count += 1


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_a_warning_is_logged_when_the_watermark_gets_ahead(offsets: list[int]) -> None:
    """There is one warning for each time that the watermark gets more than a minute ahead of the clock."""
    clock, crossings, handler = POLICY.start(), 0, Counting()
    log = logging.getLogger("flowalg.watermarks")
    log.addHandler(handler)
    try:
        for number, offset in enumerate(offsets):
            now = ProcessingTime(event_time(NOON) + number * MICROS)
            partition = PartitionClock(EventTime(now + offset * MICROS), now)
            after = POLICY.advance(clock, ClockSummary({"": partition}, now), now)
            crossings += _is_ahead(after) and not _is_ahead(clock)
            warn_if_ahead(f"drawn {offsets}", POLICY, clock, after)
            clock = after
    finally:
        log.removeHandler(handler)
    assert handler.count == crossings


def _is_ahead(clock: SourceClock) -> bool:
    return clock.watermark - clock.processing_time > MICROS
