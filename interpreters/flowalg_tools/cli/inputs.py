"""The inputs of a pipeline: ``NAME=PATH`` for each source, or only a path if there is one source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from attrs import frozen

from flowalg import Mode, PCollection, Source, Timeline
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError, UnboundSourceError
from flowalg.pipeline import sources
from flowalg.pipeline.nodes import GroupingNode
from flowalg.pipeline.source import source_node
from flowalg.runs import BadRecord
from flowalg.runs.elements import good_records
from flowalg.watermarks import WatermarkPolicy
from flowalg_tools.cli.files import read_table, require_extra
from flowalg_tools.cli.names import is_qualified_name, load_timelines

if TYPE_CHECKING:
    import pyarrow as pa

    from flowalg_tools.recorded import ColumnHistory

T = TypeVar("T")


@frozen(kw_only=True)
class FileOptions:
    """What of a file is read: ``processing_time`` is the column with the processing times of its records.

    With ``source_watermark``, a column, some records carry the watermark of their source. With ``dead_letters`` bad
    records are kept apart.
    """

    processing_time: str | None
    source_watermark: str | None = None
    dead_letters: bool = False

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of times that are read besides the records."""
        return tuple(name for name in (self.processing_time, self.source_watermark) if name is not None)


@frozen(kw_only=True)
class TimelineOptions(FileOptions):
    """How the records of a file become a timeline; ``every`` is the micro-batch interval.

    With ``batch_rows`` a micro-batch has so many records instead. Without either, each processing time is one of its
    own; with ``most``, records are divided into so many micro-batches if they are more. With ``replay`` the timeline is
    instead that of a streaming run, from the metrics in the files of its output.
    """

    watermark: WatermarkPolicy
    every: timedelta | None
    ends: bool
    batch_rows: int | None = None
    most: int | None = None
    replay: Path | None = None

    @property
    def mode(self) -> Mode:
        """When triggers are evaluated: in a replay only at the micro-batches of the run."""
        return Mode.CONTINUOUS if self.replay is None else Mode.MICRO_BATCH


def bind_paths(
    pipeline: PCollection[object] | Mapping[str, PCollection[object]], inputs: Sequence[str]
) -> dict[Source[object], Path]:
    """Returns the path of the data of each source of a pipeline, or of named outputs.

    Raises ``UnboundSourceError`` for a source without a path and for a name that is not a source.
    """
    outputs = [pipeline] if isinstance(pipeline, PCollection) else list(pipeline.values())
    by_name = {source.name: source for output in outputs for source in sources(output)}
    bound: dict[Source[object], Path] = {}
    for text in inputs:
        name, equals, path = text.partition("=")
        if not equals and len(by_name) == 1:
            name, path = next(iter(by_name)), text
        if name not in by_name or not path:
            expected = ", ".join(f"{source}=PATH" for source in by_name)
            raise UnboundSourceError(f"{text} is not an input of the pipeline, which needs {expected}")
        if by_name[name] in bound:
            valid = f"given once, and is {bound[by_name[name]]} too; pass a folder for several files"
            raise ArgumentError(f"the input of {name}", path, valid)
        bound[by_name[name]] = Path(path)
    for name, source in by_name.items():
        if source not in bound:
            raise UnboundSourceError(f"source {name!r} has no input: add {name}=PATH")
    return bound


def read_timelines(
    pipeline: PCollection[object],
    inputs: Sequence[str],
    options: TimelineOptions,
    bad: list[BadRecord] | None = None,
) -> dict[Source[object], Timeline[object]]:
    """Returns the timeline of each source of a pipeline, from a module or from files. Bad records of files go to
    ``bad``.
    """
    if len(inputs) == 1 and is_qualified_name(inputs[0]):
        return _by_source(pipeline, load_timelines(inputs[0]), inputs[0])
    paths = bind_paths(pipeline, inputs)
    if options.replay is not None:
        return _replay_timelines(paths, options.replay)
    return {source: _from_file(source, path, options, bad) for source, path in paths.items()}


def read_batches(
    pipeline: PCollection[object], inputs: Sequence[str], bad: list[BadRecord] | None
) -> dict[Source[object], Timeline[object]]:
    """Returns the records of each source as a batch of this moment. Bad records of files go to ``bad``."""
    now = datetime.now(UTC)
    return {
        source: Timeline.batch(
            read_records(source, read_table(source, path, bad=bad), path, lenient=bad is not None), time=now
        )
        for source, path in bind_paths(pipeline, inputs).items()
    }


def read_columns(
    pipeline: PCollection[object], grouping: GroupingNode, inputs: Sequence[str], options: TimelineOptions
) -> ColumnHistory | None:
    """Returns the history of the only source of a pipeline, from the columns of its file.

    ``None`` if ``read_timelines`` is needed: for other inputs, and for data with an error, which it then raises.
    """
    is_timeline = len(inputs) == 1 and is_qualified_name(inputs[0])
    if is_timeline or options.replay is not None or options.processing_time is None:
        return None
    if options.source_watermark is not None:
        return None
    paths = bind_paths(pipeline, inputs)
    if len(paths) != 1:
        return None
    ((source, path),) = paths.items()
    table = read_table(source, path, *options.times)
    from flowalg_tools.recorded import UnsuitedDataError, column_history

    try:
        return column_history(
            source,
            grouping,
            table,
            options.processing_time,
            options.watermark,
            every=options.every,
            ends=options.ends,
        )
    except UnsuitedDataError:
        return None


def _replay_timelines(
    paths: Mapping[Source[object], Path], output: Path
) -> dict[Source[object], Timeline[object]]:
    """Returns the timelines of a streaming run; the records are in files, in the order in which it received them."""
    with require_extra("spark"):
        import flowalg_spark
        import pyarrow as pa
        from flowalg_columns.panes import METRICS_COLUMN
        from pyarrow import parquet
    files = sorted(output.glob("*.parquet")) if output.is_dir() else [output]
    if not files or not all(
        file.exists() and METRICS_COLUMN in parquet.read_schema(file).names for file in files
    ):
        raise ArgumentError("--replay", str(output), "the Parquet output of a run with --metrics")
    metrics = pa.concat_tables(
        [
            parquet.read_table(file, columns=[METRICS_COLUMN], coerce_int96_timestamp_unit="us")
            for file in files
        ]
    )
    log = flowalg_spark.replay_log(metrics)
    return {
        source: log.timeline(source, read_records(source, read_table(source, path), path))
        for source, path in paths.items()
    }


def _by_source(
    pipeline: PCollection[object], loaded: Timeline[object] | Mapping[object, object], name: str
) -> dict[Source[object], Timeline[object]]:
    read = sources(pipeline)
    if isinstance(loaded, Timeline):
        if len(read) == 1:
            return dict.fromkeys(read, loaded)
        names = ", ".join(source.name for source in read)
        raise ArgumentError(f"TIMELINE {name}", loaded, f"a mapping with a timeline for each of {names}")
    timelines: dict[Source[object], Timeline[object]] = {}
    for source, timeline in loaded.items():
        if not isinstance(source, Source) or not isinstance(timeline, Timeline):
            raise ArgumentError(f"TIMELINE {name}", (source, timeline), "a mapping from Source to Timeline")
        timelines[source] = timeline
    return timelines


def _from_file(
    source: Source[object], path: Path, options: TimelineOptions, bad: list[BadRecord] | None
) -> Timeline[object]:
    """Returns the timeline of the records of a file, by the columns with their times."""
    if options.processing_time is None:
        raise ArgumentError("--processing-time", None, "the column with the processing time of each record")
    table = read_table(source, path, *options.times, bad=bad)
    records = read_records(source, table, path, lenient=bad is not None)
    with errors_in(path):
        times = _by_record(records, read_times(table, options.processing_time, source.name))
        published = None
        if options.source_watermark is not None:
            column = read_optional_times(table, options.source_watermark, source.name)
            published = _by_record(records, column).__getitem__
    records = [*good_records(source_node(source), records, bad)]
    rows = options.batch_rows
    if rows is None and options.every is None and options.most is not None and len(records) > options.most:
        rows = -(-len(records) // options.most)
    return Timeline.from_records(
        source,
        records,
        processing_time=lambda record: times[id(record)],
        published=None if published is None else lambda record: published(id(record)),
        watermark=options.watermark,
        every=options.every,
        batch_rows=rows,
        ends=options.ends,
    )


def _by_record(records: Sequence[object], points: Iterable[T]) -> dict[int, T]:
    """Returns the times of records, by their identity."""
    return dict(zip(map(id, records), points, strict=True))


def read_records(
    source: Source[object], table: pa.Table, path: Path, *, lenient: bool = False
) -> list[object]:
    """Returns the records of a table that was read from a file, each as a new object.

    If ``lenient``, records that do not match the source are read as they are stored.
    """
    with require_extra("polars"):
        from flowalg_columns.tables import records_in
    with errors_in(path):
        if not lenient:
            return records_in(source, table)
        import polars as pl
        from flowalg_polars.lowering.binding import require_schema
        from flowalg_polars.lowering.sifting import stored_records

        frame = pl.DataFrame(table)
        require_schema(source_node(source), frame.schema)
        return stored_records(source_node(source), frame)


@contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Prefixes errors of the data with the file that has them."""
    try:
        yield
    except (ElementError, SchemaMismatchError) as error:
        raise type(error)(f"{path}: {error}") from error


def read_times(table: pa.Table, column: str, source: str) -> Iterator[datetime]:
    """The timestamps of a column; raises ``SchemaMismatchError`` if it has nulls or another type."""
    for row, value in enumerate(read_optional_times(table, column, source), start=1):
        if value is None:
            raise SchemaMismatchError(_bad_time(source, column, value, row))
        yield value


def read_optional_times(table: pa.Table, column: str, source: str) -> Iterator[datetime | None]:
    """The timestamps and nulls of a column; raises ``SchemaMismatchError`` if it has another type."""
    for row, value in enumerate(table.column(column).to_pylist(), start=1):
        if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
            raise SchemaMismatchError(_bad_time(source, column, value, row))
        yield value


def _bad_time(source: str, column: str, value: object, row: int) -> str:
    return f"source {source!r}: {column} is {value!r} in row {row}; it must be a timestamp with a time zone"
