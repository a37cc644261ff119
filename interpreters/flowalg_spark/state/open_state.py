"""The live state in a query's checkpoint, read by Spark's state reader: open windows, and the keys of computations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Final, TypeVar

from flowalg_columns.codec import Codec
from flowalg_shard import OperatorState, StageDescription
from flowalg_shard.state.compatibility import COMPUTATION
from flowalg_shard.state.live_keys import live_keys, read_keys
from flowalg_shard.state.live_windows import OWN_COLUMNS, live_windows
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.packing import stack
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from flowalg.computations.computation import Computation
from flowalg.computations.contents import KeyContents
from flowalg.data.errors import ArgumentError, CheckpointError, path_text
from flowalg.pipeline.pcollection import PCollection
from flowalg_spark.state.state_format import Head

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")
Out = TypeVar("Out")

_NO_WINDOWS: Final = (
    "stage string, shard int, window struct<start timestamp, end timestamp>, panes bigint, pending boolean, "
    "next_watermark timestamp, next_time timestamp"
)
_NO_KEYS: Final = (
    "stage string, shard int, state_text string, timers array<struct<tag string, clock string, at timestamp>>, "
    "hold timestamp, waiting bigint, next_watermark timestamp, next_time timestamp"
)
_TIMES: Final = ("next_watermark", "next_time")
_UNREADABLE: Final = re.compile(r"\[(?:STDS_|CANNOT_LOAD_STATE_STORE)[\w.]*\] ([^\n]*?)\.?( SQLSTATE|\n|$)")
"""Spark's error for a state that is missing or damaged: its sentence. Spark raises it as several classes."""
_ENCODED: Final = re.compile(r"[ \[\]{}\"<>^`|\\%?#]")
"""What Spark encodes in the path of a state to read, and does not decode. Queries run with such paths."""


def open_state(session: SparkSession, checkpoint: str | PathLike[str], *, stage: int = 0) -> DataFrame:
    """Returns the live state of one stage in a query's checkpoint: its open windows, or the keys of a computation.

    ``stage`` is the number of the stage as Spark counts its stateful operators: from 0, which is the last one. All
    tables have the columns ``stage`` (its name), ``shard``, those of the key, and when the row is due if no element
    arrives: ``next_watermark`` and ``next_time`` (null: never, or in every micro-batch).

    A grouping has a row for each key and window, with the columns ``window`` (start, end), ``panes`` (the number that
    it has emitted) and ``pending`` (whether it has unemitted changes). A computation has a row for each key, with its
    ``state``, in a column for each field if its type is known, and as text in ``state_text`` otherwise; the pending
    ``timers`` (tag, clock, at), the ``hold``, and ``waiting``, the number of elements that wait for the watermark.

    Reads what the last micro-batch has committed, also while the query runs, into the driver's memory. Raises
    ``ArgumentError`` for an invalid number, and ``CheckpointError`` for a checkpoint that has no such stage or no
    micro-batch yet, is damaged, or has a state of another version.
    """
    description, states = read_stage(session, checkpoint, stage)
    is_computation = description is not None and COMPUTATION in description.facts
    live = live_keys if is_computation else live_windows
    label = "" if description is None else description.label
    table = stack([live(label, shard, state.windows) for shard, state in states.items()])
    if table.is_empty():
        return session.createDataFrame([], _NO_KEYS if is_computation else _NO_WINDOWS)
    frame = session.createDataFrame(table.to_arrow())
    if is_computation:
        times = {name: F.timestamp_micros(name) for name in ("hold", *_TIMES)}
        return frame.withColumns({"timers": F.transform("timers", _timer), **times})
    window = F.struct(F.timestamp_micros(START).alias("start"), F.timestamp_micros(END).alias("end"))
    due = [F.timestamp_micros(name).alias(name) for name in _TIMES]
    key = [F.col(f"`{name}`") for name in frame.columns if name not in OWN_COLUMNS]
    return frame.select("stage", "shard", *key, window.alias("window"), "panes", "pending", *due)


def open_keys(
    session: SparkSession,
    checkpoint: str | PathLike[str],
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
    description, states = read_stage(session, checkpoint, stage)
    stores = [state.windows for state in states.values()]
    return read_keys(pipeline, computation, Codec.of, description, stores)


def _timer(timer: Column) -> Column:
    return F.struct(timer["tag"], timer["clock"], F.timestamp_micros(timer["at"]).alias("at"))


def read_heads(session: SparkSession, checkpoint: str | PathLike[str], stage: int) -> list[Head]:
    """Returns the head of each shard of a stage in a checkpoint; raises ``CheckpointError`` if it cannot be read."""
    rows = _rows(session, checkpoint, stage, "shard", "key", "value")
    return [Head.of(row["key"][0], tuple(row["value"])) for row in rows]


def count_stages(session: SparkSession, checkpoint: str | PathLike[str]) -> int:
    """Returns the number of stateful operators in a checkpoint; raises ``CheckpointError`` if it cannot be read."""
    path = path_text("checkpoint", checkpoint)
    with _readable("the state", path):
        return session.read.format("state-metadata").load(path).select("operatorId").distinct().count()


def read_stage(
    session: SparkSession, checkpoint: str | PathLike[str], stage: int
) -> tuple[StageDescription | None, dict[int, OperatorState]]:
    """Returns the description of a stage and the state of each of its shards; ``None`` if none has any."""
    if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
        raise ArgumentError("stage", stage, "the number of a stateful operator, from 0")
    log = _rows(
        session,
        checkpoint,
        stage,
        "segments",
        "user_map_key.segment",
        "user_map_key.chunk",
        "user_map_value.bytes",
    )
    chunks = {(row["segment"], row["chunk"]): bytes(row["bytes"]) for row in log}
    heads = read_heads(session, checkpoint, stage)
    description = heads[0].stage if heads else None
    return description, {head.shard: _stored(head, chunks) for head in heads}


def _rows(
    session: SparkSession, checkpoint: str | PathLike[str], stage: int, variable: str, *columns: str
) -> list[Row]:
    """Returns the rows of a state variable of a stage."""
    path = path_text("checkpoint", checkpoint)
    reader = session.read.format("statestore").option("path", path)
    with _readable(f"the state of stage {stage}", path):
        state = reader.option("operatorId", stage).option("stateVarName", variable).load()
        return state.select(*columns).collect()


@contextmanager
def _readable(what: str, checkpoint: str) -> Iterator[None]:
    """Raises ``CheckpointError`` for an error of Spark about a state that is missing or damaged."""
    try:
        yield
    except Exception as cause:
        match = _UNREADABLE.search(str(cause))
        if match is None and not isinstance(cause, IllegalArgumentException):
            raise
        if _ENCODED.search(checkpoint):
            raise CheckpointError(
                f"{what} cannot be read from the checkpoint {checkpoint}: Spark does not find the state in a path with "
                "spaces or other characters that a URL encodes; copy it to another path, and read it there"
            ) from cause
        why = "it has none" if match is None else match.group(1)
        raise CheckpointError(
            f"{what} cannot be read from the checkpoint {checkpoint}: {why}; give the checkpoint directory of "
            "a query that has committed a micro-batch, and the number of one of its stages"
        ) from cause


def _stored(head: Head, chunks: Mapping[tuple[str, int], bytes]) -> OperatorState:
    def read_chunk(name: str, number: int) -> bytes | None:
        return chunks.get((name, number))

    return head.stored(lambda entry: head.segment(entry, read_chunk))
