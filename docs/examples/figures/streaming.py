"""The papers' figures from real streaming queries, one micro-batch for each instant: ``make figures-streaming``.

They run on the local engine, and then on Spark.

The watermark is a custom policy: a function from the processing time to the figure's curve. A row without a value is a
tick, which advances the processing time. There is a tick at each whole minute, when the figures' triggers are due.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

import flowalg_polars
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve, frozen
from flights.on_spark import why_not

from figures.figure_run import FigureRun, differences, figure_pane
from figures.listing import ARRIVALS, Listing, Scores
from figures.listings import LISTINGS
from figures.published import NOON, Arrival, Closing, PublishedFigure, read_figures
from figures.timelines import timeline_of
from flowalg import (
    FOREVER,
    KV,
    EventTime,
    GlobalWindows,
    Pane,
    PCollection,
    ProcessingTime,
    Run,
    Source,
    Window,
)
from flowalg.data import INGRESS_TIME
from flowalg.data.time import processing_time
from flowalg.pipeline import sources
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, Node, WindowInto
from flowalg.watermarks import ClockView, CustomPolicy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEAM: Final = "team"
_MINUTE: Final = timedelta(minutes=1)
_POINT: Final = pa.timestamp("us", tz="UTC")
_FIELDS: Final[dict[str, pa.DataType]] = {
    "team": pa.string(),
    "value": pa.int64(),
    "event_time": _POINT,
    "seen": _POINT,
}
_SCHEMA: Final = pa.schema(_FIELDS)


@frozen
class Play:
    """A datum of the papers' example, with its team."""

    team: str
    value: int
    event_time: datetime


PLAYS: Final = Source("plays", Play, event_time=lambda play: play.event_time)
ARRIVING: Final = Source("plays", Play, event_time=INGRESS_TIME)


@frozen
class Step:
    """A micro-batch: its data, its time, and the watermark after it."""

    time: ProcessingTime
    plays: tuple[Play, ...]
    watermark: EventTime


def steps_of(figure: PublishedFigure) -> tuple[Step, ...]:
    """The instants of a figure, and an empty instant at each whole minute between them.

    If the figure shows when windows close, a second instant follows each instant. It has a probe for each such window:
    a datum of a separate team, which is dropped once the window is closed.
    """
    steps: dict[ProcessingTime, Step] = {}
    timeline = timeline_of(figure)
    watermark = timeline.instants[0].watermark
    for instant in timeline:
        plays = tuple(Play(TEAM, datum.value, datum.event_time) for datum in instant.elements)
        step = steps.get(instant.processing_time)
        before = () if step is None else step.plays
        steps[instant.processing_time] = Step(instant.processing_time, (*before, *plays), instant.watermark)
    first, last = min(steps), max(steps)
    minute = NOON
    while processing_time(minute) < last:
        time = processing_time(minute)
        if time > first and time not in steps:
            steps[time] = Step(time, (), watermark)
        minute += _MINUTE
    return tuple(_with_probes(figure, _with_watermarks(steps)))


def _with_watermarks(steps: dict[ProcessingTime, Step]) -> Iterator[Step]:
    """The steps in order, each with the greatest watermark so far."""
    watermark: EventTime | None = None
    for _, step in sorted(steps.items()):
        watermark = step.watermark if watermark is None else max(watermark, step.watermark)
        yield evolve(step, watermark=watermark)


def _with_probes(figure: PublishedFigure, steps: Iterator[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if figure.closed:
            probes = [
                Play(_probe(step.time, number), 0, closing.window.start.datetime)
                for number, closing in enumerate(figure.closed)
            ]
            yield evolve(step, plays=tuple(probes))


def _probe(time: ProcessingTime, number: int) -> str:
    return f"{time} {number}"


def write(folder: Path, steps: Sequence[Step]) -> None:
    """Writes a file for each micro-batch, in the order of their modification times."""
    folder.mkdir()
    for number, step in enumerate(steps):
        seen = step.time.datetime
        rows: list[dict[str, object]] = [
            {"team": play.team, "value": play.value, "event_time": play.event_time, "seen": seen}
            for play in step.plays
        ]
        rows.append({"seen": seen})
        path = folder / f"{number:04}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), path)
        stamp = 1_000_000_000 + number
        os.utime(path, (stamp, stamp))


@frozen
class Dropped:
    """A drop of one datum: its team, value, reason and time."""

    team: str
    value: int
    reason: str
    time: datetime

    @classmethod
    def of(cls, drop: Mapping[str, object]) -> Dropped:
        """Returns a drop from the fields in which engines store it."""
        team, value, reason, time = (drop[name] for name in ("key", "value", "reason", "processing_time"))
        assert isinstance(team, str)
        assert isinstance(value, int)
        assert isinstance(reason, str)
        assert isinstance(time, datetime)
        return cls(team, value, reason, time)


@frozen
class Output:
    """The panes of a query, and what it dropped."""

    panes: Sequence[Pane[KV[str, int]]]
    drops: Sequence[Dropped]


Engine: TypeAlias = Callable[[Scores, Sequence[Step], Path], Output]
"""A function that runs a pipeline over micro-batches, in a folder that has them as files in ``plays``."""


def run_figure(engine: Engine, figure: PublishedFigure, listing: Listing, folder: Path) -> FigureRun:
    """Runs a streaming query over a figure's input."""
    steps = steps_of(figure)
    write(folder / "plays", steps)
    plays = ARRIVING if listing.data == ARRIVALS else PLAYS
    keyed = plays.key_by(lambda play: play.team).map_values(lambda play: play.value)
    pipeline = _with_unlimited_lateness(listing.build(keyed))
    output = engine(pipeline, steps, folder)
    panes = [pane for pane in output.panes if pane.element.key == TEAM]
    dropped = {(drop.time, drop.value) for drop in output.drops if drop.team == TEAM}
    return FigureRun(
        Run(tuple(panes), ()),
        tuple(figure_pane(pane) for pane in panes),
        tuple(arrival for arrival in figure.arrivals if _time_and_value(arrival) in dropped),
        tuple(_closings(figure, steps, {drop.team for drop in output.drops if drop.reason == "expired"})),
    )


def on_local(pipeline: Scores, steps: Sequence[Step], folder: Path) -> Output:
    """Runs a pipeline on the local engine."""
    stream = flowalg_polars.streaming.StreamInput(
        folder / "plays", _policy(steps), processing_time="seen", tick=pl.col("value").is_null()
    )
    batches = list(flowalg_polars.streaming.batches(pipeline, dict.fromkeys(sources(pipeline), stream)))
    drops = [
        Dropped.of({**drop, **{name: json.loads(str(drop[name])) for name in ("key", "value")}})
        for batch in batches
        for fields in batch.drop_fields
        if isinstance(drop := fields["drop"], dict)
    ]
    return Output([pane for batch in batches for pane in batch.panes], drops)


def on_spark(spark: SparkSession) -> Engine:
    """Returns a function that runs a pipeline on Spark."""
    from flowalg_spark import StreamInput, collect, streaming
    from flowalg_spark.streaming.interpreter import run_to_end
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    def run(pipeline: Scores, steps: Sequence[Step], folder: Path) -> Output:
        frame = (
            spark.readStream.schema(from_arrow_schema(_SCHEMA))
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder / "plays"))
        )
        plays = StreamInput(
            frame, _policy(steps), processing_time=F.col("seen"), tick=F.col("value").isNull()
        )
        panes = streaming.compile(pipeline, dict.fromkeys(sources(pipeline), plays))
        run_to_end(panes.with_drops(), folder / "out", folder / "checkpoint")
        stored = spark.read.parquet(str(folder / "out"))
        rows = stored.filter("drop is not null").select("drop").toArrow().to_pylist()
        return Output(collect(pipeline, stored), [Dropped.of(row["drop"]) for row in rows])

    return run


def _policy(steps: Sequence[Step]) -> CustomPolicy:
    """The figure's watermark; each step is valid from its processing time on."""
    curve = {step.time.datetime: step.watermark.datetime for step in steps}

    def watermark_of(view: ClockView) -> datetime | None:
        return curve.get(view.processing_time)

    return CustomPolicy("the figure's watermark", watermark_of)


def _with_unlimited_lateness(pipeline: Scores) -> Scores:
    """The pipeline with an allowed lateness of ``FOREVER``, which the papers leave unset."""
    return PCollection(_node_with_unlimited_lateness(pipeline.node))


def _node_with_unlimited_lateness(node: Node) -> Node:
    match node:
        case WindowInto(strategy=strategy):
            lateness = strategy.allowed_lateness
            if lateness is None and not isinstance(strategy.windows, GlobalWindows):
                return evolve(node, strategy=evolve(strategy, allowed_lateness=FOREVER))
            return node
        case CombinePerKey(input=inner) | ElementWise(input=inner):
            return evolve(node, input=_node_with_unlimited_lateness(inner))
        case _:
            return node


def _time_and_value(arrival: Arrival) -> tuple[datetime, int]:
    return arrival.processing_time, arrival.datum.value


def _closings(figure: PublishedFigure, steps: Sequence[Step], dropped_probes: set[str]) -> Iterator[Closing]:
    """When windows close: at the first instant after which a datum is dropped."""
    for number, closing in enumerate(figure.closed):
        for step in steps:
            if _probe(step.time, number) in dropped_probes:
                yield Closing(Window(closing.window.start, closing.window.end), step.time)
                break


def main() -> int:
    """Runs all figures on both engines, and returns the number that differ from the published ones.

    Without Java it runs them on the local engine only.
    """
    with TemporaryDirectory() as name:
        wrong = compare_all("the local engine", on_local, _make_folder(Path(name) / "local"))
        if (reason := why_not()) is not None:
            print(f"Spark is left out: {reason}.")
            return wrong
        from flowalg_spark import local_session

        spark = local_session("figures", log=Path(name) / "spark.log")
        try:
            return wrong + compare_all("streaming", on_spark(spark), _make_folder(Path(name) / "spark"))
        finally:
            spark.stop()


def compare_all(name: str, engine: Engine, folder: Path) -> int:
    """Runs all figures on an engine, and returns the number of those that differ."""
    figures = read_figures()
    right = 0
    for figure_id, figure in figures.items():
        run = run_figure(engine, figure, LISTINGS[figure_id], _make_folder(folder / figure_id))
        different = differences(figure, run)
        right += not different
        print(f"{figure_id:43} {'; '.join(map(str, different)) or 'ok'}", flush=True)
    print(f"figures on {name}: {right} of {len(figures)}", flush=True)
    return len(figures) - right


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(min(main(), 1))
