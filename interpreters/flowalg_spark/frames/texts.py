"""Files of text as frames: CSV and JSON lines are read over Arrow, as the local engine and the command line read them.

Spark lists the files and delivers their bytes: lines of JSON, which a large file divides into several tasks, and whole
files of CSV, whose quoted cells may have line ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import unquote

import pyarrow as pa
from attrs import frozen
from flowalg_columns.layout import fields_in
from flowalg_columns.names import CORRUPT_ERROR, CORRUPT_RECORD
from flowalg_columns.text.csv_files import BadFileError
from flowalg_columns.text.files import not_blank, read_file, require_text
from flowalg_columns.text.json_objects import Fields, read_objects, sum_of_objects
from flowalg_columns.text.listing import TEMPORARY
from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.readwriter import DataStreamReader

from flowalg.data.errors import ElementError
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord, bad_text
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.lowering.worker_errors import SentBatches
from flowalg_spark.state.patterns import READ_TWICE, pattern_of

TextFormat: TypeAlias = Literal["csv", "json"]
"""Spark's names of CSV and of JSON lines."""

_DATA: Final = "data"
_FILE: Final = "file"


def read_text(
    reader: DataFrameReader | DataStreamReader,
    source: SourceNode,
    path: str,
    format: TextFormat,
    columns: Fields,
    *,
    dead_letters: bool,
    several: bool = False,
) -> DataFrame:
    """Returns the records in files of text as a frame with the fields of a source's records, and further columns.

    A text that is no record fails the query. With ``dead_letters`` it is a row instead that only has ``CORRUPT_RECORD``
    and ``CORRUPT_ERROR``, which are null in all others. A file in a folder ``NAME=VALUE`` fails the query.
    So does one with the name of a pattern where a micro-batch may have ``several`` files: Spark reads those beside it
    several times.
    """
    if format == "csv":
        schema = "path string, modificationTime timestamp, length long, content binary"
        frame = reader.schema(schema).format("binaryFile").load(path)
        data, file = F.col("content"), F.col("path")
    else:
        frame = reader.schema("value string").format("text").option("lineSep", "\n").load(path)
        data, file = F.col("value").cast("binary"), F.col("_metadata.file_path")
    fields = (*fields_in(source.shape), *columns)
    letters = [(name, T.StringType()) for name in (CORRUPT_RECORD, CORRUPT_ERROR) if dead_letters]
    output = T.StructType(
        [T.StructField(name, kind) for name, kind in [*((n, spark_type(s)) for n, s in fields), *letters]]
    )
    decode = DecodeTexts(source, fields, format, _partitions_in(path), dead_letters, several)
    named = frame.select(data.alias(_DATA), file.alias(_FILE))
    settled = ~F.lower(F.element_at(F.split(F.col(_FILE), "/"), -1)).rlike(TEMPORARY)
    return named.filter(settled).mapInArrow(SentBatches(decode), output)


@frozen
class DecodeTexts:
    """Decodes lines of JSON, or files of CSV, over Arrow batches, to rows of fields.

    ``partitions`` is the number of folders ``NAME=VALUE`` in the path that is read.
    """

    source: SourceNode
    fields: Fields
    format: TextFormat
    partitions: int
    dead_letters: bool
    several: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the texts in some batches."""
        for batch in batches:
            self._require_plain(batch)
            for rows, bad in self._read(batch):
                if not self.dead_letters:
                    yield from rows.to_batches()
                    continue
                nulls = pa.nulls(rows.num_rows, pa.string())
                rows = rows.append_column(CORRUPT_RECORD, nulls).append_column(CORRUPT_ERROR, nulls)
                yield from rows.to_batches()
                if bad:
                    yield _corrupt_rows(bad, rows.schema)

    def _require_plain(self, batch: pa.RecordBatch) -> None:
        """Raises ``ElementError`` for a file in a folder ``NAME=VALUE``, whose column is not read, or of a pattern."""
        for name in batch.column(_FILE).unique().to_pylist():
            file = self._path(name)
            if file is not None and _partitions_in(file.rpartition("/")[0]) > self.partitions:
                raise ElementError(
                    f"source {self.source.name!r}: {file} is in a folder of a partition; read each such folder as a "
                    "source of its own, or write its column into the files"
                )
            if self.several and file is not None and pattern_of(file) != file:
                raise ElementError(f"source {self.source.name!r}: {file}{READ_TWICE}")

    def _read(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.Table, list[BadRecord]]]:
        if self.format == "csv":
            for row in batch.to_pylist():
                yield self._file(row[_DATA], row[_FILE])
            return
        lines = cast("pa.LargeBinaryArray", batch.column(_DATA).cast(pa.large_binary()))
        parsed = read_objects(lines, self.fields, not_blank(lines), whole=sum_of_objects(self.source.shape))
        files = batch.column(_FILE)
        for number in parsed.bad:
            self._require_text(lines[number].as_py() or b"", self._path(files[number].as_py()))
        bad = [
            self._bad(
                self._path(files[number].as_py()),
                error.describe("a line"),
                (lines[number].as_py() or b"").decode(errors="backslashreplace").rstrip("\r"),
            )
            for number, error in parsed.bad.items()
        ]
        yield parsed.rows, bad

    def _require_text(self, line: bytes, path: str | None) -> None:
        try:
            require_text(line)
        except BadFileError as error:
            raise ElementError(f"source {self.source.name!r}: {path}: {error}") from error

    def _path(self, name: str | None) -> str | None:
        """Returns the path of a file: as metadata, Spark has it with the escapes of a URL."""
        return unquote(name) if name is not None and self.format == "json" else name

    def _file(self, data: bytes, path: str) -> tuple[pa.Table, list[BadRecord]]:
        try:
            file = read_file(data, "csv", self.fields)
        except BadFileError as error:
            raise ElementError(f"source {self.source.name!r}: {path}: {error}") from error
        bad = [self._bad(path, line.error, line.text) for line in file.bad]
        return file.rows, bad

    def _bad(self, path: str | None, error: str, text: str) -> BadRecord:
        described = f"source {self.source.name!r}: {path}: {error}"
        if not self.dead_letters:
            raise ElementError(described)
        return bad_text(self.source, described, text)


def _partitions_in(path: str) -> int:
    return sum("=" in part for part in path.split("/"))


def _corrupt_rows(bad: list[BadRecord], schema: pa.Schema) -> pa.RecordBatch:
    rows = [{CORRUPT_RECORD: record.record, CORRUPT_ERROR: record.error} for record in bad]
    return pa.RecordBatch.from_pylist(rows, schema=schema)
