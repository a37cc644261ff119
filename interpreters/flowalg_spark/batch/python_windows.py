"""Windows that only Python can assign or merge, over Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.windows.window import Window, span
from flowalg.windows.window_functions import WindowFn, as_merging
from flowalg_spark.batch.runs import runs
from flowalg_spark.encoding.layout import Layout
from flowalg_spark.encoding.meta import END, EVENT_TIME, START
from flowalg_spark.encoding.values import integers, read


@frozen
class PythonWindows:
    """Each row once for each window that its element is assigned."""

    key: Layout
    windows: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, in windows."""
        for batch in batches:
            keys = read(self.key, batch)
            points = integers(batch, EVENT_TIME)
            origins: list[int] = []
            found: list[Window] = []
            for index, (key, point) in enumerate(zip(keys, points, strict=True)):
                assigned = self.windows.assign(EventTime(point), key)
                origins.extend([index] * len(assigned))
                found.extend(assigned)
            yield in_windows(batch.take(pa.array(origins, pa.int64())), found, self.schema)


@frozen
class PythonMerging:
    """Rows of a key, which come together, in the windows that their windows become."""

    keys: tuple[str, ...]
    windows: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, a key at a time, with their windows merged."""
        for _, parts in runs(batches, self.keys):
            table = pa.Table.from_batches(parts)
            starts, ends = (integers(table, name) for name in (START, END))
            own = [Window(EventTime(start), EventTime(end)) for start, end in zip(starts, ends, strict=True)]
            merge = as_merging(self.windows)
            assert merge is not None, "the windows merge"
            become = {window: span(group) for group in merge.merge(dict.fromkeys(own)) for window in group}
            merged = [become[window] for window in own]
            yield from in_windows_table(table, merged, self.schema).to_batches()


def in_windows(batch: pa.RecordBatch, windows: list[Window], schema: pa.Schema) -> pa.RecordBatch:
    """A batch whose rows are in these windows."""
    bounds = _bounds(windows)
    arrays = [bounds[name] if name in bounds else batch.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def in_windows_table(table: pa.Table, windows: list[Window], schema: pa.Schema) -> pa.Table:
    """A table whose rows are in these windows."""
    bounds = _bounds(windows)
    arrays = [bounds[name] if name in bounds else table.column(name) for name in schema.names]
    return pa.Table.from_arrays(arrays, schema=schema)


def _bounds(windows: list[Window]) -> dict[str, pa.Array[pa.Scalar[pa.DataType]]]:
    return {
        START: pa.array([one.start for one in windows], pa.int64()),
        END: pa.array([one.end for one in windows], pa.int64()),
    }


__all__ = ["PythonMerging", "PythonWindows"]
