r"""CSV with a header: its records by their quotes, exactly in Python and many at once by Arrow.

Cells are separated by commas, and records by line ends (``\n``, ``\r\n`` or ``\r``). A cell that begins with a quote
ends with one, and has two quotes for one inside; it may have line ends. In other cells a quote is a character like any
other. A line whose quotes do not pair up to a record with a cell for each column is a bad record by itself, so a stray
quote affects its own line only. Empty lines are no records.

An empty cell is null. A text is null if its cell is empty and has no quotes. No blank is removed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import IO, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from flowalg.data.shapes import EnumOf, Scalar, Shape, present
from flowalg_columns.text.dividing import BadTextError, Numbers, ReadTexts, Row, read_divided
from flowalg_columns.text.json_objects import Fields, schema_of_fields
from flowalg_columns.text.scalars import TEXTS, describe_shape, read_scalar, read_scalars
from flowalg_columns.values import AnyArray

Span: TypeAlias = tuple[int, int]
"""The beginning and the end of a record in a file, without its line end."""

_CELL: Final = rb'(?:"(?:[^"]++|"")*+"|[^",\r\n][^,\r\n]*+)?'
_RECORDS: Final = re.compile(rb"(?:%b(?:,%b)*+(?:\r\n|\r|\n|\Z))*+" % (_CELL, _CELL))
_CELLS: Final = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",\r\n][^,\r\n]*+)?)(?:,|\Z)')
_LINE: Final = re.compile(rb"[^\r\n]*+")
_LINE_ENDS: Final = re.compile(rb"[\r\n]*+")
_MOST_BYTES: Final = 1 << 28
"""The size of a text that Arrow parses at once."""


class BadFileError(Exception):
    """A file has no records of a source: its argument says why."""


class CSVFile:
    """A CSV file, without a byte order mark, whose header names fields of records.

    Raises ``BadFileError`` for a header that is not text, or that has a field twice or not at all, and for a field that
    no cell holds. It may lack those that are ``optional``, which are then no columns of the rows.
    """

    def __init__(self, data: bytes, fields: Fields, optional: Collection[str] = ()) -> None:
        self.data = data if data.endswith((b"\n", b"\r")) else data + b"\n"
        first = next(_spans(self.data, _record_of("*")))
        self.begin = first[1]
        try:
            self.columns = [text or "" for text, _ in _cells_of(data[slice(*first)].decode())]
        except (UnicodeDecodeError, BadTextError) as error:
            raise BadFileError("the names of the columns, in the first line, are no CSV in UTF-8") from error
        counts = Counter(self.columns)
        for name, shape in fields:
            if counts[name] > 1:
                raise BadFileError(f"the column {name} is in the header {counts[name]} times")
            if not counts[name] and name not in optional:
                raise BadFileError(f"{name} must be a column; the header has {', '.join(self.columns)}")
            if not isinstance(present(shape), Scalar | EnumOf):
                raise BadFileError(
                    f"{name} is {shape}, which no cell of CSV holds; use JSON lines or Parquet"
                )
        self._record = _record_of(f"{{{len(self.columns) - 1}}}")
        self.fields = [(name, shape) for name, shape in fields if name in counts]
        self.schema = schema_of_fields(self.fields)
        self._spans: list[Span] | None = None

    @property
    def spans(self) -> Sequence[Span]:
        """Where the records are."""
        if self._spans is None:
            self._spans = list(_spans(self.data, self._record, self.begin))
        return self._spans

    def read(self) -> ReadTexts:
        """Reads the records as rows with those fields that the header has."""
        if not self.fields or _LINE_ENDS.fullmatch(self.data, self.begin):
            return ReadTexts(self.schema.empty_table(), np.arange(0), {})
        body = pa.py_buffer(self.data).slice(self.begin)
        if b'"' not in self.data or _RECORDS.fullmatch(self.data, self.begin):
            rows = self._parse(body)
            if rows is not None:
                return ReadTexts(rows, np.arange(rows.num_rows), {})
        return read_divided(np.arange(len(self.spans)), self._parse_some, self._parse_one, self.schema)

    def text_of(self, number: int) -> str:
        """Returns the text of a record, for messages."""
        return self.data[slice(*self.spans[number])].decode(errors="backslashreplace")

    def _parse_some(self, numbers: Numbers) -> pa.Table | None:
        records = [self.data[slice(*self.spans[number])] for number in numbers.tolist()]
        if not all(self._record.fullmatch(record) for record in records if b'"' in record):
            return None
        rows = self._parse(pa.py_buffer(b"\n".join([b"", *records, b""])))
        return rows if rows is not None and rows.num_rows == len(numbers) else None

    def _parse(self, text: pa.Buffer) -> pa.Table | None:
        """Returns the rows of well-formed records, which have a line end before and after each.

        Returns ``None`` if one of them is perhaps bad. Without the line ends, Arrow removes a byte order mark from the
        first record, and reads an empty cell at the end of the last one as that before it: with quotes or without.
        """
        if text.size > _MOST_BYTES or not _is_utf8(text):
            return None
        names = [str(number) for number in range(len(self.columns))]
        wanted = [names[self.columns.index(name)] for name, _ in self.fields]
        try:
            table = arrow_csv.read_csv(
                cast("IO[bytes]", pa.BufferReader(text)),
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, column_names=names, block_size=text.size + 1
                ),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()),
                    include_columns=wanted,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            return None
        arrays = []
        for name, (_, shape) in zip(wanted, self.fields, strict=True):
            array = _read_cells(table.column(name).combine_chunks(), shape)
            if array is None:
                return None
            arrays.append(array)
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _parse_one(self, number: int) -> Row:
        data = self.data[slice(*self.spans[number])]
        try:
            cells = list(_cells_of(data.decode()))
        except UnicodeDecodeError as error:
            place = f"{error.reason} at byte {self.spans[number][0] + error.start}"
            raise BadTextError(f"is not valid UTF-8: {place}; save the file as UTF-8") from error
        if len(cells) != len(self.columns):
            got = [text or "" for text, _ in cells]
            raise BadTextError(
                f"must have {len(self.columns)} columns, {', '.join(self.columns)}; got {len(got)}: {got}"
            )
        by_name = dict(zip(self.columns, cells, strict=True))
        return {name: _read_cell(*by_name[name], present(shape), name) for name, shape in self.fields}


def _record_of(more: str) -> re.Pattern[bytes]:
    """Returns the pattern of a record with one cell, and with ``more`` cells, a repetition, after it.

    No line is searched for more cells than a record has: a quote on each line would make that quadratic.
    """
    return re.compile(rb"%b(?:,%b)%b+(?=[\r\n]|\Z)" % (_CELL, _CELL, more.encode()))


def _spans(data: bytes, record: re.Pattern[bytes], at: int = 0) -> Iterator[Span]:
    """Yields where the records are, from a position on. A line with stray quotes is one by itself."""
    while True:
        ends = _LINE_ENDS.match(data, at)
        assert ends is not None, "there may be no line end"
        at = ends.end()
        if at == len(data):
            return
        line = _LINE.match(data, at)
        assert line is not None, "a line may be empty"
        end = line.end()
        whole = record.match(data, at) if data.find(b'"', at, end) >= 0 else None
        if whole is not None:
            end = whole.end()
        yield at, end
        at = end


def _cells_of(record: str) -> Iterator[tuple[str | None, bool]]:
    """Yields the cells of a record, each with whether it has quotes; an empty one without quotes is ``None``."""
    at = 0
    while True:
        cell = _CELLS.match(record, at)
        if cell is None:
            raise BadTextError(f"has a quote that does not enclose a cell: {record[:80]}")
        yield (cell[2], False) if cell[1] is None else (cell[1].replace('""', '"'), True)
        at = cell.end()
        if not cell[0].endswith(","):
            return


def _read_cells(texts: AnyArray, shape: Shape) -> AnyArray | None:
    kind = present(shape)
    assert isinstance(kind, Scalar | EnumOf), "CSVFile checks its fields"
    if kind not in TEXTS:
        texts = pc.if_else(pc.equal(texts, pa.scalar("")), pa.scalar(None, pa.string()), texts)
    return read_scalars(texts, kind)


def _read_cell(text: str | None, quoted: bool, shape: Shape, name: str) -> object:
    assert isinstance(shape, Scalar | EnumOf), "CSVFile checks its fields"
    if text is None or (not text and shape not in TEXTS):
        return None
    try:
        return read_scalar(text, shape)
    except ValueError as error:
        why = str(error)
        got = "" if why.startswith("a number") else f" got {text[:80]!r}" + (", but" if why else "")
        raise BadTextError(
            f"{name} must be {describe_shape(shape)};{got}{why and ' '}{why}", of_field=True
        ) from error


def _is_utf8(text: pa.Buffer) -> bool:
    offsets = pa.py_buffer(np.array([0, text.size], np.int64).tobytes())
    whole = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, offsets, text])
    try:
        whole.cast(pa.large_string())
    except pa.ArrowException:
        return False
    return True
