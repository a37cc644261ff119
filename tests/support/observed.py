"""A query of the local engine that is observed: early, on-time and late panes, drops, a bad record and two stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput

from flowalg import AtCount, AtWatermark, BoundedOutOfOrderness, FixedWindows, Max, Sum
from flowalg.runs.events import Observer
from tests.support.scores import NOON, SCORES

MINUTE: Final = timedelta(minutes=1)
HOSTILE: Final = "<img src=x onerror=\"document.title='run'\">"
"""A key that runs a script if it is read as HTML."""

TOTALS: Final = (
    SCORES.key_by(lambda score: score.team)
    .window(
        FixedWindows(2 * MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(1).repeat()).with_late_firings(AtCount(1).repeat()),
        allowed_lateness=3 * MINUTE,
    )
    .combine_per_key(Sum.of(lambda score: 60 // score.points))
)
BEST: Final = (
    TOTALS.map(lambda pair: pair.value)
    .window(FixedWindows(4 * MINUTE), allowed_lateness=3 * MINUTE)
    .combine_globally(Max())
)

Row = tuple[str, int, float, float]
"""A team, its points, and the minutes after noon at which it scored and was seen."""

BATCHES: Final[Sequence[Sequence[Row]]] = (
    (("red", 1, 0, 0.5), ("red", 2, 0.2, 0.5), (HOSTILE, 3, 1, 1.5)),
    (("blue", 4, 3, 3.5), ("red", 5, 1.5, 3.5), ("blue", 0, 3, 3.5)),
    (("red", 6, 1.8, 5), ("blue", 1, 4.5, 5)),
    (("red", 2, 12, 12.5), ("blue", 3, 0, 12.5)),
    (("red", 2, 0, 14), ("blue", 3, 13, 14)),
)


def _time(minutes: float) -> datetime:
    return NOON + minutes * MINUTE


def scores_stream(batches: Iterable[Sequence[Row]] = BATCHES, partition: str | None = None) -> StreamInput:
    """Returns micro-batches of scores as a stream, with a column of partitions if one is given."""
    schema = {"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    frames = [
        pl.DataFrame(
            [
                {"team": team, "points": points, "at": _time(at), "seen": _time(seen)}
                for team, points, at, seen in batch
            ],
            schema=schema | {"seen": pl.Datetime("us", "UTC")},
        )
        for batch in batches
    ]
    return StreamInput(
        Frames(frames), BoundedOutOfOrderness(MINUTE), processing_time="seen", partition=partition
    )


def run_observed(
    *observers: Observer, checkpoint: Path | None = None, batches: Sequence[Sequence[Row]] = BATCHES
) -> list[MicroBatch[int]]:
    """Runs the query, called ``best``, with observers, and returns its micro-batches."""
    return list(
        streaming.batches(
            BEST,
            {SCORES: scores_stream(batches)},
            checkpoint=checkpoint,
            dead_letters=True,
            name="best",
            observers=observers,
        )
    )
