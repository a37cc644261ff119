"""The window store: a step over the active windows has the result of a step over all windows.

The tests catch faults of dormancy and of the log of segments. They cannot catch faults of how an engine stores
segments; ``tests/spark/test_state_cache.py`` does.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import polars as pl
import pytest
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_polars import PolarsStreaming
from flowalg_shard import (
    Grouping,
    InputClocks,
    OperatorState,
    precombine,
    step,
)
from flowalg_shard.clocks.exchange import StageReport
from flowalg_shard.state import window_store
from flowalg_shard.state.dormancy import NEXT_TIME, NEXT_WATERMARK
from flowalg_shard.state.window_store import KEY_HASH, Segment, WindowStore, hash_rows
from flowalg_shard.step.panes import HOLD
from flowalg_shard.step.shard_state import RANK, Emission
from flowalg_shard.tables.columns import POSITION, SHARD
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import FOREVER, Accumulation, AtCount, AtWatermark, FixedWindows, Repeat, Sum, Timeline
from flowalg.data.time import MIN_TIME, EventTime, processing_time
from flowalg.runs.clocks import Clocks
from flowalg.triggers import AfterDelay, Always, Trigger
from tests.shard.test_step import rows_of, stage_of
from tests.support.step_pairs import Pair, correction_pairs, pairs

Rows = list[tuple[object, ...]]

original = Grouping.step


def sorted_rows(table: pl.DataFrame) -> Rows:
    """Returns the rows in a fixed order, without the columns of dormancy and those that only order rows."""
    own = table.drop(KEY_HASH, NEXT_WATERMARK, NEXT_TIME, HOLD, RANK, POSITION, strict=False)
    return sorted(own.select(sorted(own.columns)).rows(), key=repr)


def step_and_compare(
    self: Grouping,
    state: OperatorState,
    input_clocks: tuple[InputClocks, ...],
    bundles: list[pl.DataFrame],
) -> tuple[OperatorState, Emission, StageReport]:
    """Advances a grouping by an instant, and compares the result with a step over all windows."""
    after, output, report = original(self, state, input_clocks, bundles)
    (before,), (now,) = state.input_clocks, input_clocks
    everything = state.windows.activate_all().shard_state(before.clocks.watermark)
    expected, emission = step(self.stage, everything, bundles, now.clocks)
    actual = after.windows.activate_all()
    assert sorted_rows(output.panes) == sorted_rows(emission.panes)
    assert sorted_rows(output.drops) == sorted_rows(emission.drops)
    assert report.hold == emission.hold
    assert sorted_rows(actual.windows) == sorted_rows(expected.windows)
    assert sorted_rows(actual.current_panes) == sorted_rows(expected.current_panes)
    return after, output, report


@pytest.mark.long
@settings(max_examples=2 * settings().max_examples)
@given(pairs() | correction_pairs(), st.sampled_from((0, window_store.WHOLE)))
def test_a_step_over_the_active_windows_equals_a_step_over_all(pair: Pair, whole: int) -> None:
    """A step may leave dormant windows out: panes, drops, hold and state are the same in every instant.

    That is so whether small segments are taken out whole, or their windows are always looked up.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_store, "WHOLE", whole)
        patch.setattr(Grouping, "step", step_and_compare)
        assert pair.difference() == ""


def active_counts(timeline: Timeline[Reading]) -> list[int]:
    """Returns the number of windows that each instant of a grouping with early and late panes evaluates."""
    counts = []

    def step_and_count(
        self: Grouping,
        state: OperatorState,
        input_clocks: tuple[InputClocks, ...],
        bundles: list[pl.DataFrame],
    ) -> tuple[OperatorState, Emission, StageReport]:
        counts.append(state.windows.activate(self.stage, bundles, input_clocks[0].clocks).windows.height)
        return original(self, state, input_clocks, bundles)

    pipeline = VALUES.window(
        FixedWindows(timedelta(minutes=10)),
        trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
        allowed_lateness=timedelta(hours=1),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grouping, "step", step_and_count)
        PolarsStreaming().run(pipeline, {READINGS: timeline})
    return counts


def test_an_instant_evaluates_windows_with_elements_and_due_windows() -> None:
    """Of forty windows an instant evaluates those with new elements; all are due at their end and at expiry."""
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
    assert active_counts(timeline) == [0, 1, 0, 0, 40, 1, 0, 40, 0]


def test_a_window_without_changes_is_dormant() -> None:
    """A trigger that is always ready keeps a window active only while the window has unemitted changes."""
    always = Repeat(AtCount(1))
    timeline = Timeline[Reading]().at(point(0), Reading("a", 1, point(1), point(0))).at(point(1)).at(point(2))
    panes = (
        PolarsStreaming()
        .run(
            VALUES.window(FixedWindows(timedelta(minutes=10)), trigger=always).combine_per_key(Sum()),
            {READINGS: timeline},
        )
        .panes
    )
    assert [pane.value for pane in panes] == [1]


MINUTES = timedelta(minutes=1)
TEN = FixedWindows(10 * MINUTES)


def element(time: int) -> Reading:
    """Returns an element of the first window that arrives at a time."""
    return Reading("a", 1, point(1), point(time))


@pytest.mark.parametrize(
    ("trigger", "timeline", "expected"),
    [
        pytest.param(
            AtCount(1) >> Always() >> Repeat(AtCount(2)),
            Timeline[Reading]().at(point(0), element(0)).at(point(1)).at(point(2), element(2)),
            [(1, 0)],
            id="a trigger that moves on without elements",
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
    """A dormant window is evaluated when it is due: its panes have the values and times of the reference."""
    pipeline = VALUES.window(TEN, trigger=trigger, allowed_lateness=FOREVER).combine_per_key(Sum())
    for panes in (
        PolarsStreaming().run(pipeline, {READINGS: timeline}).panes,
        reference.run(pipeline, {READINGS: timeline}).panes,
    ):
        times = [(pane.info.processing_time - processing_time(point(0))) // (60 * 10**6) for pane in panes]
        assert list(zip([pane.value for pane in panes], times, strict=True)) == expected


def restored_counts(lateness: timedelta, timeline: Timeline[Reading]) -> list[tuple[int, int]]:
    """Restores the store after each instant, which must not change it; returns its numbers of windows and segments."""
    stage = stage_of(VALUES.window(TEN, allowed_lateness=lateness))
    store, counts = WindowStore(), []
    before = Clocks(processing_time(point(0)), MIN_TIME)
    for instant in timeline:
        clocks = Clocks(instant.processing_time, EventTime(instant.watermark))
        arrived = [
            precombine(stage, rows_of(instant, instant.elements, 1)).drop(SHARD, strict=False)
            for _ in range(1 if instant.elements else 0)
        ]
        active = store.activate(stage, arrived, clocks)
        after, _ = step(stage, active.shard_state(before.watermark), arrived, clocks)
        store, before = active.put_back(stage, after, clocks), clocks
        segments = {segment.name: Segment.restore(segment.name, segment.packed) for segment in store.segments}
        restored = WindowStore.restore(list(segments), segments.__getitem__)
        assert sorted_rows(restored.activate_all().windows) == sorted_rows(store.activate_all().windows)
        counts.append((store.window_count, len(store.parts)))
    return counts


def readings(first: int, number: int, minute: int) -> list[Reading]:
    """Returns an element for each of some keys, all at one event time."""
    return [Reading(chr(first + n), 1, point(minute), point(0)) for n in range(number)]


def test_a_restored_store_has_the_same_windows() -> None:
    """A store is restored with the same windows, also after the tombstone of an expired window was compacted.

    Twenty keys have a window in the oldest segment, and one key has a window that ends before theirs.
    """
    later = readings(200, 20, 25)
    timeline = (
        Timeline[Reading]()
        .at(point(0), Reading("a", 1, point(1), point(0)), *later)
        .at(point(1), watermark=point(10))
        .at(point(2), later[0])
        .at(point(3), later[1])
    )
    assert restored_counts(timedelta(0), timeline) == [(21, 1), (20, 2), (20, 2), (20, 2)]


def test_a_tombstone_is_kept_when_its_segment_is_compacted_with_a_newer_one() -> None:
    """An expired window of the oldest segment stays hidden, after a segment of windows that were due takes its hash.

    The second segment has ten windows and the tombstone. The third has windows of the oldest, which have fired, and is
    compacted with the second.
    """
    timeline = (
        Timeline[Reading]()
        .at(
            point(0),
            Reading("a", 1, point(1), point(0)),
            *readings(200, 15, 11),
            *readings(300, 100, 31),
        )
        .at(point(1), *readings(500, 10, 51), watermark=point(15))
        .at(point(2), watermark=point(20))
    )
    assert restored_counts(timedelta(minutes=5), timeline) == [(116, 1), (125, 2), (125, 2)]


def test_hashes_are_computed_again_when_a_segment_is_read() -> None:
    """A segment that was stored with other hashes, as by another version of Polars, hides what it has hidden."""
    keys = pl.DataFrame({"key": ["a", "b", "c"]})
    hashes = hash_rows(keys, ["key"])
    segment = Segment(("key",), keys.clear(), keys.clear(), keys.with_columns(hashes + 1))
    restored = Segment.restore(segment.name, segment.packed)
    assert restored.hashes.sort().equals(hashes.sort())
