"""Element-wise work that keeps bad records apart: as columns, and in Python for the few rows around a bad one.

Element-wise work is deterministic and sees one element at a time, so the rows without the bad ones give what they would
have given beside them. Rows on which the columns fail are divided until few are left; Python, which has the same
meaning, then finds the bad ones, with the step and the error. Rows without a bad record are computed once. Rows that
lack a field are known to be bad without a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Final

import polars as pl
import pyarrow as pa
from attrs import define, evolve, frozen
from flowalg_columns.layout import fields_in
from flowalg_columns.names import ORIGIN
from flowalg_columns.units import DurationRangeError, in_whole_microseconds
from flowalg_columns.values import decode_leniently, times_as_integers
from flowalg_shard.tables.columns import PROCESSING_TIME

from flowalg.data.errors import ElementError
from flowalg.data.shapes import OptionalOf, RecordOf
from flowalg.data.time import ProcessingTime
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.elements import ArrivalOf, at_any_time, read_or_reject
from flowalg_polars.errors import raise_causes
from flowalg_polars.lowering.binding import in_microseconds
from flowalg_polars.lowering.programs import Program

_MANY: Final = 4_096
"""The number of rows that Python looks through one by one. Fewer would fail as columns too often where many are bad."""
_FEW: Final = 128
"""The number where few are bad: these rows fail as columns in about the time in which Python looks through them."""
_RARE: Final = 8
"""The number of bad rows among many below which they are few."""


@frozen
class Sifted:
    """The elements that work gave for good rows, and the bad records."""

    frame: pl.DataFrame
    bad: tuple[BadRecord, ...] = ()


def sift_steps(program: Program, rows: pl.DataFrame) -> Sifted:
    """Returns elements after the steps of a program."""

    def in_python(part: pl.DataFrame) -> Sifted:
        bad: list[BadRecord] = []
        for python_pass in program.passes:
            part, records = python_pass.sift(part)
            bad += records
        return Sifted(part, tuple(bad))

    return Sifter(program.compute_all, in_python).sift(rows)


def sift_source(source: SourceNode, program: Program, rows: pl.DataFrame) -> Sifted:
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

    lacking = rows.select(pl.any_horizontal(pl.lit(False), *_nulls(source))).to_series()
    sifter = Sifter(program.compute, in_python)
    if not lacking.any():
        return sifter.sift(rows)
    bad, rest = in_python(rows.filter(lacking)), sifter.sift(rows.filter(~lacking))
    return Sifted(pl.concat([rest.frame, bad.frame]), (*bad.bad, *rest.bad))


def _nulls(source: SourceNode) -> Iterator[pl.Expr]:
    """Yields whether a field of a row is null that must not be: such a row is bad, which needs no search."""
    for name, field in fields_in(source.shape):
        if not isinstance(field, OptionalOf):
            yield pl.col(name).is_null()


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


@define
class Sifter:
    """Computes rows as columns, and divides those that fail; Python looks through the rest.

    It counts the rows that it has ``seen``, and the ``bad`` ones among them: where these are rare, it pays to divide
    further.
    """

    work: Callable[[pl.DataFrame], pl.DataFrame]
    in_python: Callable[[pl.DataFrame], Sifted]
    seen: int = 0
    bad: int = 0

    def sift(self, rows: pl.DataFrame) -> Sifted:
        """Returns the elements of some rows, in order, and the bad records."""
        try:
            with raise_causes():
                done = Sifted(self.work(rows))
        except Exception:  # whatever it is, Python raises it again unless it is due to a row
            if rows.height > (_FEW if self.bad * _MANY < _RARE * self.seen else _MANY):
                middle = rows.height // 2
                first, second = self.sift(rows[:middle]), self.sift(rows[middle:])
                return Sifted(pl.concat([first.frame, second.frame]), first.bad + second.bad)
            with raise_causes():
                done = self.in_python(rows)
        self.seen += rows.height
        self.bad += len(done.bad)
        return done
