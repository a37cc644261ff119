"""What the guide promises of results, at its edges: where a page says "never" or "the same", and where not.

The tests catch a page that promises more than the engines do, and an engine that does less than the page says.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming, streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    KV,
    Accumulation,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Interpreter,
    Max,
    PCollection,
    Source,
    Sum,
    Timeline,
)
from flowalg.windows import TimestampCombiner
from tests.support.scores import NOON, POINTS, SCORES, Score

STREAMS = pytest.mark.parametrize("stream", [Reference(), PolarsStreaming()], ids=["reference", "local"])
BATCHES = (ReferenceBatch(), PolarsBatch())
MINUTE = timedelta(minutes=1)
NONE = timedelta(0)


def at(minutes: float, points: int = 1) -> Score:
    """Returns a score of one team."""
    return Score("a", points, NOON + minutes * MINUTE)


@STREAMS
@pytest.mark.parametrize("together", [True, False])
def test_a_copy_with_a_later_event_time_is_new_once_its_id_is_forgotten(
    stream: Interpreter, together: bool
) -> None:
    """A batch forgets an id in order of event time; a stream does when its watermark passes (computations.md)."""
    once = SCORES.deduplicate(by=lambda score: score.team, within=5 * MINUTE)
    first, later = at(0, 1), at(11, 2)
    instants = Timeline[Score]()
    if together:
        instants = instants.at(NOON + 20 * MINUTE, first, later, watermark=NOON + 11 * MINUTE)
    else:
        instants = instants.at(NOON + 20 * MINUTE, first, watermark=NOON + 5 * MINUTE)
        instants = instants.at(NOON + 21 * MINUTE, later, watermark=NOON + 11 * MINUTE)
    inputs = {SCORES: instants.end(NOON + 30 * MINUTE)}
    points = [element.element.points for element in stream.run(once, inputs).elements]
    assert points == ([1] if together else [1, 2])
    for batch in BATCHES:
        assert [element.element.points for element in batch.run(once, inputs).elements] == [1, 2]


@STREAMS
@pytest.mark.parametrize("combiner", TimestampCombiner)
def test_an_on_time_pane_is_late_only_with_the_time_of_a_late_element(
    stream: Interpreter, combiner: TimestampCombiner
) -> None:
    """An element behind the watermark in an open window: a pane with its event time is late, another is not."""
    minutes = FixedWindows(MINUTE)
    counts = POINTS.window(
        FixedWindows(10 * MINUTE), allowed_lateness=NONE, timestamp_combiner=combiner
    ).combine_per_key(Count())
    again = counts.window(minutes, allowed_lateness=NONE).combine_per_key(Count())
    for ahead, dropped in ((1, 0), (5, combiner is not TimestampCombiner.END_OF_WINDOW)):
        timeline = (
            Timeline[Score]()
            .at(NOON + 20 * MINUTE, watermark=NOON + ahead * MINUTE)
            .at(NOON + 21 * MINUTE, at(2), watermark=NOON + 6 * MINUTE)
            .end(NOON + 22 * MINUTE)
        )
        run = stream.run(again, {SCORES: timeline})
        assert (len(run.dropped), len(run.panes)) == (dropped, 1 - dropped)


@pytest.mark.parametrize("fails", ["source", "function"])
def test_a_bad_record_advances_the_watermark_if_its_source_accepts_it(fails: str) -> None:
    """One that fails in a function advances it as one does that a filter drops, and one of the source does not."""
    inverse = SCORES.key_by(lambda score: score.team).map_values(lambda score: 1 // score.points)
    counts = inverse.window(FixedWindows(MINUTE), allowed_lateness=NONE).combine_per_key(Count())
    schema = pl.Schema({"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")})
    later = (None if fails == "source" else "a", 0, NOON + 60 * MINUTE)
    frames = [
        pl.DataFrame([row], schema, orient="row")
        for row in (("a", 1, NOON), later, ("a", 1, NOON + MINUTE / 2))
    ]
    stream = StreamInput(Frames(frames), BoundedOutOfOrderness(NONE))
    batches = list(streaming.batches(counts, {SCORES: stream}, dead_letters=True))
    assert sum(len(batch.bad_records) for batch in batches) == 1
    assert sum(len(batch.dropped) for batch in batches) == (fails == "function")
    assert [pane.value for batch in batches for pane in batch.panes] == [1 if fails == "function" else 2]


@pytest.mark.parametrize(
    ("step", "continues"),
    [
        (lambda sums: sums.map(lambda pair: pair.value), True),
        (lambda sums: sums.filter(lambda pair: pair.value > 3), False),
    ],
    ids=["map", "filter"],
)
def test_a_step_after_the_last_grouping_continues_unless_it_changes_the_unset_mode(
    tmp_path: Path, step: Callable[[PCollection[KV[str, int]]], PCollection[object]], continues: bool
) -> None:
    """A first filter makes an unset mode retracting, which the state is not; with the old mode it goes on."""
    windowed = POINTS.window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    rows = pl.DataFrame([{"team": "a", "points": 1, "at": NOON}])
    inputs = {SCORES: StreamInput(Frames([rows]), BoundedOutOfOrderness(NONE))}
    list(streaming.batches(windowed.combine_per_key(Sum()), inputs, checkpoint=tmp_path / "checkpoint"))
    changed = step(windowed.combine_per_key(Sum()))
    assert streaming.plan(changed, tmp_path / "checkpoint").accepted is continues
    kept = windowed.window(
        FixedWindows(MINUTE), allowed_lateness=MINUTE, accumulation=Accumulation.ACCUMULATING
    )
    assert streaming.plan(step(kept.combine_per_key(Sum())), tmp_path / "checkpoint").accepted


PRICES = Source("prices", Score, event_time=lambda score: score.at)


@STREAMS
@pytest.mark.parametrize("late", [True, False])
def test_a_backfill_reads_what_the_stream_has_read_unless_an_update_was_late(
    stream: Interpreter, late: bool
) -> None:
    """An update that comes too late is dropped and counted by the stream, and the batch has it (side-inputs.md)."""
    by_team = PRICES.key_by(lambda price: price.team).map_values(lambda price: price.points)
    valid = (
        by_team.window(FixedWindows(MINUTE), allowed_lateness=NONE)
        .combine_per_key(Max())
        .as_map()
        .latest_complete()
    )
    read = SCORES.map_with(valid, lambda score, prices: prices.get(score.team, 0))
    prices = (
        Timeline[Score]()
        .at(NOON + 20 * MINUTE, at(0, 10), watermark=NOON + (8 if late else 1) * MINUTE)
        .at(NOON + 21 * MINUTE, at(2, 20), watermark=NOON + 8 * MINUTE)
        .end(NOON + 30 * MINUTE)
    )
    scores = Timeline[Score]().at(NOON + 22 * MINUTE, at(5), watermark=NOON + 6 * MINUTE)
    inputs = {SCORES: scores.end(NOON + 30 * MINUTE), PRICES: prices}
    run = stream.run(read, inputs)
    assert [element.element for element in run.elements] == [10 if late else 20]
    assert len(run.dropped) == late
    for batch in BATCHES:
        assert [element.element for element in batch.run(read, inputs).elements] == [20]
