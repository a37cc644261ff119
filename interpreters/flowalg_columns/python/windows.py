"""Windows that Python assigns or merges, over Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Any, cast

import pyarrow as pa
from attrs import frozen
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.data.errors import errors_of
from flowalg.data.time import EventTime
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
from flowalg_columns.values import read_elements, read_integers


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
            pairs = read_keys_and_values(self.pair, self.window_fn, batch, self.values)
            points = read_integers(batch, EVENT_TIME)
            origins: list[int] = []
            windows: list[Window] = []
            with errors_of(self.label):
                for index, ((key, value), point) in enumerate(zip(pairs, points, strict=True)):
                    assigned = assign_windows(self.window_fn, EventTime(point), key, value)
                    origins.extend([index] * len(assigned))
                    windows.extend(assigned)
            yield windowed(batch.take(pa.array(origins, pa.int64())), windows, self.schema)


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


def windowed(batch: pa.RecordBatch, windows: list[Window], schema: pa.Schema) -> pa.RecordBatch:
    """Returns a batch with its rows in these windows."""
    bounds = _bounds(windows)
    arrays = [bounds[name] if name in bounds else batch.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def windowed_table(table: pa.Table, windows: list[Window], schema: pa.Schema) -> pa.Table:
    """Returns a table with its rows in these windows."""
    bounds = _bounds(windows)
    arrays = [bounds[name] if name in bounds else table.column(name) for name in schema.names]
    return pa.Table.from_arrays(arrays, schema=schema)


def _bounds(windows: list[Window]) -> dict[str, pa.Array[pa.Scalar[pa.DataType]]]:
    return {
        START: pa.array([window.start for window in windows], pa.int64()),
        END: pa.array([window.end for window in windows], pa.int64()),
    }
