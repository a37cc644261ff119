"""The open windows of a running query: read from its checkpoint, with what each waits for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, event_time
from flowalg.runs.metrics import SourceMetrics, StageMetrics

if TYPE_CHECKING:
    from flowalg_polars.streaming.storage.location import CheckpointLocation
    from pyspark.sql import SparkSession

MOST: Final = 100
"""The number of windows that are shown: those that are due first."""

_DUE: Final = ("next_watermark", "next_time")


@frozen
class OpenState:
    """The live state of a stage: the number of its rows, and those that are due first, as ``open_state`` has them."""

    total: int
    rows: Sequence[Mapping[str, object]]


WindowReader: TypeAlias = Callable[[int, int], OpenState]
"""Reads the live state of a stage, from its number and the number of all stages."""


def local_windows(checkpoint: CheckpointLocation) -> WindowReader:
    """Returns a reader of the open windows in the checkpoint of a query of the local engine."""

    def read(stage: int, stages: int) -> OpenState:
        import polars as pl
        from flowalg_polars.streaming import open_state

        frame = open_state(checkpoint, stage=stage)
        start = [pl.col("window").struct.field("start")] if "window" in frame.columns else []
        first = frame.sort(*_DUE, *start, nulls_last=True, maintain_order=True).head(MOST)
        return OpenState(frame.height, first.to_dicts())

    return read


def spark_windows(session: SparkSession, checkpoint: str | PathLike[str]) -> WindowReader:
    """Returns a reader of the open windows in the checkpoint of a query on Spark; each reading is a job of Spark."""

    def read(stage: int, stages: int) -> OpenState:
        from flowalg_spark import open_state
        from pyspark.sql import functions as F

        # Spark numbers its stateful operators from the last stage.
        frame = open_state(session, checkpoint, stage=stages - 1 - stage)
        start = ["window.start"] if "window" in frame.columns else []
        order = (F.col(name).asc_nulls_last() for name in (*_DUE, *start))
        return OpenState(frame.count(), frame.orderBy(*order).limit(MOST).toArrow().to_pylist())

    return read


def describe_row(row: Mapping[str, object], stage: StageMetrics) -> dict[str, str | int]:
    """Returns the texts of an open window, or of a key of a computation, for people."""
    key = {name.removeprefix("key").removeprefix("."): value for name, value in row.items() if _is_key(name)}
    texts: dict[str, str | int] = {"key": _text(key[""] if list(key) == [""] else key)} if key else {}
    window = row.get("window")
    if isinstance(window, Mapping):
        start, end = _time(window["start"]), _time(window["end"])
        day, _, hour = end.partition(" ")
        texts["window"] = f"{start} to {hour if hour and start.startswith(f'{day} ') else end}"
        texts["panes"] = _text(row["panes"])
    else:
        state = {name.removeprefix("state."): value for name, value in row.items() if _is_state(name)}
        if state:
            texts["state"] = _text(state.get("state", state))
        timers = row.get("timers")
        texts["timers"] = _timers(timers if isinstance(timers, Sequence) else ())
        texts["waiting elements"] = _text(row["waiting"])
    texts["waits"] = explain_wait(row, stage.watermark)
    return texts


def _is_key(name: str) -> bool:
    return name == "key" or name.startswith("key.")


def _is_state(name: str) -> bool:
    return name in ("state", "state_text") or name.startswith("state.")


def _timers(timers: Sequence[Mapping[str, object]]) -> str:
    return ", ".join(f"{timer['tag']} at {_time(timer['at'])} ({timer['clock']})" for timer in timers)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _time(time: object) -> str:
    """Returns a point in time to the second, or with its fraction."""
    if not isinstance(time, datetime):
        return "never"
    point = event_time(time.replace(tzinfo=UTC) if time.tzinfo is None else time)
    return describe_time(point)


def describe_time(point: EventTime) -> str:
    """Returns a point in time, in UTC; a watermark may also be before the first one, or at the end of the input."""
    if point <= MIN_TIME:
        return "none yet"
    if point >= MAX_TIME:
        return "end of input"
    return str(point.datetime.replace(tzinfo=None))


def explain_wait(row: Mapping[str, object], watermark: datetime) -> str:
    """Returns what an open window or a key waits for; ``watermark`` is that of its stage."""
    at, time = row["next_watermark"], row["next_time"]
    pending = row.get("pending", True)
    state = "" if pending else "nothing to emit now; "
    due: list[str] = []
    if isinstance(at, datetime):
        if at <= watermark:
            return f"{state}due in the next micro-batch"
        due.append(f"when the watermark reaches {_time(at)}")
    if isinstance(time, datetime):
        due.append(f"at processing time {_time(time)}")
    if due:
        return f"{state}due {' or '.join(due)}"
    return (
        "in every micro-batch, or for its next element" if pending else "nothing to emit; for late elements"
    )


def explain_watermark(stage: StageMetrics, sources: Sequence[SourceMetrics]) -> str:
    """Returns what determines the watermark of a stage: the sources that are at it, or an earlier stage."""
    watermark = event_time(stage.watermark)
    if watermark >= MAX_TIME:
        return "The input has ended."
    slowest = [source for source in sources if not source.idle and source.watermark <= watermark]
    reasons = [reason for source in slowest for reason in _waits_of(source)]
    if watermark <= MIN_TIME:
        return " ".join(["There is no watermark yet.", *reasons])
    if not slowest:
        held = "All sources are further: an earlier stage holds the watermark for what it may still emit."
        return f"The watermark is {describe_time(watermark)}. {held if sources else ''}".strip()
    names = " and ".join(f"source '{source.source}'" for source in slowest)
    return " ".join([f"The watermark is {describe_time(watermark)}, that of {names}.", *reasons])


def _waits_of(source: SourceMetrics) -> list[str]:
    """Sentences about the partitions of a source for which its watermark waits."""
    sentences = []
    if source.awaited:
        names = ", ".join(f"'{name}'" for name in source.awaited)
        sentences.append(f"Source '{source.source}' waits for partitions without records: {names}.")
    if len(source.reached) > 1:
        name, point = min(source.reached.items(), key=lambda item: (item[1], item[0]))
        sentences.append(
            f"Its least advanced partition is '{name}', which has reached {describe_time(point)}."
        )
    return sentences
