"""Parses CSV and JSON lines, and finds the cell that cannot be parsed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def parse_text(data: bytes, kind: str, schema: pa.Schema) -> pa.Table:
    """Parses CSV or JSON lines; raises ``pa.ArrowException`` if the text does not have the schema."""
    from pyarrow import csv as arrow_csv
    from pyarrow import json as arrow_json

    if kind == "csv":
        types = {field.name: field.type for field in schema}
        options = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        # Without threads: one that still reads when an error ends the process aborts it.
        reading = arrow_csv.ReadOptions(use_threads=False)
        return arrow_csv.read_csv(io.BytesIO(data), read_options=reading, convert_options=options)
    explicit = arrow_json.ParseOptions(explicit_schema=schema)
    return arrow_json.read_json(
        io.BytesIO(data), read_options=arrow_json.ReadOptions(use_threads=False), parse_options=explicit
    )


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
    import pyarrow as pa

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
    import pyarrow as pa

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


__all__ = ["describe_bad_cell", "parse_text"]
