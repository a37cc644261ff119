"""Whole files of text, CSV or JSON lines: the rows of their records, and the texts that are none."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from flowalg.data.shapes import Nullable, SumOf, present
from flowalg_columns.text.csv_files import BadFileError, CSVFile
from flowalg_columns.text.dividing import Numbers
from flowalg_columns.text.json_objects import Fields, read_objects, schema_of_fields
from flowalg_columns.text.scalars import INFERRED, infer_column

TextKind: TypeAlias = Literal["csv", "json"]
"""CSV with a header, or JSON lines."""

_GZIP: Final = b"\x1f\x8b"
"""The first bytes of a file that is compressed by gzip, which are no UTF-8."""
_MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, with which a file may begin."""


@frozen
class BadLine:
    """Text in a file that is not a record: its number among all records, from 1, the error, and the text."""

    row: int
    error: str
    text: str


@frozen
class FileRows:
    """The rows of the records of a file, in order, and the texts that are no records."""

    rows: pa.Table
    bad: tuple[BadLine, ...] = ()


def read_file(
    data: bytes, kind: TextKind, fields: Fields, extra: Fields = (), *, whole: SumOf | None = None
) -> FileRows:
    """Reads the records of a file; each line of JSON is a value of the sum ``whole`` if it is given.

    ``extra`` are columns that are read besides the fields. One of type ``INFERRED`` has the first type that all of its
    texts have. One that the header of a CSV file lacks, or that none of the records of a file of JSON lines has, is not
    among the rows; if it is optional, lines of JSON have nulls instead.

    A file without text has no records. Raises ``BadFileError`` for a file that cannot have records of these fields.
    """
    require_text(data)
    data = data.removeprefix(_MARK)
    field_names = {name for name, _ in fields}
    extra = [(name, shape) for name, shape in extra if name not in field_names]
    fields = (*fields, *extra)
    if not data.strip():
        return FileRows(schema_of_fields(fields).empty_table())
    if kind == "csv":
        file = CSVFile(data, fields, [name for name, _ in extra])
        parsed, text_of = file.read(), file.text_of
    else:
        lines = lines_of(data)
        parsed = read_objects(lines, fields, whole=whole)

        def text_of(number: int) -> str:
            line: bytes = lines[number].as_py()
            return line.decode(errors="backslashreplace").rstrip("\r\n")

    bad = [
        BadLine(number + 1, error.describe(f"row {number + 1}"), text_of(number))
        for number, error in parsed.bad.items()
    ]
    return FileRows(_with_extra(parsed.rows, extra, data if kind == "json" else b""), tuple(bad))


def require_text(data: bytes) -> None:
    """Raises ``BadFileError`` for the beginning of a file that is compressed by gzip."""
    if data.startswith(_GZIP):
        raise BadFileError("it is compressed by gzip, so no line of it is text; decompress it")


def _with_extra(rows: pa.Table, extra: Fields, lines: bytes) -> pa.Table:
    """Returns rows with the further columns that they have: not those that no record in some ``lines`` has."""
    for name, shape in extra:
        if name not in rows.column_names:
            continue
        at, column = rows.column_names.index(name), rows.column(name)
        lacking = lines and 0 < column.null_count == len(column) and f'"{name}"'.encode() not in lines
        if lacking and not isinstance(shape, Nullable):
            rows = rows.remove_column(at)
        elif present(shape) == INFERRED:
            rows = rows.set_column(at, name, infer_column(column.combine_chunks()))
    return rows


def lines_of(data: bytes) -> pa.LargeBinaryArray:
    r"""Returns the lines of a text that are not blank; only ``\n`` ends a line."""
    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(data):
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1]])
    offsets = pa.py_buffer(np.append(starts, len(data)).tobytes())
    buffers = [None, offsets, pa.py_buffer(data)]
    lines: object = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ends), buffers)
    assert isinstance(lines, pa.LargeBinaryArray), "lines are bytes"
    nonblank = lines.take(not_blank(lines))
    assert isinstance(nonblank, pa.LargeBinaryArray), "lines are bytes"
    return nonblank


def not_blank(lines: pa.LargeBinaryArray) -> Numbers:
    """Returns the numbers of the lines that have more than blanks."""
    doubtful = np.flatnonzero(~pc.starts_with(lines, "{").to_numpy(zero_copy_only=False))
    blank = [number for number in doubtful.tolist() if not (lines[number].as_py() or b"").strip()]
    return np.delete(np.arange(len(lines)), blank)
