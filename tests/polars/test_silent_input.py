"""Silent input: time passes without data in a query that follows its sources (SEMANTICS section 4)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import polars as pl
import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, StreamInput, query
from flowalg_polars.streaming.options import Options

from flowalg import (
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    PCollection,
    Sum,
)
from flowalg.computations import Clocks, Observed, ProcessingTimer, Timer, Transition
from flowalg.triggers import AfterDelay, Trigger
from flowalg.watermarks import ProcessingTimeLag, WatermarkPolicy
from tests.support.scores import POINTS, SCORES

MILLISECOND = timedelta(milliseconds=1)
MINUTE = timedelta(minutes=1)
BY_EVENTS = BoundedOutOfOrderness(MINUTE)


def start_timer(number: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, str]:
    """Sets a timer of processing time."""
    return Transition(number + 1, set=[ProcessingTimer("late", clocks.processing_time + MILLISECOND)])


def time_out(number: int, timer: Timer, clocks: Clocks) -> Transition[int, str]:
    """Emits that nothing has come."""
    return Transition(None, emit=["timed out"])


def sums(trigger: Trigger | None = None) -> PCollection[object]:
    """Returns sums of short windows, with early panes after a millisecond unless there is a trigger."""
    early = AtWatermark().with_early_firings(AfterDelay(MILLISECOND)) if trigger is None else trigger
    return POINTS.window(
        FixedWindows(50 * MILLISECOND), trigger=early, allowed_lateness=MINUTE
    ).combine_per_key(Sum())


SILENT: dict[str, tuple[PCollection[object], WatermarkPolicy]] = {
    "trigger": (sums(), BY_EVENTS),
    "policy": (sums(AtWatermark().repeat()), ProcessingTimeLag(10 * MINUTE + 500 * MILLISECOND)),
    "timer": (POINTS.process(Computation(initial=0, on_element=start_timer, on_timer=time_out)), BY_EVENTS),
}


EMITTED = {"trigger": 1, "policy": 1, "timer": "timed out"}


def written(folder: Path, at: datetime) -> Path:
    """Returns a folder with one record."""
    folder.mkdir()
    pl.DataFrame([{"team": "a", "points": 1, "at": at}]).write_parquet(folder / "1.parquet")
    return folder


@pytest.mark.parametrize("name", SILENT)
def test_what_waits_for_processing_time_is_emitted_without_data(name: str, tmp_path: Path) -> None:
    """Triggers, policies and timers advance while nothing arrives, in every query that follows its sources."""
    pipeline, policy = SILENT[name]
    folder = written(tmp_path / "in", datetime.now(UTC) - 10 * MINUTE)
    stream = StreamInput(Files(folder), policy)
    batches = streaming.batches(pipeline, {SCORES: stream}, follow=True, tick=10 * MILLISECOND)
    batch = next(batch for batch in batches if batch.rows.height)
    assert [pair[1] for pair in batch.rows.select("key", "value").iter_rows()] == [EMITTED[name]]
    batches.close()


@pytest.mark.parametrize("name", SILENT)
def test_ticks_follow_from_the_pipeline(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A query ticks if it follows, something waits, and neither the user, who is warned, nor the records forbid it."""
    pipeline, policy = SILENT[name]
    streams = {"scores": StreamInput("folder", policy)}
    carried = {"scores": StreamInput("folder", policy, processing_time="seen")}
    roots = [pipeline.node]
    assert Options(follow=True).ticks(roots, streams)
    assert not Options().ticks(roots, streams)
    assert not Options(follow=True, tick=None).ticks(roots, streams)
    assert not Options(follow=True, tick=None).ticks(roots, carried)
    assert not Options(follow=True).ticks(roots, carried)
    waiting_for_data = [sums(AtWatermark().repeat()).node]
    for tick in (MILLISECOND, None):
        options = Options(follow=True, tick=tick)
        assert not options.ticks(waiting_for_data, {"scores": StreamInput("folder", BY_EVENTS)})
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(
        "ticks are off, so without data no time passes for what waits for processing time: "
    )


class JumpingClock(datetime):
    """A clock that has read times an hour ahead, and then goes on from now, a millisecond a reading."""

    readings: Iterator[timedelta]

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> JumpingClock:
        """Returns the next reading."""
        return cls(2024, 1, 1, 12, tzinfo=UTC) + next(cls.readings)


def test_a_clock_that_goes_forward_and_back_does_not_stop_triggers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A trigger that waits for ten milliseconds fires after twenty by the clock, not after an hour, with a warning."""
    ahead = 3
    JumpingClock.readings = iter(
        [60 * MINUTE + number * MILLISECOND for number in range(ahead)]
        + [number * MILLISECOND for number in range(500)]
    )
    monkeypatch.setattr(query, "datetime", JumpingClock)
    folder = written(tmp_path / "in", datetime(2024, 1, 1, 12, tzinfo=UTC))
    stream = StreamInput(Files(folder), BY_EVENTS)
    pipeline = sums(AtPeriod(10 * MILLISECOND).repeat())
    options = {"follow": True, "tick": MILLISECOND, "interval": MILLISECOND}
    with caplog.at_level(logging.WARNING, "flowalg.streaming"):
        batches = streaming.batches(pipeline, {SCORES: stream}, **options)  # type: ignore[call-overload]
        batch = next(batch for batch in batches if batch.rows.height)
        batches.close()
    assert batch.processing_time.datetime < datetime(2024, 1, 1, 13, 0, 1, tzinfo=UTC)
    assert sum("has gone back" in record.message for record in caplog.records) == 1
