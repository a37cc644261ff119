"""Parses CSV and JSON lines strictly, and finds the cells and records that cannot be parsed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

_NO_OBJECT: Final = re.compile(rb"^[ \t]*[^{\s]", re.MULTILINE)
"""The beginning of a line that is no JSON object; pyarrow may crash on it."""


def parse_text(data: bytes, kind: str, schema: pa.Schema) -> pa.Table:
    """Parses CSV or JSON lines; raises ``pa.ArrowException`` if the text does not have the schema."""
    if kind == "csv":
        types = {field.name: field.type for field in schema}
        options = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        # Without threads: one that still reads when an error ends the process aborts it.
        reading = arrow_csv.ReadOptions(use_threads=False)
        return arrow_csv.read_csv(io.BytesIO(data), read_options=reading, convert_options=options)
    if _NO_OBJECT.search(data):
        raise pa.ArrowInvalid("a line is no JSON object")
    explicit = arrow_json.ParseOptions(explicit_schema=schema)
    return arrow_json.read_json(
        io.BytesIO(data), read_options=arrow_json.ReadOptions(use_threads=False), parse_options=explicit
    )


def parse_records(data: bytes, kind: str, schema: pa.Schema, reject: Callable[[str, str], None]) -> pa.Table:
    """Parses the records of a file that have the schema; the others are rejected, each with its error and its text.

    Raises ``pa.ArrowException`` if it is not the text of records, such as a file without a header.
    """
    try:
        return parse_text(data, kind, schema)
    except pa.ArrowException:
        text = data.decode(errors="backslashreplace")
    if kind == "csv":
        header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
        lines = [_csv_line(row) for row in rows if row]
        head = _csv_line(header)
    else:
        lines, head = list(filter(str.strip, text.splitlines(keepends=True))), ""
    empty = parse_text(head.encode(), kind, schema) if kind == "csv" else schema.empty_table()

    def good(first: int, last: int) -> pa.Table:
        part = (head + "".join(lines[first:last])).encode()
        try:
            return parse_text(part, kind, schema)
        except pa.ArrowException as error:
            if last - first == 1:
                described = describe_bad_cell(part, kind, schema) or str(error)
                reject(re.sub(r"^row 1\b", f"row {last}", described), lines[first].rstrip("\r\n"))
                return empty
            middle = (first + last) // 2
            return pa.concat_tables([good(first, middle), good(middle, last)], promote_options="permissive")

    return good(0, len(lines)) if lines else empty


def _csv_line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()


def describe_bad_cell(data: bytes, kind: str, schema: pa.Schema) -> str | None:
    """Returns the row, the column and the value of the first cell that has another type, if there is one."""
    if not data.strip():
        return (
            "the file is empty; it must have the names of its columns"
            if kind == "csv"
            else "the file is empty"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + (0 if kind == "csv" else 1)
        return f"row {row} is not valid UTF-8: {error.reason} at byte {error.start}; save the file as UTF-8"
    rows = _csv_rows(text) if kind == "csv" else _json_rows(text)
    if isinstance(rows, str):
        return rows
    for field in schema:
        cells = [row.get(field.name) for row in rows]
        bad = _first_bad(cells, field, kind)
        if bad is not None:
            return f"row {bad + 1}: {field.name} must be {_describe_type(field)}; got {cells[bad]!r}"
    return None


def _describe_type(field: pa.Field[pa.DataType]) -> str:
    is_time = pa.types.is_timestamp(field.type)
    return "a time, such as 2024-01-01T12:00:00Z" if is_time else f"of type {field.type}"


def _csv_rows(text: str) -> Sequence[Mapping[str, object]] | str:
    header, *lines = list(csv.reader(io.StringIO(text))) or [[]]
    for number, cells in enumerate(lines, start=1):
        if cells and len(cells) != len(header):
            return f"row {number} must have {len(header)} columns, {', '.join(header)}; got {len(cells)}: {cells}"
    return [dict(zip(header, cells, strict=True)) for cells in lines if cells]


def _json_rows(text: str) -> Sequence[Mapping[str, object]] | str:
    rows = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            return f"row {number} is not valid JSON: {error.msg} at column {error.colno}: {line[:80]}"
        except ValueError:
            return f"row {number} has a number with too many digits: {line[:80]}"
        except RecursionError:
            return f"row {number} has values that are nested too deeply: {line[:80]}"
        if not isinstance(row, dict):
            return f"row {number} must be a JSON object; got {line[:80]}"
        rows.append(row)
    return rows


def _first_bad(cells: Sequence[object], field: pa.Field[pa.DataType], kind: str) -> int | None:
    """Returns the index of the first cell that cannot be parsed, by bisection."""
    if _parses(cells, field, kind):
        return None
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _parses(cells[low:middle], field, kind) else (low, middle)
    return low


def _parses(cells: Sequence[object], field: pa.Field[pa.DataType], kind: str) -> bool:
    out = io.StringIO()
    if kind == "csv":
        csv.writer(out, quoting=csv.QUOTE_ALL).writerows([[field.name], *([cell] for cell in cells)])
    else:
        out.writelines(json.dumps({field.name: cell}) + "\n" for cell in cells)
    try:
        parse_text(out.getvalue().encode(), kind, pa.schema([field]))
    except pa.ArrowException:
        return not cells
    return True


__all__ = ["describe_bad_cell", "parse_records", "parse_text"]
