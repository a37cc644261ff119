"""Windows that Python assigns or merges, over Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final, cast

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_shard.tables.calendars import calendar_bounds
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.data.errors import errors_of
from flowalg.data.time import EventTime
from flowalg.windows.calendars import Calendar
from flowalg.windows.group_errors import errors_in_group
from flowalg.windows.window import Window
from flowalg.windows.window_functions import (
    WindowFn,
    WindowsByValue,
    as_merging,
    assign_windows,
    merged_windows,
)
from flowalg_columns.layout import Layout, key_and_value, leaf_columns
from flowalg_columns.python.consecutive_groups import consecutive_groups
from flowalg_columns.values import AnyArray, read_elements, read_integers

_ROW: Final = "__row"
_NUMBER: Final = "__number"


class Values(Enum):
    """How the value of an element lies in its row."""

    PLAIN = auto()
    TAGGED = auto()
    """As in a co-group: a tuple with the value of each collection, and the number of the one that has the element."""
    TAGGED_WITH_TIMES = auto()
    """The same, where each value is a pair with its event time in microseconds."""

    def of(self, rows: list[object]) -> list[object]:
        """Returns the values of rows, as a window function receives them."""
        if self is Values.PLAIN:
            return rows
        tagged = [row[row[-1]] for row in cast("list[tuple[Any, ...]]", rows)]
        return tagged if self is Values.TAGGED else [value for value, _ in tagged]


@frozen
class CalendarWindows:
    """The calendar windows of event times, as structs of their bounds."""

    calendar: Calendar

    def __call__(self, points: AnyArray) -> AnyArray:
        """Returns the windows of a batch of event times."""
        bounds = calendar_bounds((self.calendar,), pl.Series(points, dtype=pl.Int64()))
        return pa.StructArray.from_arrays([bounds[name].to_arrow() for name in (START, END)], [START, END])


@frozen
class AssignWindows:
    """Repeats each row for each window of its element, a pair. Errors have the ``label`` of the grouping."""

    label: str
    pair: Layout
    window_fn: WindowFn
    schema: pa.Schema
    values: Values = Values.PLAIN

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the batches in windows."""
        for batch in batches:
            with errors_of(self.label):
                assigned = assign_rows(self.window_fn, self.pair, batch, self.values)
            yield _with_bounds(assigned.of(batch), assigned.bounds, self.schema)


@frozen
class AssignedRows:
    """The rows of a batch in windows, one for each window: the number of its row in the batch, and its ``bounds``.

    Without ``numbers``, each row has one window.
    """

    numbers: list[int] | None
    bounds: Mapping[str, AnyArray]

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rows."""
        return batch if self.numbers is None else batch.take(pa.array(self.numbers, pa.int64()))


def assign_rows(
    windows: WindowFn, pair: Layout, batch: pa.RecordBatch, values: Values = Values.PLAIN
) -> AssignedRows:
    """Returns the windows of the rows of a batch of pairs: by a call of Python for each row, or for each key."""
    key = key_and_value(pair)[0]
    if isinstance(windows, Calendar) and leaf_columns(key) and batch.num_rows:
        points = pl.Series(batch.column(EVENT_TIME), dtype=pl.Int64())
        calendars, own_calendar = _calendars_of_rows(windows, key, batch)
        bounds = calendar_bounds(calendars, points, numbers=own_calendar)
        return AssignedRows(None, {name: bounds[name].to_arrow() for name in (START, END)})
    numbers: list[int] = []
    assigned: list[Window] = []
    pairs = read_keys_and_values(pair, windows, batch, values)
    for row, ((own_key, value), point) in enumerate(
        zip(pairs, read_integers(batch, EVENT_TIME), strict=True)
    ):
        own = assign_windows(windows, EventTime(point), own_key, value)
        numbers.extend([row] * len(own))
        assigned.extend(own)
    return AssignedRows(numbers, _bounds(assigned))


def _calendars_of_rows(
    calendar: Calendar, key: Layout, batch: pa.RecordBatch
) -> tuple[list[Calendar], pl.Series]:
    """Returns a calendar for each zone, by a call of the function for each key, and the number of that of each row."""
    names = list(leaf_columns(key))
    keys = cast("pl.DataFrame", pl.from_arrow(batch.select(names))).with_row_index(_ROW)
    rows = keys.group_by(names, maintain_order=True).agg(pl.col(_ROW))[_ROW]
    zones = [calendar.zone_of(own) for own in read_elements(key, batch.take(rows.list.first().to_arrow()))]
    number_of = {zone: number for number, zone in enumerate(dict.fromkeys(zones))}
    by_row = pl.DataFrame({_NUMBER: [number_of[zone] for zone in zones], _ROW: rows}).explode(_ROW)
    numbers = pl.zeros(batch.num_rows, pl.Int64(), eager=True).scatter(by_row[_ROW], by_row[_NUMBER])
    return [calendar.in_zone(zone) for zone in number_of], numbers


@frozen
class MergeWindows:
    """Moves the rows of a key, which are consecutive, to their merged windows. Errors have the grouping's ``label``."""

    label: str
    key: Layout
    window_fn: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the batches, one key at a time, with merged windows."""
        for _, parts in consecutive_groups(batches, leaf_columns(self.key)):
            table = pa.Table.from_batches(parts)
            starts, ends = (read_integers(table, name) for name in (START, END))
            before = [
                Window(EventTime(start), EventTime(end)) for start, end in zip(starts, ends, strict=True)
            ]
            merge = as_merging(self.window_fn)
            assert merge is not None, "the windows merge"
            (key,) = read_elements(self.key, parts[0].slice(0, 1)) or [None]
            with errors_of(self.label), errors_in_group(key):
                groups = merged_windows(merge, dict.fromkeys(before))
            after = {window: group.window for group in groups for window in group.parts}
            merged = [after[window] for window in before]
            yield from windowed_table(table, merged, self.schema).to_batches()


def read_keys_and_values(
    pair: Layout, windows: WindowFn, batch: pa.RecordBatch, values: Values = Values.PLAIN
) -> list[tuple[object, object]]:
    """Returns the key and the value of each row, for a window function: without the values unless it reads them."""
    key, value = key_and_value(pair)
    keys = read_elements(key, batch)
    if not isinstance(windows, WindowsByValue):
        return [(key, None) for key in keys]
    return list(zip(keys, values.of(read_elements(value, batch)), strict=True))


def _with_bounds(batch: pa.RecordBatch, bounds: Mapping[str, AnyArray], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [bounds[name] if name in bounds else batch.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def windowed_table(table: pa.Table, windows: list[Window], schema: pa.Schema) -> pa.Table:
    """Returns a table with its rows in these windows."""
    bounds = _bounds(windows)
    arrays = [bounds[name] if name in bounds else table.column(name) for name in schema.names]
    return pa.Table.from_arrays(arrays, schema=schema)


def _bounds(windows: list[Window]) -> dict[str, AnyArray]:
    return {
        START: pa.array([window.start for window in windows], pa.int64()),
        END: pa.array([window.end for window in windows], pa.int64()),
    }
