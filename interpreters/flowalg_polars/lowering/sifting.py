"""Sources that keep bad records apart: as columns with flags on the rows that are bad, which Python then reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import repeat

import polars as pl
import pyarrow as pa
from attrs import evolve
from flowalg_columns.layout import fields_in
from flowalg_columns.names import ORIGIN
from flowalg_columns.units import DurationRangeError, in_whole_microseconds
from flowalg_columns.values import decode_leniently, times_as_integers
from flowalg_shard.tables.columns import PROCESSING_TIME

from flowalg.data.errors import ElementError
from flowalg.data.shapes import RecordOf
from flowalg.data.time import ProcessingTime
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.elements import ArrivalOf, at_any_time, read_or_reject
from flowalg_polars.lowering.binding import BoundSource, in_microseconds
from flowalg_polars.lowering.sections import Flagged, Sifted, sift


def sift_source(source: SourceNode, program: BoundSource, rows: pl.DataFrame) -> Sifted:
    """Returns the elements in the rows of a source, by the program that binds it."""

    def in_python(part: pl.DataFrame) -> Sifted:
        read = [
            read_or_reject(source, record, arrival_of)
            for record, arrival_of in zip(stored_records(source, part), _arrivals(part), strict=True)
        ]
        origins = part[ORIGIN] if ORIGIN in part.columns else repeat(None)
        bad = tuple(
            record if origin is None else evolve(record, error=f"{origin}: {record.error}")
            for record, origin in zip(read, origins, strict=False)
            if isinstance(record, BadRecord)
        )
        good = pl.Series([not isinstance(record, BadRecord) for record in read], dtype=pl.Boolean())
        return Sifted(program.compute(part.filter(good)), bad)

    invalid = rows.select(invalid=program.invalid)["invalid"].fill_null(False)
    section = Flagged(program.flags, in_python)
    if not invalid.any():
        return sift((section,), rows)
    bad, rest = in_python(rows.filter(invalid)), sift((section,), rows.filter(~invalid))
    return Sifted(pl.concat([rest.frame, bad.frame]), (*bad.bad, *rest.bad))


def _arrivals(rows: pl.DataFrame) -> Iterator[ArrivalOf]:
    """Yields the arrivals of rows, which carry processing times in a stream only."""
    if PROCESSING_TIME not in rows.columns:
        return repeat(at_any_time, rows.height)
    return (partial(_at, time) for time in rows[PROCESSING_TIME])


def _at(time: int | None, record: object) -> ProcessingTime | None:
    return None if time is None else ProcessingTime(time)


def stored_records(source: SourceNode, rows: pl.DataFrame) -> list[object]:
    """Returns the records in rows as they are stored, valid or not."""
    names = [name for name, _ in fields_in(source.shape)]
    stored = rows.select(in_microseconds(pl.col(name), rows.schema[name]) for name in names).to_arrow()
    try:
        arrays = [in_whole_microseconds(column.combine_chunks()) for column in stored.columns]
    except DurationRangeError as error:
        raise ElementError(
            f"source {source.name!r}: a duration must have 64 bits in microseconds; got {error}"
        ) from error
    stored = pa.Table.from_arrays(arrays, names=names)
    plain = pa.schema([field.with_type(times_as_integers(field.type)) for field in stored.schema])
    plain_rows = stored.cast(plain).to_pylist()
    if isinstance(source.shape, RecordOf):
        return [decode_leniently(row, source.shape) for row in plain_rows]
    return [decode_leniently(row["value"], source.shape) for row in plain_rows]
