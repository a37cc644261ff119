"""A query from outside: the state in its checkpoint, what a changed pipeline can continue, and its replay log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, TypeVar

import polars as pl
from flowalg_columns.checks.plans import check_outputs
from flowalg_columns.codec import Codec
from flowalg_shard.clocks.exchange import FromSource
from flowalg_shard.clocks.signals import signal_of
from flowalg_shard.replay import ReplayBatch, ReplayLog, SourceBatch
from flowalg_shard.resharding import reshard as reshard_stage
from flowalg_shard.state.compatibility import COMPUTATION, StageDescription
from flowalg_shard.state.live_keys import live_keys, read_keys
from flowalg_shard.state.live_windows import OWN_COLUMNS, live_windows
from flowalg_shard.state.plans import ChangePlan
from flowalg_shard.state.window_store import WindowStore
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.packing import stack
from returns.result import Result

from flowalg.computations.computation import Computation
from flowalg.computations.contents import KeyContents
from flowalg.data.errors import ArgumentError, CheckpointError, UnsupportedError, require_flag
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan.plan import Plan, plan_stream
from flowalg.runs.metrics import SignalToKey
from flowalg.runs.signals import AnySignal
from flowalg.watermarks import Perfect
from flowalg_polars.capabilities import STREAM_REQUIREMENTS
from flowalg_polars.streaming.graph import Graph
from flowalg_polars.streaming.operators import Cluster
from flowalg_polars.streaming.options import require_shards
from flowalg_polars.streaming.query import MicroBatch
from flowalg_polars.streaming.storage.checkpoint import Checkpoint
from flowalg_polars.streaming.storage.location import CheckpointLocation

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
_TIMER: Final = pl.Struct({"tag": pl.String(), "clock": pl.String(), "at": _POINT})
_OF_COMPUTATION: Final[dict[str, pl.DataType]] = {
    "stage": pl.String(),
    "shard": pl.Int32(),
    "state_text": pl.String(),
    "timers": pl.List(_TIMER),
    "hold": _POINT,
    "waiting": pl.Int64(),
    **dict.fromkeys(_TIMES, _POINT),
}

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")
Out = TypeVar("Out")


def open_state(checkpoint: CheckpointLocation, *, stage: int = 0) -> pl.DataFrame:
    """Returns the live state of one stage in a query's checkpoint: its open windows, or the keys of a computation.

    ``stage`` is the number of the stage as in its metrics: from 0, in the order of the pipeline. All tables have the
    columns ``stage`` (its name), ``shard``, those of the key, and when the row is due if no element arrives:
    ``next_watermark`` and ``next_time`` (null: never, or in every micro-batch).

    A grouping has a row for each key and window, with the columns ``window`` (start, end), ``panes`` (the number that
    it has emitted) and ``pending`` (whether it has unemitted changes). A computation has a row for each key, with its
    ``state``, in a column for each field if its type is known, and as text in ``state_text`` otherwise; the pending
    ``timers`` (tag, clock, at), the ``hold``, and ``waiting``, the number of elements that wait for the watermark.

    Reads what the last micro-batch has committed, also while the query runs. Raises ``ArgumentError`` for an invalid
    number, and ``CheckpointError`` for a folder that is no checkpoint, is damaged, or has no micro-batch yet.
    """
    description, stores = _read_stage(checkpoint, stage)
    is_computation = COMPUTATION in description.facts
    live = live_keys if is_computation else live_windows
    table = stack([live(description.label, shard, store) for shard, store in enumerate(stores)])
    if table.is_empty():
        return pl.DataFrame(schema=_OF_COMPUTATION if is_computation else _OWN)
    if is_computation:
        at = pl.element().struct.with_fields(pl.field("at").cast(_POINT))
        times = [pl.col(name).cast(_POINT) for name in ("hold", *_TIMES)]
        return table.with_columns(pl.col("timers").list.eval(at), *times)
    window = pl.struct(pl.col(START).cast(_POINT).alias("start"), pl.col(END).cast(_POINT).alias("end"))
    key = [name for name in table.columns if name not in OWN_COLUMNS]
    times = [pl.col(name).cast(_POINT) for name in _TIMES]
    return table.select("stage", "shard", *key, window.alias("window"), "panes", "pending", *times)


def open_keys(
    checkpoint: CheckpointLocation,
    pipeline: PCollection[object],
    computation: Computation[K, V, S, Out],
    *,
    stage: int = 0,
) -> tuple[KeyContents[K, V, S], ...]:
    """Returns what a query's checkpoint keeps for each key of a computation, as values, by key.

    ``pipeline`` is that of the query, and ``computation`` the one in it to read. ``stage`` is the number of its stage,
    as ``open_state`` counts. Reads what the last micro-batch has committed, also while the query runs.

    Raises what ``open_state`` raises, ``ArgumentError`` for a computation that is not in the pipeline, and
    ``CheckpointError`` for a stage that is not this computation.
    """
    description, stores = _read_stage(checkpoint, stage)
    return read_keys(pipeline, computation, Codec.of, description, stores)


_ATTEMPTS: Final = 3


def _read_stage(
    checkpoint: CheckpointLocation, stage: int
) -> tuple[StageDescription, tuple[WindowStore, ...]]:
    """Returns the description of a stage, and the state of its shards, as they are committed."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _read_committed(checkpoint, stage)
        except CheckpointError:
            # The query may have replaced its segments since the manifest was read.
            continue
    return _read_committed(checkpoint, stage)


def _read_committed(
    checkpoint: CheckpointLocation, stage: int
) -> tuple[StageDescription, tuple[WindowStore, ...]]:
    opened = Checkpoint.read(checkpoint)
    assert opened.manifest is not None, "a checkpoint that was read has a manifest"
    stages = opened.manifest.stages
    if isinstance(stage, bool) or not isinstance(stage, int) or not 0 <= stage < len(stages):
        raise ArgumentError("stage", stage, f"the number of a stage: an int from 0 to {len(stages) - 1}")
    stored_stage = stages[stage]
    stores = tuple(opened.restore(stored).windows for stored in stored_stage.shards)
    return stored_stage.description, stores


def check(
    outputs: PCollection[object] | Mapping[str, PCollection[object]], *, dead_letters: bool = False
) -> Result[Plan, UnsupportedError]:
    """Returns the plan of a pipeline or of named outputs, or the error with all ``parts`` that a stream cannot run.

    It is what ``batches`` raises, but it needs no data, and leaves out the watermark policies of inputs.
    ``dead_letters`` is that of ``batches``.

    Example::

        streaming.check(totals).alt(lambda error: error.parts)
    """
    return check_outputs(outputs, partial(plan_stream, dead_letters=dead_letters), STREAM_REQUIREMENTS)


def plan(
    pipeline: PCollection[object] | Mapping[str, PCollection[object]],
    checkpoint: CheckpointLocation,
    *,
    shards: int | None = None,
    dead_letters: bool = False,
) -> ChangePlan:
    """Returns what a pipeline, or the named outputs of a query, can continue from a checkpoint.

    It is what a query checks when it starts from the checkpoint: it starts if and only if the plan is accepted. Nothing
    runs, and the checkpoint is read whole and not changed. ``shards`` is the number that the query starts with;
    ``None`` is that of the checkpoint. ``dead_letters`` is that of ``run``. Whether functions are still the same, and
    whether sources have other data, cannot be checked.

    Raises ``ArgumentError``, ``CheckpointError`` for a folder that is no checkpoint, is damaged, or has no micro-batch
    yet, and ``UnsupportedError`` for features that streaming lacks.

    Example::

        print(streaming.plan(totals, "checkpoint"))
    """
    outputs = require_outputs(pipeline)
    require_flag("dead_letters", dead_letters)
    planned = plan_stream(outputs, dead_letters=dead_letters)
    opened = Checkpoint.read(checkpoint)
    assert opened.manifest is not None, "a checkpoint that was read has a manifest"
    count = opened.manifest.shards if shards is None else require_shards(shards)
    upstreams = {name: FromSource(Perfect(), name) for name in planned.sources}
    graph, _ = Graph.compile(planned, upstreams, Cluster(shards=count), STREAM_REQUIREMENTS)
    change_plan = graph.compared(opened)
    graph.continue_from(opened, change_plan)
    return change_plan


def reshard(checkpoint: CheckpointLocation, shards: int) -> None:
    """Divides the state in a checkpoint into another number of shards; the query then continues with this number.

    Keys are placed again, so it also makes a checkpoint usable whose keys were placed by another hash.
    The query must not run meanwhile. The checkpoint is replaced at once, so a process that is killed leaves the
    old one or the new one. Reads the whole state into memory.

    Raises ``ArgumentError`` for an invalid number, and ``CheckpointError`` for a folder that is no checkpoint, is
    damaged, is in use, or has no micro-batch yet.

    Example::

        streaming.reshard("checkpoint", 8)
        streaming.run(totals, {scores: stream}, sink=sink, checkpoint="checkpoint", shards=8)
    """
    count = require_shards(shards)
    Checkpoint.read(checkpoint)
    with Checkpoint.open(checkpoint) as opened:
        manifest = opened.manifest
        assert manifest is not None, "a checkpoint that was read has a manifest"
        stages = []
        for stage in manifest.stages:
            states = [opened.restore(shard) for shard in stage.shards]
            divided = reshard_stage(states, range(count))
            stages.append((stage.description, divided))
        opened.commit(manifest.intent, stages, changed={})


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


def _signal(signal: SignalToKey) -> AnySignal:
    return signal_of(signal.name, signal.key, signal.start, signal.end)
