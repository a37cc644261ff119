"""Checkpoints of earlier versions, which every later version continues.

``python -m tests.support.kept_checkpoints`` adds those of this version. A folder of ``tests/checkpoints`` has the name
of an engine and of its format. A change of a format keeps the folders of the earlier ones, and adds its own.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_polars.streaming.storage.checkpoint import FORMAT as LOCAL

from flowalg import (
    FOREVER,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    Max,
    Mean,
    PCollection,
    Repeat,
    Sessions,
    Sum,
    TopN,
    combiner,
)
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition
from tests.polars.test_streams import frame_of
from tests.support.scores import SCORES, Score, minute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT: Final = Path(__file__).parents[1] / "checkpoints"
MINUTE: Final = timedelta(minutes=1)
STOP: Final = 3
"""The micro-batches that a kept checkpoint has read."""

BATCHES: Final = (
    (Score("a", 1, minute(0)), Score("b", 2, minute(0.3)), Score("a", 6, minute(0.4))),
    (Score("a", 3, minute(1)), Score("a", 4, minute(0.2)), Score("b", 2, minute(0.1))),
    (Score("b", 5, minute(3)), Score("a", 7, minute(0.5))),
    (Score("a", 6, minute(0)), Score("c", 7, minute(2)), Score("c", 8, minute(3.2))),
    (Score("c", 1, minute(9)), Score("a", 2, minute(3.1))),
)


@frozen
class Best:
    """The state of a computation: the best score of a team, and when it was."""

    points: int
    note: str | None


@frozen
class Tally:
    """An accumulator in Python, which the state has as an object."""

    scores: int
    points: tuple[int, ...] = ()


def _add(tally: Tally, points: int) -> Tally:
    return Tally(tally.scores + 1, tuple(sorted((*tally.points, points))))


def _merge(one: Tally, other: Tally) -> Tally:
    return Tally(one.scores + other.scores, tuple(sorted(one.points + other.points)))


def _extract(tally: Tally) -> str:
    return f"{tally.scores}: {tally.points}"


def _keep_best(state: Best, observed: Observed[str, int], clocks: Clocks) -> Transition[Best, str]:
    best = Best(max(state.points, observed.value), None if observed.value % 2 else "even")
    return Transition(best, set=(EventTimer("report", observed.event_time + MINUTE),))


def _report(state: Best, timer: Timer, clocks: Clocks) -> Transition[Best, str]:
    return Transition(state, emit=(f"{state.points}",))


POINTS: Final = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
CORRECTED: Final = POINTS.window(
    FixedWindows(MINUTE),
    trigger=Repeat(AtCount(1)),
    accumulation=Accumulation.RETRACTING,
    allowed_lateness=FOREVER,
)
WHOLE: Final = SCORES.key_by(lambda s: s.team).window(
    Sessions(MINUTE),
    trigger=AtWatermark().with_early_firings(AtCount(2)),
    accumulation=Accumulation.ACCUMULATING,
    allowed_lateness=FOREVER,
)
OUTPUTS: Final[Mapping[str, PCollection[Any]]] = {
    "aggregates": CORRECTED.combine_per_key(Sum(), Mean(), Max(), TopN(2)),
    "sessions of records": WHOLE.group_by_key(),
    "bags": CORRECTED.combine_per_key(Sum()).map_values(lambda total: total % 3).combine_per_key(Max()),
    "a join": CORRECTED.full_join(CORRECTED),
    "objects": CORRECTED.combine_per_key(
        combiner(zero=Tally(0), add=_add, merge=_merge, extract=_extract, name="tally")
    ),
    "a computation": POINTS.process(
        Computation(initial=Best(0, None), on_element=_keep_best, on_timer=_report, name="best")
    ),
    "a side input": SCORES.with_side(
        POINTS.window(FixedWindows(MINUTE), allowed_lateness=FOREVER).combine_per_key(Sum()).as_map()
    ).map(lambda pair: (pair[0].team, sorted(pair[1])), result=tuple[str, list[str]]),
}


def run(checkpoint: Path | None, stop: int | None = None) -> Iterator[dict[str, list[object]]]:
    """Yields what each output emits in each micro-batch, without the times of the run."""
    stream = StreamInput(Frames([frame_of(batch) for batch in BATCHES]), BoundedOutOfOrderness(MINUTE / 2))
    batches = streaming.batches(OUTPUTS, {SCORES: stream}, checkpoint=checkpoint, shards=2)
    for batch in islice(batches, stop):
        yield {
            name: [
                *(
                    (pane.element, pane.window, pane.change, pane.index, pane.timing)
                    for pane in batch[name].panes
                ),
                *(row.element for row in batch[name].elements),
            ]
            for name in OUTPUTS
        }
    batches.close()


def keep_local() -> Path:
    """Adds the checkpoint of this version of the local engine, and returns its folder."""
    folder = KEPT / f"local-{LOCAL}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    list(run(folder, STOP + 1))
    return folder


ON_SPARK: Final = ("aggregates", "a computation")
"""The outputs of the query on Spark."""


def run_on_spark(session: SparkSession, folder: Path, checkpoint: Path, micro_batches: range) -> list[str]:
    """Runs some micro-batches of a query on Spark, and returns what they emit, without the times of the run, in order.

    Each reads some numbers, which follow from the number of the micro-batch, so the checkpoint has no paths.
    """
    from flowalg_spark import StreamInput, streaming
    from flowalg_spark.streaming.interpreter import run_to_end
    from pyspark.sql import functions as F

    numbers = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 4)
    value = F.col("value")
    seconds = (value * 37) % 200 + value.cast("int") / 4 * 60
    scores = numbers.load().select(
        F.element_at(F.array(*map(F.lit, "abc")), (value % 3 + 1).cast("int")).alias("team"),
        value.alias("points"),
        F.timestamp_seconds(seconds + F.lit(int(minute(0).timestamp()))).alias("at"),
    )
    outputs = {name: OUTPUTS[name] for name in ON_SPARK}
    stream = {SCORES: StreamInput(scores, BoundedOutOfOrderness(MINUTE / 2))}
    for number in micro_batches:
        run_to_end(streaming.compile(outputs, stream, shards=2), folder / str(number), checkpoint)
    rows = session.read.parquet(*(f"{folder}/{number}/part-*" for number in micro_batches))
    return sorted(_TIME.sub("", str(row)) for row in rows.collect())


_TIME: Final = re.compile(r"processing_time=datetime\.datetime\([^)]*\)(, )?")


def emitted_on_spark(folder: Path) -> Path:
    """Returns the file of what the micro-batches after a kept checkpoint emit."""
    return folder.with_suffix(".txt")


_PLACE: Final = "THE-CHECKPOINT"
"""What a kept checkpoint has in place of its path."""


def copy_of_spark(checkpoint: Path, into: Path, before: str = _PLACE, after: str | None = None) -> Path:
    """Copies a checkpoint of Spark, which has its own path inside, to another place, without checksums of files."""
    shutil.copytree(checkpoint, into, ignore=shutil.ignore_patterns("*.crc"))
    for path in into.glob("state/*/_metadata/**/*"):
        if path.is_file():
            path.write_text(
                path.read_text(encoding="utf-8").replace(before, after or str(into)), encoding="utf-8"
            )
    return into


def keep_spark(session: SparkSession) -> Path:
    """Adds the checkpoint of this version on Spark with what follows it, and returns its folder."""
    from flowalg_spark.state.state_format import FORMAT

    folder = KEPT / f"spark-{FORMAT}"
    shutil.rmtree(folder, ignore_errors=True)
    with TemporaryDirectory() as out:
        checkpoint = Path(out) / "checkpoint"
        run_on_spark(session, Path(out), checkpoint, range(STOP))
        copy_of_spark(checkpoint, folder, str(checkpoint), _PLACE)
        rows = run_on_spark(session, Path(out), checkpoint, range(STOP, len(BATCHES)))
        emitted_on_spark(folder).write_text("\n".join([*rows, ""]), encoding="utf-8")
    return folder


def main() -> None:
    """Adds the checkpoints of this version."""
    from flowalg_spark import local_session

    print(keep_local())
    session = local_session("kept checkpoints")
    print(keep_spark(session))
    session.stop()


if __name__ == "__main__":
    # Under its own name, since state has the classes of this module.
    from tests.support import kept_checkpoints

    kept_checkpoints.main()
