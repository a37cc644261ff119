"""The flights on the local engine: as a batch, and as a stream that replays the year."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl
from flowalg_polars import batch, collect, streaming
from flowalg_polars.streaming import StreamInput

from flights.outcomes import AirportHour, Outcome
from flights.pipeline import WATERMARK, HourStats, departures, hourly
from flights.report import Steps
from flowalg import KV, Pane

BATCH: Final = "local batch"
STREAMING: Final = "local streaming"


def run_on_local(replay: Path, files: int, progress: Steps, folder: Path) -> tuple[Outcome, Outcome]:
    """Runs the batch and the stream over the year; both write their panes to the folder."""
    with progress.step(BATCH):
        year = run_batch(replay, folder)
    with progress.step(STREAMING, files) as done:
        stream = run_stream(replay, files, folder, done)
    return year, stream


def run_batch(replay: Path, folder: Path) -> Outcome:
    """Runs a batch over the year."""
    departed = pl.scan_parquet(replay).filter(~pl.col("last"))
    frame = batch.compile(hourly, {departures: departed}).collect()
    frame.write_parquet(folder / "local-batch.parquet")
    return Outcome(BATCH, "year", 1, collect(hourly, frame), {})


def run_stream(replay: Path, files: int, folder: Path, done: Callable[[int], None]) -> Outcome:
    """Runs a stream over the year, one file per micro-batch."""
    stream = StreamInput(replay, WATERMARK, processing_time="actual", end_of_input="last")
    panes: list[Pane[KV[str, HourStats]]] = []
    frames = []
    dropped: Counter[AirportHour] = Counter()
    for micro_batch in streaming.batches(
        hourly, {departures: stream}, checkpoint=folder / "local-checkpoint"
    ):
        panes += micro_batch.panes
        frames.append(micro_batch.frame)
        for drop in micro_batch.dropped:
            assert isinstance(drop.key, str), "airports are keys"
            dropped[drop.key, drop.window] += drop.count
        done(micro_batch.number + 1)
    pl.concat(frames).write_parquet(folder / "local-streaming.parquet")
    return Outcome(STREAMING, "year", files, tuple(panes), dropped)
