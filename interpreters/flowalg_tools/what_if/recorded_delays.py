"""Recorded data as columns: the event time, processing time, key and partition of each record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, TypeVar

import numpy as np
import polars as pl
from attrs import frozen
from flowalg_shard.tables.columns import EVENT_TIME, PARTITION, PROCESSING_TIME

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, micros_of
from flowalg.data.values import has_float
from flowalg.elementwise.functions import user_function_error
from flowalg.pipeline.source import Source
from flowalg.runs.micro_batches import RecordTimes

A = TypeVar("A")
B = TypeVar("B")

KEY: Final = "__key"
"""The column of keys, or of numbers that identify them."""

KEPT: Final = "__kept"
"""Whether a record passes the filters. A record that does not is in no window, but still advances the watermark."""

_POINTS: Final = "timezone-aware datetimes, or whole microseconds since the Unix epoch"
_NO_FLOATS: Final = "without floats, which cannot be compared exactly"


@frozen(eq=False)
class RecordedDelays:
    """The event times, processing times, keys and partitions of a source's records.

    ``of`` makes them from columns, and ``from_records`` from records and functions. The order of the records does not
    matter. ``frame`` has a row for each record, with both times in microseconds since the Unix epoch.
    """

    frame: pl.DataFrame

    @classmethod
    def of(
        cls,
        event_times: Iterable[object],
        processing_times: Iterable[object],
        *,
        keys: Iterable[object] | None = None,
        partitions: Iterable[object] | None = None,
        kept: Iterable[bool] | None = None,
    ) -> RecordedDelays:
        """Records from columns of equal length: sequences, or columns of Polars, Arrow or numpy.

        Times are timezone-aware datetimes, or whole microseconds since the Unix epoch. Keys are hashable values without
        floats; by default all records have the same key. Partitions are strings or integers; by default the source has
        one. A record that is not ``kept`` (a filter drops it) advances the watermark and is in no window; by default
        all are kept. Raises ``ArgumentError`` for other values, for nulls in times, partitions and ``kept``, for event
        times at or after the end of time, and without records.
        """
        events = _points("event_times", event_times)
        columns = {EVENT_TIME: events, PROCESSING_TIME: _points("processing_times", processing_times)}
        same_key = pl.repeat(0, len(events), dtype=pl.Int8(), eager=True)
        columns[KEY] = same_key if keys is None else _keys(keys)
        columns[PARTITION] = (
            pl.repeat("", len(events), dtype=pl.String(), eager=True)
            if partitions is None
            else _partitions(partitions)
        )
        columns[KEPT] = (
            pl.repeat(True, len(events), dtype=pl.Boolean(), eager=True) if kept is None else _kept(kept)
        )
        for name, column in columns.items():
            if len(column) != len(events):
                valid = f"as long as the event times, {len(events)}"
                raise ArgumentError(f"the length of {name.removeprefix('__')}s", len(column), valid)
        if events.is_empty():
            raise ArgumentError("event_times", [], "the event times of at least one record")
        latest = events.max()
        if isinstance(latest, int) and latest >= MAX_TIME:
            raise ArgumentError("event_times", latest, "before MAX_TIME")
        return cls(pl.DataFrame(columns))

    @classmethod
    def from_records(
        cls,
        source: Source[A],
        records: Iterable[A],
        *,
        processing_time: Callable[[A], datetime],
        key: Callable[[A], object] | None = None,
        partition: Callable[[A], str] | None = None,
        kept: Callable[[A], bool] | None = None,
    ) -> RecordedDelays:
        """Records of a source, by its event time and functions like those of ``Timeline.from_records``.

        Raises ``UserFunctionError`` if a function raises, and ``ArgumentError`` as ``of`` does.
        """
        all_records = list(records)
        observations = list(map(RecordTimes(source, processing_time, partition).observation, all_records))
        return cls.of(
            [observation.event_time for observation in observations],
            [observation.processing_time for observation in observations],
            keys=None if key is None else [_call("key", key, record) for record in all_records],
            partitions=[observation.partition for observation in observations],
            kept=None if kept is None else [_call("kept", kept, record) for record in all_records],
        )

    def __len__(self) -> int:
        return self.frame.height


def _call(argument: str, f: Callable[[A], B], record: A) -> B:
    try:
        return f(record)
    except Exception as cause:
        raise user_function_error(argument, f, record, cause) from cause


def _in_columns(column: Iterable[object]) -> pl.Series | None:
    """Returns a column of Polars, Arrow or numpy as a series; ``None`` for anything else."""
    if isinstance(column, pl.Series | np.ndarray) or hasattr(column, "__arrow_c_stream__"):
        return pl.Series(column)
    return pl.Series(column) if hasattr(column, "__arrow_c_array__") else None


def _as_list(argument: str, column: Iterable[object]) -> list[object]:
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise ArgumentError(argument, column, "a sequence, or a column of Polars, Arrow or numpy")
    return list(column)


def _points(argument: str, column: Iterable[object]) -> pl.Series:
    """Times as microseconds since the epoch, inside the bounds of time."""
    series = _in_columns(column)
    if series is None:
        values = [_micros(argument, point) for point in _as_list(argument, column)]
        series = pl.Series(values, dtype=pl.Int64())
    if series.has_nulls():
        raise ArgumentError(argument, None, _POINTS)
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.timestamp("us")
    if not series.dtype.is_integer():
        raise ArgumentError(argument, series.dtype, _POINTS)
    outside = series.filter((series < MIN_TIME) | (series > MAX_TIME))
    if not outside.is_empty():
        raise ArgumentError(argument, outside[0], "times between MIN_TIME and MAX_TIME")
    return series.cast(pl.Int64())


def _micros(argument: str, point: object) -> int:
    if isinstance(point, datetime):
        return micros_of(argument, point)
    if isinstance(point, bool) or not isinstance(point, int) or not MIN_TIME <= point <= MAX_TIME:
        raise ArgumentError(argument, point, _POINTS)
    return point


def _keys(column: Iterable[object]) -> pl.Series:
    """Returns the keys themselves if they are a column, otherwise numbers in the order of their first occurrence."""
    series = _in_columns(column)
    if series is not None:
        if series.dtype.is_float():
            raise ArgumentError("keys", series.dtype, _NO_FLOATS)
        return series
    numbers: dict[object, int] = {}
    try:
        codes = [numbers.setdefault(key, len(numbers)) for key in _as_list("keys", column)]
    except TypeError as unhashable:
        raise ArgumentError("keys", str(unhashable), "hashable") from unhashable
    for key in numbers:
        if has_float(key):
            raise ArgumentError("keys", key, _NO_FLOATS)
    return pl.Series(codes, dtype=pl.Int64())


def _partitions(column: Iterable[object]) -> pl.Series:
    series = _in_columns(column)
    if series is None:
        names = _as_list("partitions", column)
        for name in names:
            if isinstance(name, bool) or not isinstance(name, str | int):
                raise ArgumentError("partitions", name, "strings or integers")
        series = pl.Series([str(name) for name in names], dtype=pl.String())
    named = isinstance(series.dtype, pl.String | pl.Categorical | pl.Enum) or series.dtype.is_integer()
    if not named or series.has_nulls():
        raise ArgumentError("partitions", series.dtype, "strings or integers, without nulls")
    return series.cast(pl.String())


def _kept(column: Iterable[bool]) -> pl.Series:
    series = _in_columns(column)
    if series is None:
        flags = _as_list("kept", column)
        for flag in flags:
            if not isinstance(flag, bool):
                raise ArgumentError("kept", flag, "booleans")
        series = pl.Series(flags, dtype=pl.Boolean())
    if series.dtype != pl.Boolean() or series.has_nulls():
        raise ArgumentError("kept", series.dtype, "booleans, without nulls")
    return series
