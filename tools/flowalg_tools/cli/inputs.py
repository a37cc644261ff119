"""What a pipeline is run on: ``NAME=PATH`` for each source, or a path alone where there is one source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from attrs import frozen
from flowalg_reference import Mode

from flowalg import (
    ArgumentError,
    PCollection,
    SchemaMismatchError,
    Source,
    Timeline,
    UnboundSourceError,
    WatermarkPolicy,
    sources,
)
from flowalg_tools.cli.files import extra, read_table
from flowalg_tools.cli.names import is_name, timelines_named

if TYPE_CHECKING:
    import pyarrow as pa

A = TypeVar("A")


@frozen
class Seeing:
    """How records that lie in a file were seen: when, by the column ``seen``; with what watermark; how often.

    Or as a streaming run had them, which has told so in the files of ``recorded``.
    """

    seen: str | None
    watermark: WatermarkPolicy
    every: timedelta | None
    ends: bool
    recorded: Path | None = None

    @property
    def mode(self) -> Mode:
        """When the clocks are looked at: in a recorded run only when there was a micro-batch."""
        return Mode.CONTINUOUS if self.recorded is None else Mode.MICRO_BATCH


def paths(pipeline: PCollection[object], given: Sequence[str]) -> dict[Source[object], Path]:
    """The path of each source's data; raises ``UnboundSourceError`` for a source without one, and for another name."""
    read = {source.name: source for source in sources(pipeline)}
    found: dict[Source[object], Path] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals and len(read) == 1:
            name, path = next(iter(read)), one
        if name not in read or not path:
            known = ", ".join(f"{source}=PATH" for source in read)
            raise UnboundSourceError(f"{one} is no input of the pipeline, which needs {known}")
        found[read[name]] = Path(path)
    for name, source in read.items():
        if source not in found:
            raise UnboundSourceError(f"source {name!r} is not bound: give {name}=PATH")
    return found


def timelines(
    pipeline: PCollection[object], given: Sequence[str], seeing: Seeing
) -> dict[Source[object], Timeline[object]]:
    """A timeline for each source: what a module has, or what is recorded in files."""
    if len(given) == 1 and is_name(given[0]):
        return _by_source(pipeline, timelines_named(given[0]), given[0])
    found = paths(pipeline, given)
    if seeing.recorded is not None:
        return _as_recorded(found, seeing.recorded)
    return {source: recorded(source, path, seeing) for source, path in found.items()}


def _as_recorded(found: Mapping[Source[object], Path], run: Path) -> dict[Source[object], Timeline[object]]:
    """The timelines of a streaming run, whose records lie in files by the order in which it had them."""
    with extra("spark"):
        import flowalg_spark
        import pyarrow as pa
        from flowalg_spark.frames.final_values import METRICS_COLUMN
        from pyarrow import parquet
    files = sorted(run.glob("*.parquet")) if run.is_dir() else [run]
    if not files or not all(
        one.exists() and METRICS_COLUMN in parquet.read_schema(one).names for one in files
    ):
        raise ArgumentError("--recorded", str(run), "the Parquet files of a run with --metrics")
    told = pa.concat_tables(
        [parquet.read_table(one, columns=[METRICS_COLUMN], coerce_int96_timestamp_unit="us") for one in files]
    )
    recording = flowalg_spark.recorded(told)
    return {
        source: recording.timeline(source, records_of(source, read_table(source, path, seen=None)))
        for source, path in found.items()
    }


def _by_source(
    pipeline: PCollection[object], found: Timeline[object] | Mapping[object, object], name: str
) -> dict[Source[object], Timeline[object]]:
    read = sources(pipeline)
    if isinstance(found, Timeline):
        if len(read) == 1:
            return dict.fromkeys(read, found)
        names = ", ".join(source.name for source in read)
        raise ArgumentError(f"TIMELINE {name}", found, f"a mapping with a timeline for each of {names}")
    chosen: dict[Source[object], Timeline[object]] = {}
    for source, timeline in found.items():
        if not isinstance(source, Source) or not isinstance(timeline, Timeline):
            raise ArgumentError(f"TIMELINE {name}", (source, timeline), "a source with its timeline")
        chosen[source] = timeline
    return chosen


def recorded(source: Source[object], path: Path, seeing: Seeing) -> Timeline[object]:
    """The timeline of records that lie in a file beside the time at which each was seen."""
    if seeing.seen is None:
        raise ArgumentError(
            "--seen", None, "the column that says when each record was seen (its processing time)"
        )
    table = read_table(source, path, seen=seeing.seen)
    records = records_of(source, table)
    times = dict(zip(map(id, records), seen_times(table, seeing.seen, source.name), strict=True))
    return Timeline.from_records(
        source,
        records,
        processing_time=lambda record: times[id(record)],
        watermark=seeing.watermark,
        every=seeing.every,
        ends=seeing.ends,
    )


def records_of(source: Source[object], table: pa.Table) -> list[object]:
    """The records in a table, each an object of its own."""
    with extra("spark"):
        from flowalg_spark import records_in
    return records_in(source, table)


def seen_times(table: pa.Table, column: str, source: str) -> Iterator[datetime]:
    """The points in time in a column; raises ``SchemaMismatchError`` for a column that has none, or has gaps."""
    names = ", ".join(table.column_names)
    if column not in table.column_names:
        raise SchemaMismatchError(f"source {source!r}: the data lack the column {column}; they have {names}")
    for row, one in enumerate(table.column(column).to_pylist()):
        if not isinstance(one, datetime) or one.tzinfo is None:
            raise SchemaMismatchError(
                f"source {source!r}: {column} is {one!r} in row {row}; it must be a timestamp with a time zone"
            )
        yield one


__all__ = ["Seeing", "paths", "recorded", "records_of", "seen_times", "timelines"]
