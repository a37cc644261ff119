"""Alignment of sources: one that is too far ahead of the slowest is not read until the slowest has caught up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput
from hypothesis import given
from hypothesis import strategies as st

from flowalg import FOREVER, KV, BoundedOutOfOrderness, FixedWindows, Source, Sum, flatten
from flowalg.errors import ArgumentError
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)
OTHERS = Source("others", Score, event_time=lambda score: score.at)
TOTALS = (
    flatten(SCORES, OTHERS)
    .map(lambda score: KV(score.team, score.points))
    .window(FixedWindows(5 * MINUTE), allowed_lateness=FOREVER)
    .combine_per_key(Sum())
)


def stream(minutes: Sequence[int]) -> StreamInput:
    """Returns a stream whose micro-batches have one record each, at a minute after noon."""
    schema = {"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    rows = ({"team": ["a"], "points": [1], "at": [NOON + minute * MINUTE]} for minute in minutes)
    return StreamInput(
        Frames([pl.DataFrame(row, schema=schema) for row in rows]), BoundedOutOfOrderness(timedelta(0))
    )


def run(
    first: Sequence[int], second: Sequence[int], max_skew: timedelta | None
) -> list[MicroBatch[KV[str, int]]]:
    """Returns the micro-batches of a union of two streams."""
    inputs = {SCORES: stream(first), OTHERS: stream(second)}
    return list(streaming.batches(TOTALS, inputs, metrics=True, max_skew=max_skew))


MINUTES = st.lists(st.integers(0, 60), min_size=1, max_size=8)


@given(MINUTES, MINUTES, st.integers(0, 20))
def test_no_source_is_read_that_is_too_far_ahead(first: list[int], second: list[int], minutes: int) -> None:
    """A source that is read is at most ``max_skew`` ahead of each other one that has more, and all data are read."""
    batches = run(first, second, minutes * MINUTE)
    remaining = {"scores": len(first), "others": len(second)}
    before = dict.fromkeys(remaining)
    for batch in batches:
        read = {source.source for source in batch.sources if source.elements}
        for name in read:
            for other, watermark in before.items():
                own = before[name]
                if remaining[other] and own is not None:
                    assert watermark is not None
                    assert own - watermark <= minutes * 60_000_000
        for source in batch.sources:
            remaining[source.source] -= source.elements
            if source.elements:
                before[source.source] = max(before[source.source] or source.watermark, source.watermark)
    assert remaining == {"scores": 0, "others": 0}
    finals = [
        sorted((pane.window, pane.value) for pane in latest.values())
        for latest in (
            {pane.window: pane for batch in micro_batches for pane in batch.panes}
            for micro_batches in (batches, run(first, second, None))
        )
    ]
    assert finals[0] == finals[1]


def test_a_source_waits_until_the_slowest_has_caught_up() -> None:
    """Without alignment both sources are read at once; with it, the one ahead is paused."""

    def elements(max_skew: timedelta | None) -> list[tuple[int, ...]]:
        return [
            tuple(source.elements for source in sorted(batch.sources, key=lambda source: source.source))
            for batch in run((0, 30, 40), (0, 10, 20, 35), max_skew)
        ]

    assert elements(None)[:4] == [(1, 1), (1, 1), (1, 1), (1, 0)]
    assert elements(15 * MINUTE)[:5] == [(1, 1), (1, 1), (1, 0), (1, 1), (0, 0)]


def test_a_skew_must_be_a_duration() -> None:
    """The error names the argument, the value and its type."""
    with pytest.raises(ArgumentError, match=r"max_skew must be .*timedelta.*; got 5 \(int\)"):
        run((1,), (1,), 5)  # type: ignore[arg-type]
