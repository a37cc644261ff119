"""The streams of the benchmark: each as a function that runs it over a folder of files, and yields batch by batch.

``python -m docs.benchmarks.local.streams CASE RIVAL FOLDER`` runs one once and prints the peak memory in bytes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput

from docs.benchmarks.local.rivals import print_peak_memory
from docs.benchmarks.local.streams_by_hand import PANE, corrected, on_time, sessions
from docs.benchmarks.stream.data import DISORDER, Reading
from docs.benchmarks.stream.pipelines import (
    AT_ALL_TIMES,
    CALENDAR_DAYS,
    CORRECTED,
    FIXED_DAYS,
    MINUTE,
    ON_TIME,
    READINGS,
    READINGS_BY_DAY,
    VALUES,
)
from flowalg import (
    KV,
    Accumulation,
    AtCount,
    BoundedOutOfOrderness,
    FixedWindows,
    GlobalWindows,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
)

Batches: TypeAlias = Iterator[pl.DataFrame]
Rival: TypeAlias = Callable[[Sequence[Path]], Batches]
"""A function from files, one for each micro-batch, to the panes of each."""

Sums: TypeAlias = PCollection[KV[int, int]]

EARLY_AND_LATE: Final = VALUES.window(
    FixedWindows(MINUTE),
    trigger=AT_ALL_TIMES,
    accumulation=Accumulation.ACCUMULATING,
    allowed_lateness=MINUTE,
).combine_per_key(Sum())
SESSIONS: Final = VALUES.window(
    Sessions(timedelta(seconds=30)), allowed_lateness=timedelta(0)
).combine_per_key(Sum())
HOUR: Final = timedelta(hours=1)
HOURS: Final = VALUES.window(
    FixedWindows(HOUR), trigger=AT_ALL_TIMES, accumulation=Accumulation.ACCUMULATING, allowed_lateness=HOUR
).combine_per_key(Sum())
EVERYTHING: Final = VALUES.window(GlobalWindows(), trigger=Repeat(AtCount(1))).combine_per_key(Sum())


def with_drops(pipeline: Sums, *, late_data: bool) -> Rival:
    """Returns a pipeline whose drops are read as values: with ``late_data`` each element, otherwise those combined."""

    def run(files: Sequence[Path]) -> Batches:
        stream = StreamInput(files[0].parent, BoundedOutOfOrderness(timedelta(microseconds=DISORDER)))
        for batch in streaming.batches(pipeline, {READINGS: stream}, late_data=late_data):
            assert sum(drop.count for drop in batch.dropped) == batch.dropped_count
            yield batch.rows.select(
                "key", pl.col("__start").alias("start"), "value", pl.col("__change").alias("change")
            ).select(PANE)

    return run


def with_flowalg(
    pipeline: Sums, *, source: Source[Reading] = READINGS, slower: int = 1, checkpoint: bool = False
) -> Rival:
    """Returns a pipeline on the local engine, perhaps with a checkpoint on disk.

    The event times of its source are as disordered as those of the readings, or so many times ``slower``.
    """

    def run(files: Sequence[Path]) -> Batches:
        stream = StreamInput(
            files[0].parent, BoundedOutOfOrderness(slower * timedelta(microseconds=DISORDER))
        )
        with tempfile.TemporaryDirectory(prefix="flowalg-") as folder:
            place = folder if checkpoint else None
            for batch in streaming.batches(pipeline, {source: stream}, checkpoint=place):
                yield batch.rows.select(
                    "key", pl.col("__start").alias("start"), "value", pl.col("__change").alias("change")
                ).select(PANE)

    return run


@frozen
class Stream:
    """A case: the rows and number of its files, and its rivals, all with equal panes; the first is compared."""

    name: str
    rows: int
    files: int
    rivals: Mapping[str, Rival]


LARGE: Final = 1_000_000
MEDIUM: Final = 100_000
SMALL: Final = 1_000
FILES: Final = 12
MANY_FILES: Final = 200
"""The number of files of small batches, whose 99th percentile counts."""

BY_HAND: Final[Mapping[str, tuple[Sums, Rival]]] = {
    "on time": (ON_TIME, on_time),
    "early and late": (EARLY_AND_LATE, partial(corrected, retracting=False)),
    "early, late, retracting": (CORRECTED, partial(corrected, retracting=True)),
    "sessions": (SESSIONS, sessions),
}

STREAMS: Final = (
    *(
        Stream(f"{name}, {rows:,} rows", rows, count, {"flowalg": with_flowalg(pipeline), "polars": hand})
        for name, (pipeline, hand) in BY_HAND.items()
        for rows, count in ((LARGE, FILES), (MEDIUM, FILES), (SMALL, MANY_FILES))
    ),
    *(
        Stream(
            f"calendar days, {rows:,} rows",
            rows,
            count,
            {
                name: with_flowalg(pipeline, source=READINGS_BY_DAY, slower=1440)
                for name, pipeline in (("flowalg", CALENDAR_DAYS), ("fixed days", FIXED_DAYS))
            },
        )
        for rows, count in ((LARGE, FILES), (MEDIUM, FILES), (SMALL, MANY_FILES))
    ),
    *(
        Stream(
            f"checkpoint on disk, {rows:,} rows",
            rows,
            FILES,
            {"flowalg": with_flowalg(ON_TIME, checkpoint=True), "without": with_flowalg(ON_TIME)},
        )
        for rows in (LARGE, MEDIUM)
    ),
    *(
        Stream(
            f"late data, {rows:,} rows",
            rows,
            count,
            {"flowalg": with_drops(ON_TIME, late_data=True), "without": with_drops(ON_TIME, late_data=False)},
        )
        for rows, count in ((LARGE, FILES), (MEDIUM, FILES), (SMALL, MANY_FILES))
    ),
)


def main(name: str, rival: str, folder: Path) -> None:
    """Prints the peak memory of this process after one run."""
    (case,) = (case for case in STREAMS if case.name == name)
    for _ in case.rivals[rival](sorted(folder.iterdir())):
        pass
    print_peak_memory()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
