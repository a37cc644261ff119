"""Windows that Python assigns or merges, over Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.windows.window import Window, span
from flowalg.windows.window_functions import WindowFn, as_merging
from flowalg_columns.layout import Layout
from flowalg_columns.names import END, EVENT_TIME, START
from flowalg_columns.python.consecutive_groups import consecutive_groups
from flowalg_columns.values import read_elements, read_integers


@frozen
class AssignWindows:
    """Repeats each row for each window that its element is assigned."""

    key: Layout
    window_fn: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the batches in windows."""
        for batch in batches:
            keys = read_elements(self.key, batch)
            points = read_integers(batch, EVENT_TIME)
            origins: list[int] = []
            windows: list[Window] = []
            for index, (key, point) in enumerate(zip(keys, points, strict=True)):
                assigned = self.window_fn.assign(EventTime(point), key)
                origins.extend([index] * len(assigned))
                windows.extend(assigned)
            yield windowed(batch.take(pa.array(origins, pa.int64())), windows, self.schema)


@frozen
class MergeWindows:
    """Moves the rows of a key, which are consecutive, to their merged windows."""

    keys: tuple[str, ...]
    window_fn: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the batches, one key at a time, with merged windows."""
        for _, parts in consecutive_groups(batches, self.keys):
            table = pa.Table.from_batches(parts)
            starts, ends = (read_integers(table, name) for name in (START, END))
            before = [
                Window(EventTime(start), EventTime(end)) for start, end in zip(starts, ends, strict=True)
            ]
            merge = as_merging(self.window_fn)
            assert merge is not None, "the windows merge"
            after = {window: span(group) for group in merge.merge(dict.fromkeys(before)) for window in group}
            merged = [after[window] for window in before]
            yield from windowed_table(table, merged, self.schema).to_batches()


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


__all__ = ["AssignWindows", "MergeWindows"]
