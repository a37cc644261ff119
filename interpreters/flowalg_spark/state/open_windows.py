"""The live windows of a checkpoint as a DataFrame, read by Spark's state reader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Final

from flowalg_shard import WindowStore
from flowalg_shard.state.live_windows import OWN_COLUMNS, live_windows
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.packing import stack
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from flowalg.data.errors import ArgumentError, CheckpointError
from flowalg_spark.state.state_format import Head

_EMPTY: Final = (
    "stage string, shard int, window struct<start timestamp, end timestamp>, panes bigint, pending boolean, "
    "next_watermark timestamp, next_time timestamp"
)
_UNREADABLE: Final = re.compile(r"\[(?:STDS_|CANNOT_LOAD_STATE_STORE)[\w.]*\] ([^\n]*?)\.?( SQLSTATE|\n|$)")
"""Spark's error for a state that is missing or damaged: its sentence. Spark raises it as several classes."""


def open_windows(session: SparkSession, checkpoint: str | PathLike[str], *, stage: int = 0) -> DataFrame:
    """Returns the live windows of one stage in a query's checkpoint: a row for each key and window.

    ``stage`` is the number of the stage as Spark counts its stateful operators: from 0, which is the last one. The
    columns are ``stage`` (its name), ``shard``, those of the key, ``window`` (start, end), ``panes`` (the number that
    it has emitted), ``pending`` (whether it has unemitted changes), and when it is due if no element arrives:
    ``next_watermark`` and ``next_time`` (null: never, or in every micro-batch).

    Reads what the last micro-batch has committed, also while the query runs, into the driver's memory. Raises
    ``ArgumentError`` for an invalid number, and ``CheckpointError`` for a checkpoint that has no such stage or no
    micro-batch yet, is damaged, or has a state of another version.
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
        (shard,) = row["key"]
        head = Head.of(shard, tuple(row["value"]))
        tables.append(live_windows(head.stage.label, shard, _windows(head, chunks)))
    windows = stack(tables)
    if windows.is_empty():
        return session.createDataFrame([], _EMPTY)
    found = session.createDataFrame(windows.to_arrow())
    window = F.struct(F.timestamp_micros(START).alias("start"), F.timestamp_micros(END).alias("end"))
    times = [F.timestamp_micros(name).alias(name) for name in ("next_watermark", "next_time")]
    key = [F.col(f"`{name}`") for name in found.columns if name not in OWN_COLUMNS]
    return found.select("stage", "shard", *key, window.alias("window"), "panes", "pending", *times)


def _windows(head: Head, chunks: Mapping[tuple[str, int], bytes]) -> WindowStore:
    def read_chunk(name: str, number: int) -> bytes | None:
        return chunks.get((name, number))

    return head.stored(lambda entry: head.segment(entry, read_chunk)).windows


__all__ = ["open_windows"]
