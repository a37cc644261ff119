"""What a shard remembers: an instant that looks at a few windows does what one does that looks at all of them.

This family catches faults of resting and of the log of segments. It cannot catch faults of how an engine stores
segments; ``test_kept_state.py`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_shard import Emitted, Grouping, InputClocks, Stored, step, unpack
from flowalg_shard.local import Cluster, run
from flowalg_shard.state.window_store import CLASS
from flowalg_shard.step.dormancy import NEXT_TIME, NEXT_WATERMARK
from flowalg_shard.step.panes import HOLD
from flowalg_shard.step.shard_state import RANK
from flowalg_shard.tables.columns import POSITION
from hypothesis import given, settings

from flowalg import Accumulation, AtCount, AtWatermark, FixedWindows, Repeat, Sum, Timeline
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
