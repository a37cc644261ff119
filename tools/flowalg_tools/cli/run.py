"""``flowalg run``: a pipeline over files, by any of the three interpreters, to files."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import flowalg_reference as reference
from attrs import frozen

from flowalg import ArgumentError, PCollection, Source, Timing, WatermarkPolicy
from flowalg_tools.cli.files import extra, format_of, read_table, write_panes
from flowalg_tools.cli.inputs import Seeing, paths, records_of, timelines
from flowalg_tools.cli.names import pipeline_named
from flowalg_tools.cli.terminal import show, working
from flowalg_tools.live import watch

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import types as T


_TO_THE_MICROSECOND: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


class Interpreter(StrEnum):
    """Who runs it."""

    REFERENCE = "reference"
    BATCH = "batch"
    STREAMING = "streaming"


@frozen
class Streaming:
    """How a streaming query goes on: where it remembers, and whether its windows stay open for its next run.

    With ``metrics`` it also writes what its stages tell of each micro-batch.
    """

    watermark: WatermarkPolicy | None
    seen: str | None
    checkpoint: Path
    stays_open: bool
    metrics: bool


def ran_in_memory(pipeline: str, given: Sequence[str], output: Path, seeing: Seeing) -> None:
    """The reference interpreter: over a timeline if it is known when records were seen, else over all at once."""
    found = pipeline_named(pipeline)
    format_of(output, "--output")
    with working("running the reference interpreter"):
        if seeing.seen is None:
            read = {
                source: records_of(source, read_table(source, path, seen=None))
                for source, path in paths(found, given).items()
            }
            run = reference.run_batch(found, read, time=datetime.now(UTC))
        else:
            run = reference.run(found, timelines(found, given, seeing))
        write_panes(found, run.panes, output)
    timings = Counter(pane.timing for pane in run.panes)
    parts = ", ".join(f"{timings[one]:,} {one.value.replace('_', ' ')}" for one in Timing if timings[one])
    show(f"{len(run.panes):,} panes ({parts or 'none'}) to {output}")
    if run.dropped:
        reasons = Counter(drop.reason.value for drop in run.dropped)
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
        show(f"{len(run.dropped):,} elements were dropped: {dropped}")


def ran_as_batch(pipeline: str, given: Sequence[str], output: Path) -> None:
    """Spark batch, to a folder of files."""
    found = pipeline_named(pipeline)
    where = paths(found, given)
    kind = format_of(output, "--output")
    with _spark() as session, working("running Spark batch"):
        from flowalg_spark import batch

        read = {source: _frame(session, source, path) for source, path in where.items()}
        frame = _plain(batch.compile(found, read), kind)
        frame.write.format(kind).options(**_writing(kind)).save(str(output))
        count = _rows_of(session, output, kind)
    show(f"{count:,} panes to the files of {output}")


def ran_as_stream(pipeline: str, given: Sequence[str], output: Path, how: Streaming) -> None:
    """Spark streaming over what is in the folders now, to a folder of files, drops included.

    What a later run finds there in addition is taken by it, from the same checkpoint. Unless the windows stay open,
    the input is brought to its end.
    """
    found = pipeline_named(pipeline)
    where = paths(found, given)
    kind = format_of(output, "--output")
    if how.watermark is None:
        raise ArgumentError(
            "--watermark", None, "a watermark policy, such as 'BoundedOutOfOrderness(5 * minute)'"
        )
    if how.metrics and kind == "csv":
        raise ArgumentError(
            "--output", str(output), "of Parquet or JSON lines with --metrics, which CSV cannot hold"
        )
    with _spark() as session:
        from flowalg_spark import check_checkpoint, streaming
        from flowalg_spark.frames.final_values import METRICS_COLUMN

        check_checkpoint(session, how.checkpoint / "query")
        _run_stream(session, found, where, output, kind, how)
        if not how.stays_open:
            streaming.drain(session, str(how.checkpoint / "drain"))
            _run_stream(session, found, where, output, kind, how)
        written = session.read.format(kind).options(**_header(kind)).load(str(output))
        count = written.filter(f"{METRICS_COLUMN} IS NULL").count() if how.metrics else written.count()
    show(f"{count:,} panes and drops are in the files of {output}")


def _run_stream(
    session: SparkSession,
    pipeline: PCollection[object],
    where: Mapping[Source[object], Path],
    output: Path,
    kind: str,
    how: Streaming,
) -> None:
    from flowalg_spark import StreamInput, streaming
    from pyspark.sql import functions as F

    assert how.watermark is not None
    inputs = {
        source: StreamInput(
            _frame(session, source, path, streams=True, seen=how.seen),
            how.watermark,
            processing_time=None if how.seen is None else F.col(how.seen),
        )
        for source, path in where.items()
    }
    drain = str(how.checkpoint / "drain")
    frame = streaming.compile(pipeline, inputs, drain_signal_path=drain, metrics=True)
    rows = frame.with_metrics() if how.metrics else frame.with_drops()
    query = (
        _plain(rows, kind)
        .writeStream.format(kind)
        .options(**_writing(kind))
        .option("checkpointLocation", str(how.checkpoint / "query"))
        .trigger(availableNow=True)
        .start(str(output))
    )
    try:
        watch(query)
    finally:
        query.stop()


@contextmanager
def _spark() -> Iterator[SparkSession]:
    """A session that is stopped afterwards; what the JVM prints goes to a file."""
    with extra("spark"):
        from flowalg_spark import local_session
    with tempfile.TemporaryDirectory() as folder:
        session = local_session("flowalg run", log=Path(folder) / "spark.log")
        try:
            yield session
        finally:
            session.stop()


def _frame(
    session: SparkSession,
    source: Source[object],
    path: Path,
    *,
    streams: bool = False,
    seen: str | None = None,
) -> DataFrame:
    """Files as a frame, bounded or streaming."""
    from flowalg_spark import read_files, schema_of
    from pyspark.sql import types as T

    where = f"the input of {source.name}"
    if not path.exists():
        raise ArgumentError(where, str(path), "a file or folder that exists")
    kind = format_of(path, where)
    if kind == "parquet" and not streams:
        return read_files(session, source, str(path))
    schema = schema_of(source)
    if seen is not None and seen not in schema.names:
        schema = schema.add(seen, T.TimestampType())
    if kind == "csv":
        schema = _of_header(path, schema)
    options = {**_header(kind), "mode": "FAILFAST", "enforceSchema": "false"}
    if streams:
        return session.readStream.schema(schema).options(**options).format(kind).load(str(path))
    return session.read.schema(schema).options(**options).format(kind).load(str(path))


def _of_header(path: Path, wanted: T.StructType) -> T.StructType:
    """The columns of a CSV file in its own order; those that are not wanted are text."""
    from pyspark.sql import types as T

    first = min(path.rglob("*.csv")) if path.is_dir() else path
    with first.open(encoding="utf-8", newline="") as lines:
        names = next(csv.reader(lines), [])
    kinds = {one.name: one.dataType for one in wanted.fields}
    return T.StructType([T.StructField(name, kinds.get(name, T.StringType())) for name in names])


def _rows_of(session: SparkSession, output: Path, kind: str) -> int:
    return session.read.format(kind).options(**_header(kind)).load(str(output)).count()


def _header(kind: str) -> dict[str, str]:
    return {"header": "true"} if kind == "csv" else {}


def _writing(kind: str) -> dict[str, str]:
    """Text has points in time to the microsecond; Spark's default would cut them off at milliseconds."""
    return {**_header(kind), **({} if kind == "parquet" else {"timestampFormat": _TO_THE_MICROSECOND})}


def _plain(frame: DataFrame, kind: str) -> DataFrame:
    """The frame as its format takes it: for CSV each part of a struct is a column, ``window.start``."""
    return frame.select(*_leaves(frame.schema, ())) if kind == "csv" else frame


def _leaves(schema: T.StructType, path: tuple[str, ...]) -> Iterator[Column]:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    for one in schema.fields:
        names = (*path, one.name)
        if isinstance(one.dataType, T.StructType):
            yield from _leaves(one.dataType, names)
        else:
            yield F.col(".".join(f"`{name}`" for name in names)).alias(".".join(names))


__all__ = ["Interpreter", "Streaming", "ran_as_batch", "ran_as_stream", "ran_in_memory"]
