"""What a shard remembers: an instant that looks at a few windows does what one does that looks at all of them.

This family catches faults of resting and of the log of segments. It cannot catch faults of how an engine stores
segments; ``test_kept_state.py`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import flowalg_reference as reference
import polars as pl
import pytest
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_shard import Clocks, Emitted, Grouping, InputClocks, Stored, precombine, step, unpack
from flowalg_shard.local import Cluster, run
from flowalg_shard.state.window_store import CLASS, Memory, Segment
from flowalg_shard.step.dormancy import NEXT_TIME, NEXT_WATERMARK
from flowalg_shard.step.panes import HOLD
from flowalg_shard.step.shard_state import RANK
from flowalg_shard.tables.columns import POSITION, SHARD
from hypothesis import given, settings

from flowalg import (
    FOREVER,
    Accumulation,
    AfterDelay,
    Always,
    AtCount,
    AtWatermark,
    FixedWindows,
    Repeat,
    Sum,
    Timeline,
    Trigger,
)
from flowalg.data.time import MIN_TIME, EventTime, processing_time
from tests.shard.test_step import rows_of, stage_of
from tests.support.step_pairs import Pair, corrected, pairs

Rows = list[tuple[object, ...]]

plainly = Grouping.instant


def bag(table: pl.DataFrame) -> Rows:
    """The rows in an order of their own, without what only resting needs and numbers that only say an order."""
    own = table.drop(CLASS, NEXT_WATERMARK, NEXT_TIME, HOLD, RANK, POSITION, strict=False)
    return sorted(own.select(sorted(own.columns)).rows(), key=repr)


def beside_the_whole(
    self: Grouping,
    stored: Stored,
    heard: tuple[InputClocks, ...],
    bundles: Sequence[Sequence[bytes]],
    *,
    first: bool,
) -> tuple[Stored, Emitted]:
    """An instant of a grouping, held to a step over all windows."""
    after, emitted = plainly(self, stored, heard, bundles, first=first)
    (before,), (now,), (arrived,) = stored.heard, heard, bundles
    whole = stored.memory.everything.state(before.clocks.watermark)
    state, emission = step(self.stage, whole, [unpack(one) for one in arrived], now.clocks)
    found = after.memory.everything
    assert bag(unpack(emitted.panes)) == bag(emission.panes)
    assert bag(unpack(emitted.drops)) == bag(emission.drops)
    assert emitted.report.hold == emission.hold
    assert bag(found.rows) == bag(state.windows)
    assert bag(found.standing) == bag(state.current_panes)
    return after, emitted


@settings(max_examples=200)
@given(pairs() | corrected())
def test_windows_that_rest_need_not_be_looked_at(pair: Pair) -> None:
    """The same panes, drops, hold, windows and standing panes in every instant, whatever the pipeline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grouping, "instant", beside_the_whole)
        assert pair.difference() == ""


def looked_at(timeline: Timeline[Reading]) -> list[int]:
    """How many windows each instant of a grouping with early and late panes looks at."""
    counts = []

    def counting(
        self: Grouping,
        stored: Stored,
        heard: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first: bool,
    ) -> tuple[Stored, Emitted]:
        awake = stored.memory.awake(self.stage, [unpack(one) for one in bundles[0]], heard[0].clocks)
        counts.append(awake.rows.height)
        return plainly(self, stored, heard, bundles, first=first)

    pipeline = VALUES.window(
        FixedWindows(timedelta(minutes=10)),
        trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
        allowed_lateness=timedelta(hours=1),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grouping, "instant", counting)
        run(pipeline, {READINGS: timeline}, cluster=Cluster())
    return counts


def test_an_instant_looks_at_what_it_touches_and_at_what_is_due() -> None:
    """Forty keys have a window each. One of them gets an element; then all windows end, and then they expire."""
    many = [Reading(f"k{number}", 1, point(1), point(0)) for number in range(40)]
    timeline = (
        Timeline[Reading]()
        .at(point(0), *many)
        .at(point(1), many[0])
        .at(point(2))
        .at(point(3), watermark=point(5))
        .at(point(4), watermark=point(10))
        .at(point(5), many[1], watermark=point(11))
        .at(point(6), watermark=point(69))
        .at(point(7), watermark=point(70))
        .at(point(8), watermark=point(80))
    )
    assert looked_at(timeline) == [0, 1, 0, 0, 40, 1, 0, 40, 0]


def test_a_trigger_that_fires_at_every_look_lets_no_window_rest_that_is_new() -> None:
    """But one whose window has nothing new does."""
    always = Repeat(AtCount(1))
    timeline = Timeline[Reading]().at(point(0), Reading("a", 1, point(1), point(0))).at(point(1)).at(point(2))
    panes = run(
        VALUES.window(FixedWindows(timedelta(minutes=10)), trigger=always).combine_per_key(Sum()),
        {READINGS: timeline},
    ).panes
    assert [one.value for one in panes] == [1]


MINUTES = timedelta(minutes=1)
TEN = FixedWindows(10 * MINUTES)


def element(time: int) -> Reading:
    """An element of the first window that arrives at a time."""
    return Reading("a", 1, point(1), point(time))


@pytest.mark.parametrize(
    ("trigger", "timeline", "expected"),
    [
        pytest.param(
            AtCount(1) >> Always() >> Repeat(AtCount(2)),
            Timeline[Reading]().at(point(0), element(0)).at(point(1)).at(point(2), element(2)),
            [(1, 0)],
            id="a trigger that moves on without news",
        ),
        pytest.param(
            AtWatermark(0.5),
            Timeline[Reading]().at(point(0), element(0)).at(point(1), percentiles={0.5: point(10)}),
            [(1, 1)],
            id="a percentile watermark",
        ),
        pytest.param(
            Repeat(AfterDelay(2 * MINUTES)),
            Timeline[Reading]().at(point(0), element(0)).at(point(2)).at(point(3)),
            [(1, 2)],
            id="a deadline that is met exactly",
        ),
    ],
)
def test_a_dormant_window_is_evaluated_when_it_is_due(
    trigger: Trigger, timeline: Timeline[Reading], expected: list[tuple[int, int]]
) -> None:
    """Its panes have the values, and come in the minutes, that they have in the reference."""
    pipeline = VALUES.window(TEN, trigger=trigger, allowed_lateness=FOREVER).combine_per_key(Sum())
    for found in (
        run(pipeline, {READINGS: timeline}).panes,
        reference.run(pipeline, {READINGS: timeline}).panes,
    ):
        times = [(pane.info.processing_time - processing_time(point(0))) // (60 * 10**6) for pane in found]
        assert list(zip([pane.value for pane in found], times, strict=True)) == expected


def test_a_restored_memory_has_the_windows_that_it_had() -> None:
    """Also where a window that has expired was hidden in an old segment by one that was merged since.

    Twenty keys have a window in the oldest segment, and one a window that ends before theirs.
    """
    stage = stage_of(VALUES.window(TEN, allowed_lateness=timedelta(0)))
    early, later = (
        Reading("a", 1, point(1), point(0)),
        [Reading(chr(200 + n), 1, point(25), point(0)) for n in range(20)],
    )
    timeline = (
        Timeline[Reading]()
        .at(point(0), early, *later)
        .at(point(1), watermark=point(10))
        .at(point(2), later[0])
        .at(point(3), later[1])
    )
    memory, counts = Memory(), []
    before = Clocks(processing_time(point(0)), MIN_TIME)
    for instant in timeline:
        clocks = Clocks(instant.processing_time, EventTime(instant.watermark))
        arrived = [precombine(stage, rows_of(instant, instant.elements, 1)).drop(SHARD, strict=False)]
        awake = memory.awake(stage, arrived, clocks)
        after, _ = step(stage, awake.state(before.watermark), arrived, clocks)
        memory, before = awake.then(stage, after, clocks), clocks
        segments = {each.name: Segment.unpacked(each.name, each.packed) for each in memory.segments}
        restored = Memory.restored(list(segments), segments.__getitem__)
        assert bag(restored.everything.rows) == bag(memory.everything.rows)
        counts.append((memory.windows, len(memory.parts)))
    assert counts == [(21, 1), (20, 2), (20, 2), (20, 2)]
