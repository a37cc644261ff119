"""Records from files and panes to files, without Spark: Parquet, CSV and JSON lines, by their suffix."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from flowalg import ArgumentError, MissingExtraError, Pane, PCollection, Source

if TYPE_CHECKING:
    import pyarrow as pa

A = TypeVar("A")

FORMATS: Final = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
"""What the suffix of a file says, as Spark calls it."""


def format_of(path: Path, argument: str) -> str:
    """The format of a file, or of the files of a folder, by the suffix; raises ``ArgumentError`` for any other."""
    found = FORMATS.get(path.suffix)
    if found is None and path.is_dir():
        kinds = {FORMATS[one.suffix] for one in path.iterdir() if one.suffix in FORMATS}
        found = kinds.pop() if len(kinds) == 1 else None
    if found is None:
        raise ArgumentError(argument, str(path), f"a file or folder of one of {', '.join(FORMATS)}")
    return found


def read_table(source: Source[object], path: Path, *, seen: str | None) -> pa.Table:
    """The columns of a source's records, and the one that says when they were seen, of a file or a folder's files."""
    if not path.exists():
        raise ArgumentError(f"the input of {source.name}", str(path), "a file or folder that exists")
    with extra("spark"):
        import pyarrow as pa
        from flowalg_spark import arrow_schema_of
    schema = arrow_schema_of(source)
    if seen is not None and seen not in schema.names:
        schema = schema.append(pa.field(seen, pa.timestamp("us", tz="UTC")))
    kind = format_of(path, f"the input of {source.name}")
    files = sorted(one for one in path.rglob("*") if one.suffix in FORMATS) if path.is_dir() else [path]
    if not files:
        raise ArgumentError(f"the input of {source.name}", str(path), "a folder with files")
    return pa.concat_tables([_read(one, kind, schema) for one in files], promote_options="default")


def _read(path: Path, kind: str, schema: pa.Schema) -> pa.Table:
    from pyarrow import csv as arrow_csv
    from pyarrow import json as arrow_json
    from pyarrow import parquet

    match kind:
        case "parquet":
            return parquet.read_table(path)
        case "csv":
            types = {one.name: one.type for one in schema}
            how = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True)
            return arrow_csv.read_csv(path, convert_options=how)
        case _:
            return arrow_json.read_json(path, parse_options=arrow_json.ParseOptions(explicit_schema=schema))


def write_panes(pipeline: PCollection[A], panes: Iterable[Pane[A]], path: Path) -> int:
    """Panes as a file in the format of its suffix; gives how many there are. CSV has structs as ``window.start``."""
    kind = format_of(path, "--output")
    with extra("spark"):
        import pyarrow as pa
        from flowalg_spark import pane_table
    table = pane_table(pipeline, panes)
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "parquet":
            from pyarrow import parquet

            parquet.write_table(table, path)
        case "csv":
            from pyarrow import csv as arrow_csv

            while any(pa.types.is_struct(one.type) for one in table.schema):
                table = table.flatten()
            arrow_csv.write_csv(table, path)
        case _:
            lines = (json.dumps(row, default=_plain, ensure_ascii=False) for row in table.to_pylist())
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return int(table.num_rows)


def _plain(value: object) -> object:
    """What JSON has no form for, as text; a duration in seconds."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return value.hex()
        case _:
            return str(value)


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Imports that an extra of flowalg brings; raises ``MissingExtraError`` where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f"{missing.name} is not installed: pip install 'flowalg[{name}]'"
        ) from missing


__all__ = ["FORMATS", "extra", "format_of", "read_table", "write_panes"]
