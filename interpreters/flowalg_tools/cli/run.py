"""``flowalg run``: runs a pipeline over files, in any of the interpreters, and writes files."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from attrs import evolve, fields, frozen, has
from flowalg_reference import Reference, ReferenceBatch

from flowalg import FlowalgError, Mode, PCollection, Run, Source, load_interpreter
from flowalg.errors import ArgumentError
from flowalg.interpreters import Interpreter
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.structure import has_stages
from flowalg.runs import BadRecord, Timing
from flowalg.watermarks import WatermarkPolicy
from flowalg_tools.cli.failures import describe_failure
from flowalg_tools.cli.files import (
    format_of,
    letters_path,
    read_table,
    report_dead_letters,
    require_extra,
    starts_of_periods,
    write_batches,
    write_dead_letters,
    write_output,
    write_table,
)
from flowalg_tools.cli.inputs import (
    FileOptions,
    TimelineOptions,
    bind_paths,
    read_batches,
    read_records,
    read_timelines,
)
from flowalg_tools.cli.names import load_pipeline
from flowalg_tools.cli.terminal import show, spinner
from flowalg_tools.live import watch

if TYPE_CHECKING:
    import pyarrow as pa
    from flowalg_spark import PaneFrame
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import types as T


PANE_COLUMNS: Final = ("window", "event_time", "change", "pane")
ELEMENT_COLUMNS: Final = ("event_time", "processing_time")
_TO_THE_MICROSECOND: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


@frozen
class SparkOptions(FileOptions):
    """How a streaming query of Spark runs.

    The query keeps its state in ``checkpoint``; if the input is ``unbounded``, its windows stay open for the next run.
    With ``metrics`` it also writes the metrics of each stage and micro-batch. ``batch_rows`` is the number of records
    of each micro-batch, or ``every`` its period of processing time, if the records are divided.
    """

    watermark: WatermarkPolicy | None
    checkpoint: Path
    unbounded: bool
    metrics: bool
    batch_rows: int | None = None
    every: timedelta | None = None

    @property
    def divides(self) -> bool:
        """Whether the records are divided into micro-batches."""
        return self.batch_rows is not None or self.every is not None


def run_in_process(
    name: str, pipeline: str, inputs: Sequence[str], output: Path, options: TimelineOptions
) -> None:
    """Runs an installed interpreter, over timelines if processing times are given, otherwise over a batch.

    The local engine runs a batch from columns to columns.
    """
    with require_extra("polars"):  # which reads the files of every interpreter
        import_module("polars")
    interpreter = _interpreter(name, options)
    loaded = load_pipeline(pipeline)
    kind = format_of(output, "--output")
    bad: list[BadRecord] | None = [] if options.dead_letters else None
    if options.processing_time is not None:
        timelines = read_timelines(loaded, inputs, options, bad)
    elif name == "local":
        _run_columns(loaded, bind_paths(loaded, inputs), output, kind, bad)
        return
    else:
        timelines = read_batches(loaded, inputs, bad)
    with spinner(f"running {interpreter.capabilities.interpreter}"):
        run = interpreter.run(loaded, timelines)
    write_output(loaded, run, output)
    _report(loaded, run, output)
    if bad is not None:
        write_dead_letters([*bad, *run.bad_records], output)


def _interpreter(name: str, options: TimelineOptions) -> Interpreter:
    """Returns an installed interpreter, with the mode and the dead letters of the options if it has such fields."""
    interpreter = load_interpreter(name, argument="--on")
    if options.processing_time is None and isinstance(interpreter, Reference):
        interpreter = ReferenceBatch()
    cls: type[object] = type(interpreter)
    offered = {field.name for field in fields(cls)} if has(cls) else set()
    if options.dead_letters and "dead_letters" not in offered:
        raise ArgumentError("--dead-letters", "True", f"omitted with --on {name}")
    changes: dict[str, object] = {"dead_letters": True} if options.dead_letters else {}
    if "mode" in offered and isinstance(getattr(interpreter, "mode", None), Mode):
        changes["mode"] = options.mode
    change = cast("Callable[..., Interpreter]", evolve)  # whose type is that of attrs classes
    return change(interpreter, **changes) if changes else interpreter


def _run_columns(
    pipeline: PCollection[object],
    paths: Mapping[Source[object], Path],
    output: Path,
    kind: str,
    bad: list[BadRecord] | None,
) -> None:
    """Runs a batch of the local engine: no record of a file, and no row of the output, becomes an object."""
    import polars as pl
    from flowalg_polars import batch
    from flowalg_polars.batch.dead_letters import bad_records_in

    dead_letters = bad is not None
    with spinner("running the local engine"), locate_bad_records({} if dead_letters else paths):
        frames = {source: pl.DataFrame(read_table(source, path, bad=bad)) for source, path in paths.items()}
        compiled = batch.compile(pipeline, frames, dead_letters=dead_letters)
        others = PANE_COLUMNS if emits_panes(pipeline.node) else ELEMENT_COLUMNS
        element = [name for name in compiled.collect_schema().names() if name not in others]
        queries = [compiled.sort(others[0], *element)]
        if dead_letters:
            queries.append(compiled.dead_letters())
        rows, *letters = pl.collect_all(queries, engine="streaming")
    write_table(rows.to_arrow(), output, kind)
    count = f"{rows.height:,} {_kind_of(pipeline)}"
    on_time = f"({rows.height:,} on time)" if rows.height else "(none)"
    show(f"{count} {on_time} to {output}" if emits_panes(pipeline.node) else f"{count} to {output}")
    if bad is not None:
        write_dead_letters([*bad, *(record for frame in letters for record in bad_records_in(frame))], output)


def _kind_of(pipeline: PCollection[object]) -> str:
    """Returns what the output of a pipeline consists of, as messages call it."""
    return "panes" if emits_panes(pipeline.node) else "elements"


def _report(pipeline: PCollection[object], run: Run[object], output: Path) -> None:
    """Reports the numbers of panes by timing, or of elements, and of dropped elements by reason."""
    if not emits_panes(pipeline.node):
        show(f"{len(run.elements):,} elements to {output}")
        _report_drops(run)
        return
    timings = Counter(pane.timing for pane in run.panes)
    parts = ", ".join(
        f"{timings[timing]:,} {timing.value.replace('_', ' ')}" for timing in Timing if timings[timing]
    )
    show(f"{len(run.panes):,} panes ({parts or 'none'}) to {output}")
    _report_drops(run)


def _report_drops(run: Run[object]) -> None:
    if run.dropped:
        reasons: Counter[str] = Counter()
        for drop in run.dropped:
            reasons[drop.reason.value] += drop.count
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
        show(f"{reasons.total():,} elements were dropped: {dropped}")


def run_batch(pipeline: str, inputs: Sequence[str], output: Path, *, dead_letters: bool) -> None:
    """Runs a Spark batch that writes a folder of files, and with ``dead_letters`` one of bad records."""
    loaded = load_pipeline(pipeline)
    paths = bind_paths(loaded, inputs)
    kind = format_of(output, "--output")
    for source, path in paths.items():  # before Java starts
        _format_of_input(source, path)
    with spark_session() as session, spinner("running Spark batch"):
        from flowalg_spark import batch

        frames = {
            source: _frame(session, source, path, dead_letters=dead_letters) for source, path in paths.items()
        }
        compiled = batch.compile(loaded, frames, dead_letters=dead_letters)
        with locate_bad_records({} if dead_letters else paths):
            _write(_plain(compiled, kind), output, kind)
        count = _rows_of(session, output, kind)
        bad = _write_letters(compiled, output, kind) if dead_letters else 0
    show(f"{count:,} {_kind_of(loaded)} to the files of {output}")
    if dead_letters:
        report_dead_letters(bad, output)


def _write(frame: DataFrame, output: Path, kind: str) -> None:
    frame.write.format(kind).options(**_write_options(kind)).save(str(output))


def _write_letters(frame: PaneFrame[object], output: Path, kind: str) -> int:
    """Writes the bad records of a batch next to its output; returns their number."""
    from pyspark.sql import functions as F

    letters = frame.dead_letters().select("stage", "error", F.col("value").alias("record")).cache()
    try:
        _write(letters, letters_path(output), kind)
        return letters.count()
    finally:
        letters.unpersist()


def run_streaming(pipeline: str, inputs: Sequence[str], output: Path, options: SparkOptions) -> None:
    """Runs a Spark streaming query over the files that are there now, and writes panes and drops to a folder.

    A later run continues from the same checkpoint with the files that have been added. Unless the input is unbounded,
    the watermark advances to the end of time after the last file.
    """
    loaded = load_pipeline(pipeline)
    paths = bind_paths(loaded, inputs)
    kind = format_of(output, "--output")
    if options.watermark is None:
        raise ArgumentError(
            "--watermark", None, "a watermark policy, such as 'BoundedOutOfOrderness(5 * minute)'"
        )
    if options.metrics and kind == "csv":
        raise ArgumentError(
            "--output", str(output), "Parquet or JSON lines with --metrics, since CSV cannot hold metrics"
        )
    for source, path in paths.items():  # before Java starts
        _format_of_input(source, path)
    if options.divides:
        paths = _divide(paths, options)
    with spark_session() as session:
        from flowalg_columns.panes import METRICS_COLUMN
        from flowalg_spark import check_checkpoint, streaming

        check_checkpoint(session, options.checkpoint / "query")
        _run_query(session, loaded, paths, output, kind, options)
        if not options.unbounded:
            streaming.drain(session, str(options.checkpoint / "drain"))
            _run_query(session, loaded, paths, output, kind, options)
        written = session.read.format(kind).options(**_header(kind)).load(str(output))
        count = written.filter(f"{METRICS_COLUMN} IS NULL").count() if options.metrics else written.count()
        reason = "`drop.reason`" if kind == "csv" else "drop.reason"
        bad = written.filter(f"{reason} = 'bad_record'").count() if options.dead_letters else 0
    letters = f", {bad:,} of them bad records," if options.dead_letters else ""
    show(f"{count:,} {_kind_of(loaded)} and drops{letters} are in the files of {output}")


def _divide(paths: Mapping[Source[object], Path], options: SparkOptions) -> dict[Source[object], Path]:
    """Divides the records of each source, in order of processing time, into files of a micro-batch each."""
    folder = options.checkpoint / "batches"
    if folder.exists():
        valid = "omitted when a run continues, since its records have been divided already"
        if options.batch_rows is not None:
            raise ArgumentError("--batch-rows", options.batch_rows, valid)
        raise ArgumentError("--every", str(options.every), valid)
    if options.every is not None and options.processing_time is None:
        raise ArgumentError("--processing-time", None, "the column whose periods --every divides")
    divided = {}
    for source, path in paths.items():
        table = read_table(source, path, *options.times)
        if options.processing_time is not None:
            table = table.sort_by(options.processing_time)
        divided[source] = folder / source.name
        write_batches(table, divided[source], _starts_of_batches(table, options))
    return divided


def _starts_of_batches(table: pa.Table, options: SparkOptions) -> Sequence[int]:
    """Returns the first row of each micro-batch of a table that is in order of processing time."""
    if options.batch_rows is not None:
        return range(0, table.num_rows, options.batch_rows)
    assert options.every is not None, "the options divide"
    assert options.processing_time is not None, "--every needs it"
    return starts_of_periods(table, options.processing_time, options.every)


def _run_query(
    session: SparkSession,
    pipeline: PCollection[object],
    paths: Mapping[Source[object], Path],
    output: Path,
    kind: str,
    options: SparkOptions,
) -> None:
    from flowalg_spark import StreamInput, streaming
    from pyspark.sql import functions as F

    assert options.watermark is not None
    inputs = {
        source: StreamInput(
            _stream(session, source, path, options),
            options.watermark,
            processing_time=None if options.processing_time is None else F.col(options.processing_time),
            source_watermark=None if options.source_watermark is None else F.col(options.source_watermark),
        )
        for source, path in paths.items()
    }
    drain = str(options.checkpoint / "drain")
    staged = has_stages(pipeline.node)
    if options.metrics and not staged:
        valid = "omitted for a pipeline without a grouping and a side input, whose metrics they are"
        raise ArgumentError("--metrics", True, valid)
    frame = streaming.compile(
        pipeline, inputs, drain_signal_path=drain, metrics=staged, dead_letters=options.dead_letters
    )
    rows = frame.with_metrics() if options.metrics else frame.with_drops()
    query = (
        _plain(rows, kind)
        .writeStream.format(kind)
        .options(**_write_options(kind))
        .option("checkpointLocation", str(options.checkpoint / "query"))
        .trigger(availableNow=True)
        .start(str(output))
    )
    try:
        with locate_bad_records({} if options.dead_letters else paths, *options.times):
            watch(query)
    finally:
        query.stop()


@contextmanager
def locate_bad_records(paths: Mapping[Source[object], Path], *times: str) -> Iterator[None]:
    """Reads the files again if a query fails: the error for a bad record then has its file, row and column."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FlowalgError) or describe_failure(error) is not None:
            for source, path in paths.items():
                read_records(source, read_table(source, path, *times), path)
        raise


@contextmanager
def spark_session(name: str = "flowalg run") -> Iterator[SparkSession]:
    """Yields a session beside the active one, if there is one; else a local session that is stopped afterwards.

    The output of the JVM of a local session goes to a file.
    """
    with require_extra("spark"):
        from flowalg_spark import local_session
        from pyspark.sql import SparkSession
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active.newSession()
        return
    with tempfile.TemporaryDirectory() as folder:
        session = local_session(name, log=Path(folder) / "spark.log")
        try:
            yield session
        finally:
            session.stop()


def _frame(session: SparkSession, source: Source[object], path: Path, *, dead_letters: bool) -> DataFrame:
    """Reads files as a batch; with dead letters, a text that is no record is a row that has the text and its error."""
    from flowalg_columns.text.listing import data_files
    from flowalg_spark import read_files

    kind = _format_of_input(source, path)
    if path.is_dir() and kind != "parquet" and not any(data_files(source.name, str(path))):
        raise ArgumentError(f"the input of {source.name}", str(path), "a folder with files")
    return read_files(
        session, source, str(path), format=kind, dead_letters=dead_letters and kind != "parquet"
    )


def _stream(session: SparkSession, source: Source[object], path: Path, options: SparkOptions) -> DataFrame:
    """Reads files as a stream; with dead letters, a text that is no record is a row that has the text and its error."""
    from flowalg_spark import stream_files
    from flowalg_spark.state.patterns import file_to_stream

    is_file = path.is_file()
    return stream_files(
        session,
        source,
        file_to_stream(str(path)) if is_file else str(path),
        format=_format_of_input(source, path),
        columns=dict.fromkeys(options.times, datetime),
        dead_letters=options.dead_letters,
        per_batch=1 if is_file or options.divides else None,
    )


def _format_of_input(source: Source[object], path: Path) -> str:
    from flowalg_columns.text.listing import is_data_file

    where = f"the input of {source.name}"
    if not path.exists():
        raise ArgumentError(where, str(path), "a file or folder that exists")
    kind = format_of(path, where)
    if path.is_file() and not is_data_file(path.name):
        why = "Spark passes over files that begin with _ or .; give it another name"
        raise ArgumentError(where, str(path), "the path of a file with records", why=why)
    return kind


def _rows_of(session: SparkSession, output: Path, kind: str) -> int:
    return session.read.format(kind).options(**_header(kind)).load(str(output)).count()


def _header(kind: str) -> dict[str, str]:
    return {"header": "true"} if kind == "csv" else {}


def _write_options(kind: str) -> dict[str, str]:
    """Text formats get timestamps to the microsecond; Spark's default truncates them to milliseconds."""
    return {**_header(kind), **({} if kind == "parquet" else {"timestampFormat": _TO_THE_MICROSECOND})}


def _plain(frame: DataFrame, kind: str) -> DataFrame:
    """Returns the frame in the columns of its format: in CSV each field of a struct is a column, such as
    ``window.start``.
    """
    return frame.select(*_leaves(frame.schema, ())) if kind == "csv" else frame


def _leaves(schema: T.StructType, path: tuple[str, ...]) -> Iterator[Column]:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    for field in schema.fields:
        names = (*path, field.name)
        if isinstance(field.dataType, T.StructType):
            yield from _leaves(field.dataType, names)
        else:
            yield F.col(".".join(f"`{name}`" for name in names)).alias(".".join(names))
