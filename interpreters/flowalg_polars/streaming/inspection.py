"""Looking at a query from outside: the live windows of its checkpoint, and the replay log of its micro-batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Final

import polars as pl
from flowalg_shard.clocks.signals import signal_of
from flowalg_shard.metrics import SignalToKey
from flowalg_shard.replay import ReplayBatch, ReplayLog, SourceBatch
from flowalg_shard.state.live_windows import OWN_COLUMNS, live_windows
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.packing import stack

from flowalg.data.errors import ArgumentError, CheckpointError
from flowalg.runs.signals import AnySignal
from flowalg_polars.streaming.checkpoint import Checkpoint
from flowalg_polars.streaming.query import MicroBatch

_TIMES: Final = ("next_watermark", "next_time")
_POINT: Final = pl.Datetime("us", "UTC")
_OWN: Final[dict[str, pl.DataType]] = {
    "stage": pl.String(),
    "shard": pl.Int32(),
    "window": pl.Struct({"start": _POINT, "end": _POINT}),
    "panes": pl.Int64(),
    "pending": pl.Boolean(),
    **dict.fromkeys(_TIMES, _POINT),
}


def open_windows(checkpoint: str | PathLike[str], *, stage: int = 0) -> pl.DataFrame:
    """Returns the live windows of one stage in a query's checkpoint: a row for each key and window.

    ``stage`` is the number of the stage as in its metrics: from 0, in the order of the pipeline. The columns are
    ``stage`` (its name), ``shard``, those of the key, ``window`` (start, end), ``panes`` (the number that it has
    emitted), ``pending`` (whether it has unemitted changes), and when it is due if no element arrives:
    ``next_watermark`` and ``next_time`` (null: never, or in every micro-batch).

    Reads what the last micro-batch has committed, also while the query runs. Raises ``ArgumentError`` for an invalid
    number, and ``CheckpointError`` for a folder that is no checkpoint, is damaged, or has no micro-batch yet.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _read_windows(checkpoint, stage)
        except CheckpointError:
            # The query may have replaced its segments since the manifest was read.
            continue
    return _read_windows(checkpoint, stage)


_ATTEMPTS: Final = 3


def _read_windows(checkpoint: str | PathLike[str], stage: int) -> pl.DataFrame:
    opened = Checkpoint.read(checkpoint)
    assert opened.manifest is not None, "a checkpoint that was read has a manifest"
    stages = opened.manifest.stages
    if isinstance(stage, bool) or not isinstance(stage, int) or not 0 <= stage < len(stages):
        raise ArgumentError("stage", stage, f"the number of a stage: an int from 0 to {len(stages) - 1}")
    found = stages[stage]
    table = stack(
        [
            live_windows(found.description.label, shard, opened.restore(stored, evaluate_all=False).windows)
            for shard, stored in enumerate(found.shards)
        ]
    )
    if table.is_empty():
        return pl.DataFrame(schema=_OWN)
    window = pl.struct(pl.col(START).cast(_POINT).alias("start"), pl.col(END).cast(_POINT).alias("end"))
    key = [name for name in table.columns if name not in OWN_COLUMNS]
    times = [pl.col(name).cast(_POINT) for name in _TIMES]
    return table.select("stage", "shard", *key, window.alias("window"), "panes", "pending", *times)


def replay_log(batches: Iterable[MicroBatch[object]]) -> ReplayLog:
    """Returns the replay log of a run, from all its micro-batches: of ``batches(..., metrics=True)``.

    Raises ``ArgumentError`` without metrics, and if the first micro-batch is not the first of the run.
    """
    return ReplayLog(tuple(_replay_batches(batches)))


def _replay_batches(batches: Iterable[MicroBatch[object]]) -> Iterator[ReplayBatch]:
    for expected, batch in enumerate(batches):
        if not batch.metrics:
            raise ArgumentError("batches", batch, "micro-batches with metrics: pass metrics=True")
        if batch.number != expected:
            raise ArgumentError(
                "batches", batch.number, f"all micro-batches in order: number {expected} is missing"
            )
        expected += 1
        sources = {
            source.source: SourceBatch(
                source.elements,
                source.watermark,
                {float(q): point for q, point in source.percentile_watermarks.items()},
                frozenset((*source.signals, *map(_signal, source.signals_to_keys))),
                source.reached,
                source.idle,
                frozenset(source.awaited),
            )
            for source in batch.sources
        }
        yield ReplayBatch(batch.number, batch.processing_time, sources)


def _signal(given: SignalToKey) -> AnySignal:
    return signal_of(given.name, given.key, given.start, given.end)


__all__ = ["open_windows", "replay_log"]
