"""The queries of the fault injection, from files to files: corrected sessions, and chains with computations.

``python -m flowalg_development.faults.query FOLDER`` runs a query over ``FOLDER/in`` from its checkpoint to the end of
its input; its name is that of the folder above. If there is a file ``FOLDER/fail``, a user-defined function deletes it
and raises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from attrs import frozen
from flowalg_spark import check_checkpoint, local_session, streaming
from flowalg_spark.streaming.interpreter import run_to_end

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    PCollection,
    Sessions,
    Source,
    Sum,
)
from flowalg.data.time import ProcessingTime
from flowalg_development.faults.computations import changes_of_sums, sums_of_totals
from tests.support.spark_replay import stream_of, write_batches

MINUTE: Final = 60_000_000
BATCHES: Final = 24
ROWS: Final = 400
BEGIN: Final = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000
SEED: Final = 20_150_831
DISORDER: Final = timedelta(minutes=3)


@frozen
class Visit:
    """A visit: its visitor, its value, its time, and the time at which it was observed."""

    visitor: int
    value: int
    at: datetime
    seen: datetime


VISITS: Final = Source("visits", Visit, event_time=lambda visit: visit.at)


VALUES: Final = VISITS.key_by(lambda visit: visit.visitor).map_values(lambda visit: visit.value)
UNIT: Final = timedelta(seconds=10)
"""The unit of time of the computations."""


def corrected_sessions(fails: Path) -> PCollection[object]:
    """Retracting sessions with early and late firings, and the number of sessions by sum, per quarter of an hour."""

    def value_of(visit: Visit) -> int:
        if visit.value == 7 and fails.exists():
            fails.unlink()
            raise RuntimeError("a user-defined function has failed")
        return visit.value

    sums = (
        VISITS.key_by(lambda visit: visit.visitor)
        .map_values(value_of, result=int)
        .window(
            Sessions(timedelta(minutes=2)),
            trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
            accumulation=Accumulation.RETRACTING,
            allowed_lateness=timedelta(minutes=10),
        )
        .combine_per_key(Sum())
    )
    counts = sums.key_by(lambda pair: pair.value % 10).window(
        FixedWindows(timedelta(minutes=15)),
        trigger=AtWatermark().with_early_firings(AtCount(5)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=timedelta(minutes=10),
    )
    return counts.combine_per_key(Count())


QUERIES: Final[Mapping[str, Callable[[Path], PCollection[object]]]] = {
    "sessions": corrected_sessions,
    "sums-of-totals": lambda fails: sums_of_totals(VALUES, UNIT, fails),
    "changes-of-sums": lambda fails: changes_of_sums(VALUES, UNIT, fails),
}
"""The pipelines by the name of their query, as functions of the file that makes them fail."""


def pipeline(folder: Path) -> PCollection[object]:
    """Returns the pipeline of the query that runs in a folder."""
    return QUERIES[folder.parent.name](folder / "fail")


def make_input(folder: Path) -> None:
    """Writes a file for each micro-batch, in the order of their times, and a file that ends the input."""
    random = np.random.default_rng(SEED)
    batches = []
    for number in range(BATCHES):
        now = BEGIN + number * MINUTE
        late = random.exponential(2 * MINUTE, ROWS).astype("int64")
        columns = zip(
            random.integers(0, 100, ROWS).tolist(),
            random.integers(0, 100, ROWS).tolist(),
            (now - late).tolist(),
            strict=True,
        )
        seen = ProcessingTime(now).datetime
        batches.append([Visit(who, value, ProcessingTime(at).datetime, seen) for who, value, at in columns])
    write_batches(folder, Visit, batches, ends=True)


def run(folder: Path) -> None:
    """Runs the query of a folder to the end of its input."""
    spark = local_session("flowalg faults", cores=2, memory="1g", log=folder / "spark.log")
    try:
        source = stream_of(spark, folder / "in", BoundedOutOfOrderness(DISORDER))
        panes = streaming.compile(pipeline(folder), {VISITS: source}).with_drops()
        check_checkpoint(spark, folder / "checkpoint")
        run_to_end(panes, folder / "out", folder / "checkpoint")
    finally:
        spark.stop()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
