"""The inputs of a stream: where the micro-batches of a source come from, and the columns that carry its clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Final, Generic, Literal, TypeAlias, TypeVar

import polars as pl
from attrs import field, frozen
from flowalg_columns.checks.streams import CLOCK_COLUMNS, require_policy
from flowalg_columns.text.scalars import ANY, INFERRED
from flowalg_kafka import KafkaInput
from flowalg_kafka.input import PARTITION as MESSAGE_PARTITION

from flowalg.data.errors import ArgumentError, hidden, is_frame, local_path, require_count
from flowalg.data.metadata import WindowBounds
from flowalg.data.shapes import BOOLEAN, TIMESTAMP, OptionalOf, Shape, shape_of
from flowalg.data.time import duration_of
from flowalg.runs.micro_batches import require_iterable
from flowalg.watermarks import WatermarkPolicy
from flowalg_polars.frames.foreign import ArrowStream

R_co = TypeVar("R_co", covariant=True)

Format: TypeAlias = Literal["parquet", "csv", "jsonl"]
FORMATS: Final = ("parquet", "csv", "jsonl")
"""The formats of files: Parquet, CSV with a header, JSON lines."""

STREAM_COLUMNS: Final = tuple(CLOCK_COLUMNS)
"""The arguments of ``StreamInput`` that name columns."""

_SHAPES: Final[Mapping[str, Shape]] = {
    "processing_time": TIMESTAMP,
    "source_watermark": TIMESTAMP,
    "end_of_input": BOOLEAN,
    "tick": BOOLEAN,
    "signal_window": shape_of(WindowBounds),
}
"""The shapes of columns; the others are texts."""
_OF_ALL_ROWS: Final = ("processing_time", "partition")
"""The arguments whose columns all rows have; those of the others may be null."""

ONE_OF_FRAMES: Final = "a frame of Frames.frames"
"""What messages call a frame."""

StreamColumn: TypeAlias = "str | pl.Expr"
"""A column of the frames of a source, by name or as an expression."""


def column_of(column: StreamColumn) -> pl.Expr:
    """Returns a column as an expression."""
    return pl.col(column) if isinstance(column, str) else column


def columns_in(column: StreamColumn, shape: Shape = INFERRED) -> dict[str, Shape]:
    """Returns the columns that an expression reads, with a shape if it is a column, else with that of their texts."""
    if isinstance(column, str):
        return {column: shape}
    kind = shape if column.meta.is_column() else INFERRED
    return dict.fromkeys(column.meta.root_names(), kind)


def micros_of(column: StreamColumn) -> pl.Expr:
    """Returns a timestamp column in microseconds since the epoch."""
    return column_of(column).dt.cast_time_unit("us").dt.convert_time_zone("UTC").to_physical()


def _path(folder: str | PathLike[str]) -> str:
    return local_path("Files.folder", folder)


@frozen
class Files:
    """A folder of files, which are read in the order of their modification; a micro-batch has ``per_batch`` of them.

    The texts of CSV and JSON lines must have the types of the source's records; other columns are read only if the
    ``StreamInput`` names them. Files must not change once they are in the folder: write them elsewhere and move them
    into it; one that has changed is reported once, in the log and in the metrics. Files whose name starts with ``.`` or
    ``_``, or ends as a temporary one (``.tmp``, ``.crc``, ``._COPYING_``), are ignored; a folder ``NAME=VALUE`` is an
    error.

    Each file is read once, also one that comes late or has an old time: its name is remembered while it is in the
    folder, and at least for the time ``forget_after`` it was taken out, seven days by default. Then its checkpoint may
    forget the name, so that it does not grow with all files that were ever read, and a file with this name is a new
    one, which is read. With ``None``, and without a checkpoint, names are remembered indefinitely.
    """

    folder: str = field(converter=_path)
    format: Format = "parquet"
    per_batch: int = field(default=1, kw_only=True)
    forget_after: timedelta | None = field(default=timedelta(days=7), kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ArgumentError("Files.format", self.format, f"one of {', '.join(FORMATS)}")
        require_count("Files.per_batch", self.per_batch)
        if self.forget_after is not None:
            duration_of("Files.forget_after", self.forget_after, allow_zero=True)


@frozen
class Frames:
    """An iterable of frames, each a micro-batch: of Polars, pandas, PyArrow, DuckDB, or all that share tables by Arrow.

    The input ends when it is exhausted.

    After a restart from a checkpoint, the iterable is read from its beginning, and the micro-batches that the
    checkpoint has are skipped.
    """

    frames: Iterable[ArrowStream]

    def __attrs_post_init__(self) -> None:
        require_iterable("Frames.frames", self.frames, "frames")


@frozen
class Records(Generic[R_co]):
    """An iterable of records, read in a thread as they come. The input ends when it is exhausted.

    A micro-batch has the records that have arrived since the last one, at most ``per_batch`` of them. After a restart
    from a checkpoint, the iterable is read from its beginning, and the records that the checkpoint has are skipped.
    """

    records: Iterable[R_co]
    per_batch: int = field(default=100_000, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_iterable("Records.records", self.records, "records")
        require_count("Records.per_batch", self.per_batch)


SourceData: TypeAlias = "Files | Frames | Records[object] | KafkaInput"
"""Where the micro-batches of a source come from."""

StreamData: TypeAlias = "SourceData | str | PathLike[str]"
"""Where the micro-batches of a source come from; a path is a folder of Parquet files."""


def _data(value: StreamData) -> SourceData:
    if isinstance(value, Files | Frames | Records | KafkaInput):
        return value
    if isinstance(value, str | PathLike):
        return Files(value)
    valid = (
        "Files(folder), Frames(frames) such as Frames([frame]), Records(records), KafkaInput(servers, topic), or the "
        "path of a folder"
    )
    raise ArgumentError("StreamInput.data", value if is_frame(value) else hidden(value), valid)


@frozen
class StreamInput:
    """The input of a source: its data, and the columns that carry its clocks.

    ``watermark`` is the policy that derives the source's watermark from its event times. The processing time of a
    micro-batch is the time at which it is read, which is the same on replay. If the source carries processing times
    itself, ``processing_time`` is their timestamp column, and a micro-batch is at the greatest of its rows.
    ``partition`` is the column with the name of the source partition of a row; without it, that of a message is its
    partition of the topic. ``source_watermark`` is a timestamp column with the watermark that the source publishes for
    that partition, if any; it may be on any row.

    Some rows are control rows and not elements; their other fields may be null. ``end_of_input``, a boolean column, is
    true on a row that ends the input: the watermark then advances to the end of time. ``signal``, a text column, is the
    name of a signal for ``AtSignal``, which all stages downstream receive. It is one to the windows of a key if
    ``signal_key``, a text column, has the key as JSON, and to one window of the key if ``signal_window`` has it (a
    struct of the timestamps ``start`` and ``end``, as in the frames of panes). ``tick``, a boolean column, is true on a
    row that only advances processing time.

    Example::

        StreamInput("scores", BoundedOutOfOrderness(timedelta(seconds=30)))
        StreamInput(Files("scores", "jsonl"), LagQuantile(0.99), processing_time="seen", partition="device")
    """

    data: SourceData = field(converter=_data)
    watermark: WatermarkPolicy
    processing_time: StreamColumn | None = field(default=None, kw_only=True)
    end_of_input: StreamColumn | None = field(default=None, kw_only=True)
    partition: StreamColumn | None = field(default=None, kw_only=True)
    signal: StreamColumn | None = field(default=None, kw_only=True)
    signal_key: StreamColumn | None = field(default=None, kw_only=True)
    signal_window: StreamColumn | None = field(default=None, kw_only=True)
    tick: StreamColumn | None = field(default=None, kw_only=True)
    source_watermark: StreamColumn | None = field(default=None, kw_only=True)

    @property
    def partition_column(self) -> StreamColumn | None:
        """The column with the name of the source partition."""
        if self.partition is None and isinstance(self.data, KafkaInput):
            return MESSAGE_PARTITION
        return self.partition

    def __attrs_post_init__(self) -> None:
        require_policy(self.watermark)
        for name in STREAM_COLUMNS:
            column = getattr(self, name)
            if column is not None and not isinstance(column, str | pl.Expr):
                raise ArgumentError(
                    f"StreamInput.{name}", column, "the name of a column, an expression, or None"
                )


def named_columns(stream: StreamInput) -> tuple[tuple[str, Shape], ...]:
    """Returns the columns that an input names, with their shapes in files of text."""
    shapes: dict[str, Shape] = {}
    for argument in STREAM_COLUMNS:
        column = getattr(stream, argument)
        if column is not None:
            shape = _SHAPES.get(argument, ANY)
            columns = columns_in(column, shape if argument in _OF_ALL_ROWS else OptionalOf(shape))
            shapes.update({name: shapes.get(name, read) for name, read in columns.items()})
    return tuple(shapes.items())
