"""The windows that a checkpoint holds open, as a DataFrame, by Spark's own reader of state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Final

import polars as pl
from flowalg_shard import Memory
from flowalg_shard.step.dormancy import ALWAYS, DUE, NEVER, WAKES
from flowalg_shard.tables.columns import CHANGED, END, PANES, START
from flowalg_shard.tables.packing import stack
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from flowalg.data.errors import ArgumentError, CheckpointError
from flowalg.data.time import MAX_TIME
from flowalg_spark.state.state_format import Written

_OWN: Final = ("stage", "shard", "window", "panes", "pending", "next_watermark", "next_time")
_UNREADABLE: Final = re.compile(r"\[(?:STDS_|CANNOT_LOAD_STATE_STORE)[\w.]*\] ([^\n]*?)\.?( SQLSTATE|\n|$)")
"""Spark's error for a state that is missing or damaged: its sentence. Spark raises it as several classes."""


def open_windows(session: SparkSession, checkpoint: str | PathLike[str], *, stage: int = 0) -> DataFrame:
    """The windows that a query's checkpoint holds open: a row for each key and window of one of its stages.

    ``stage`` is the stage's number as Spark counts its stateful operators: from 0, which is the last one. The columns
    are ``stage`` (its name), ``shard``, those of the key, ``window`` (start, end), ``panes`` (how many it has had),
    ``pending`` (whether there is anything new since the last one), and when the window will be looked at if no element
    comes: ``next_watermark`` and ``next_time`` (null: never, or with every batch). It reads what the last batch has
    committed, also while the query runs. For what fits in memory. Raises ``ArgumentError`` for a number that is none,
    and ``CheckpointError`` for a checkpoint that has no such stage or no batch yet, is damaged, or has a state of
    another version.
    """
    if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
        raise ArgumentError("stage", stage, "the number of a stateful operator, from 0")

    def rows(variable: str, *columns: str) -> list[Row]:
        reader = session.read.format("statestore").option("path", fspath(checkpoint))
        try:
            state = reader.option("operatorId", stage).option("stateVarName", variable).load()
            return state.select(*columns).collect()
        except Exception as cause:
            found = _UNREADABLE.search(str(cause))
            if found is None and not isinstance(cause, IllegalArgumentException):
                raise
            why = "it has none" if found is None else found.group(1)
            raise CheckpointError(
                f"the state of stage {stage} cannot be read from the checkpoint {fspath(checkpoint)}: {why}; give the "
                "checkpoint directory of a query that has committed a micro-batch, and the number of one of its stages"
            ) from cause

    log = rows("segments", "user_map_key.segment", "user_map_key.chunk", "user_map_value.bytes")
    chunks = {(row["segment"], row["chunk"]): bytes(row["bytes"]) for row in log}
    tables = []
    for row in rows("shard", "key", "value"):
        (number,) = row["key"]
        written = Written.of(number, tuple(row["value"]))
        memory = _memory(written, chunks)
        tables += [
            _shown(written.stage.label, number, part.windows, part.segment.by) for part in memory.parts
        ]
    windows = stack(tables)
    if windows.is_empty():
        nothing = "stage string, shard int, window struct<start timestamp, end timestamp>, panes bigint"
        return session.createDataFrame(
            [], f"{nothing}, pending boolean, next_watermark timestamp, next_time timestamp"
        )
    found = session.createDataFrame(windows.to_arrow())
    window = F.struct(F.timestamp_micros(START).alias("start"), F.timestamp_micros(END).alias("end"))
    times = [F.timestamp_micros(name).alias(name) for name in ("next_watermark", "next_time")]
    key = [F.col(f"`{name}`") for name in found.columns if name not in (*_OWN, START, END)]
    return found.select("stage", "shard", *key, window.alias("window"), "panes", "pending", *times)


def _memory(written: Written, chunks: Mapping[tuple[str, int], bytes]) -> Memory:
    def logged(name: str, chunk: int) -> bytes | None:
        return chunks.get((name, chunk))

    return written.stored(lambda one: written.segment(one, logged)).memory


def _shown(label: str, shard: int, windows: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    if windows.is_empty():
        return windows
    key = [pl.col(name).alias(name.replace("/", ".")) for name in by if name not in (START, END)]
    wakes = pl.when((pl.col(WAKES) != ALWAYS) & (pl.col(WAKES) < MAX_TIME)).then(pl.col(WAKES))
    return windows.select(
        pl.lit(label).alias("stage"),
        pl.lit(shard, pl.Int32()).alias("shard"),
        *key,
        START,
        END,
        pl.col(PANES).alias("panes"),
        pl.col(CHANGED).alias("pending"),
        wakes.alias("next_watermark"),
        pl.when(pl.col(DUE) != NEVER).then(pl.col(DUE)).alias("next_time"),
    )


__all__ = ["open_windows"]
