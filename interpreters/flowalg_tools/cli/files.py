"""Reads records and writes panes or elements without Spark: Parquet, CSV and JSON lines, by suffix."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from flowalg import FlowalgError, PCollection, Source
from flowalg.data.shapes import TIMESTAMP
from flowalg.errors import ArgumentError, MissingExtraError, SchemaMismatchError
from flowalg.pipeline.source import source_node
from flowalg.runs import BadRecord, Output
from flowalg.runs.bad_records import bad_text
from flowalg_tools.cli.terminal import show

if TYPE_CHECKING:
    import pyarrow as pa

A = TypeVar("A")

FORMATS: Final = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
"""Spark's name for the format of each suffix."""


class UnreadableFileError(FlowalgError, ValueError):
    """A file is damaged, or a value in it does not have the type of its column."""


def format_of(path: Path, argument: str) -> str:
    """Returns the format of a file, or of a folder's files, by suffix; raises ``ArgumentError`` for an unknown
    suffix.
    """
    kind = FORMATS.get(path.suffix)
    if kind is None and path.is_dir():
        kinds = {FORMATS[file.suffix] for file in path.iterdir() if file.suffix in FORMATS}
        kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        raise ArgumentError(argument, str(path), f"a file or folder with a suffix of {', '.join(FORMATS)}")
    return kind


def read_table(
    source: Source[object], path: Path, *times: str, bad: list[BadRecord] | None = None
) -> pa.Table:
    """Reads the columns of a source's records, and further columns of times, from a file or a folder.

    Texts that are not records are added to ``bad``; without it they are errors. So is a file without a column of times.
    """
    if not path.exists():
        raise ArgumentError(f"the input of {source.name}", str(path), "a file or folder that exists")
    with require_extra("polars"):
        import pyarrow as pa
        from flowalg_columns.text.listing import require_file
    kind = format_of(path, f"the input of {source.name}")
    if kind == "parquet":  # which is read twice; texts may come from a pipe
        require_file(source.name, str(path))
    files = _data_files(source.name, path) if path.is_dir() else [path]
    if not files:
        raise ArgumentError(f"the input of {source.name}", str(path), "a folder with files")

    tables = [_read(source, file, kind, times, bad) for file in files]
    for file, table in zip(files, tables, strict=True):
        for name in times:
            if name not in table.column_names:
                names = ", ".join(table.column_names)
                raise SchemaMismatchError(
                    f"{file}: source {source.name!r}: the data have no column {name}; they have {names}"
                )
    return pa.concat_tables(tables, promote_options="default")


def _data_files(source: str, folder: Path) -> list[Path]:
    """Returns the files of a folder, as every engine reads it: without hidden and temporary ones, and those of its
    folders.

    Raises ``ArgumentError`` for a file with an unknown suffix, which must not be passed over.
    """
    from flowalg_columns.text.listing import data_files

    files = sorted(Path(entry.path) for entry in data_files(source, str(folder)))
    for file in files:
        format_of(file, f"the input of {source}: a file in its folder")
    return files


def _read(
    source: Source[object], path: Path, kind: str, times: Sequence[str], bad: list[BadRecord] | None
) -> pa.Table:
    """Reads a file; raises ``UnreadableFileError``, which names the file, and the row, column and value if it can."""
    import pyarrow as pa
    from flowalg_columns.layout import fields_in
    from flowalg_columns.tables import arrow_schema_of
    from flowalg_columns.text.csv_files import BadFileError
    from flowalg_columns.text.files import read_file
    from flowalg_columns.text.json_objects import sum_of_objects
    from flowalg_polars.lowering.binding import require_schema, scan_parquet
    from pyarrow import parquet

    node = source_node(source)
    try:
        data = path.read_bytes()
        if kind == "parquet":
            if not data:
                fields = [pa.field(name, pa.timestamp("us", "UTC")) for name in times]
                return pa.schema([*arrow_schema_of(source), *fields]).empty_table()
            require_schema(node, scan_parquet(source.name, path).collect_schema())
            return parquet.read_table(pa.BufferReader(data))
        extra = [(name, TIMESTAMP) for name in times]
        file = read_file(
            data,
            "csv" if kind == "csv" else "json",
            fields_in(node.shape),
            extra,
            whole=sum_of_objects(node.shape),
        )
    except SchemaMismatchError as error:
        raise SchemaMismatchError(f"{path}: {error}") from None
    except BadFileError as error:
        raise UnreadableFileError(f"{path}: {error}") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableFileError(f"{path} cannot be read as {kind}: {reason}") from error
    for line in file.bad:
        if bad is None:
            raise UnreadableFileError(f"{path}: {line.error}")
        bad.append(bad_text(node, f"source {source.name!r}: {path}: {line.error}", line.text))
    return file.rows


def write_batches(table: pa.Table, folder: Path, starts: Sequence[int]) -> None:
    """Writes a table as a Parquet file for each of some first rows, which a stream reads in this order."""
    from pyarrow import parquet

    folder.mkdir(parents=True)
    for number, (start, end) in enumerate(pairwise([*starts, table.num_rows])):
        path = folder / f"{number:08}.parquet"
        parquet.write_table(table.slice(start, end - start), path)
        os.utime(path, (number, number))  # a stream reads files in order of their times


def starts_of_periods(table: pa.Table, column: str, every: timedelta) -> list[int]:
    """Returns the first row of each period of a column of times, in whose order a table is."""
    import polars as pl

    micros = pl.Series(table.column(column)).dt.cast_time_unit("us").to_physical()
    period = micros // (every // timedelta(microseconds=1))
    return pl.arange(0, len(period), eager=True).filter(period.ne_missing(period.shift())).to_list()


def write_output(pipeline: PCollection[A], output: Output[A], path: Path) -> None:
    """Writes panes or elements to a file in the format of its suffix.

    In CSV each field of a struct is a column, such as ``window.start``.
    """
    kind = format_of(path, "--output")
    with require_extra("polars"):
        pass
    from flowalg_columns.tables import output_table

    write_table(output_table(pipeline, output), path, kind)


def write_table(table: pa.Table, path: Path, kind: str) -> None:
    """Writes a table of panes or elements to a file; in CSV each field of a struct is a column."""
    import pyarrow as pa

    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "parquet":
            from pyarrow import parquet

            parquet.write_table(table, path)
        case "csv":
            from pyarrow import csv as arrow_csv

            while any(pa.types.is_struct(field.type) for field in table.schema):
                table = table.flatten()
            try:
                arrow_csv.write_csv(table, path)
            except pa.ArrowException as error:
                reason = f"a cell of CSV cannot hold a value: {error}"
                raise ArgumentError("--output", str(path), "a .parquet or .jsonl file", why=reason) from error
        case _:
            lines = (json.dumps(row, default=_plain, ensure_ascii=False) for row in table.to_pylist())
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _plain(value: object) -> object:
    """Returns a value that JSON cannot hold: a duration in seconds, anything else as text."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return value.hex()
        case _:
            return str(value)


LETTER_COLUMNS: Final = ("stage", "error", "record")
"""The columns of a bad record in a file."""


def letters_path(output: Path) -> Path:
    """Returns where the bad records of a run are written: ``panes.dead-letters.csv`` for ``panes.csv``."""
    return output.with_name(f"{output.stem}.dead-letters{output.suffix}")


def write_dead_letters(bad: Sequence[BadRecord], output: Path) -> None:
    """Writes the bad records of a run next to its output, sorted, and reports their number."""
    import pyarrow as pa

    rows = [{name: getattr(record, name) for name in LETTER_COLUMNS} for record in sorted(bad)]
    table = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in LETTER_COLUMNS]))
    write_table(table, letters_path(output), format_of(output, "--output"))
    report_dead_letters(len(rows), output)


def report_dead_letters(count: int, output: Path) -> None:
    """Reports the number of bad records of a run."""
    show(f"{count:,} bad {'record' if count == 1 else 'records'} to {letters_path(output)}")


@contextmanager
def require_extra(name: str) -> Iterator[None]:
    """Wraps imports that need an extra of flowalg; raises ``MissingExtraError`` if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f"{missing.name} is not installed: pip install 'flowalg[{name}]'"
        ) from missing
