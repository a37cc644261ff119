"""What only Python can say of the elements of a grouping: their values as objects, what triggers look at, windows."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator

import pyarrow as pa
from attrs import frozen
from flowalg_shard.step.trigger_summary import evaluate_leaf

from flowalg.data.time import EventTime
from flowalg.pipeline.co_group import Tagged
from flowalg.triggers.leaves import DataDrivenTrigger
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn
from flowalg_spark.encoding.layout import Layout, leaf_columns
from flowalg_spark.encoding.meta import END, EVENT_TIME, KEEP, OBSERVED_TIME, START
from flowalg_spark.encoding.values import AnyArray, read_arrays, read_elements, read_integers
from flowalg_spark.lowering.python_columns import compute_where_kept
from flowalg_spark.lowering.python_rows import mark_firsts, mask_column, select_kept


@frozen
class Pickled:
    """The values that lie in some arrays as pickled objects; tagged, if they are one collection's of a co-group."""

    value: Layout
    tag: int | None

    def __call__(self, kept: AnyArray, *columns: AnyArray) -> AnyArray:
        """One batch."""
        return compute_where_kept(self.of, kept, *columns)

    def of(self, columns: tuple[AnyArray, ...]) -> AnyArray:
        """The objects of values that are all there."""
        values = _values(self.value, columns)
        if self.tag is not None:
            values = [Tagged(self.tag, one) for one in values]
        return pa.array([pickle.dumps(one) for one in values], pa.binary())


@frozen
class Seen:
    """What values are to a trigger that looks at them."""

    leaf: DataDrivenTrigger
    value: Layout

    def __call__(self, given: AnyArray, *columns: AnyArray) -> AnyArray:
        """One batch, of which the rows are looked at that are elements and take nothing back."""
        return compute_where_kept(self.of, given, *columns)

    def of(self, columns: tuple[AnyArray, ...]) -> AnyArray:
        """What values are that are all there."""
        found = [evaluate_leaf(self.leaf, one) for one in _values(self.value, columns)]
        return pa.array(found, pa.bool_() if found and isinstance(found[0], bool) else pa.int64())


def _values(layout: Layout, columns: tuple[AnyArray, ...]) -> list[object]:
    names = leaf_columns(layout)
    return read_arrays(layout, dict(zip(names, columns, strict=True)))


@frozen
class InWindows:
    """Each element once for each window that it is assigned, by a function of the user's; other rows as they are.

    An element without a window is no element any more, but its event time still moves the clocks.
    """

    key: Layout
    windows: WindowFn
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, in windows."""
        for batch in batches:
            yield self.transformed(batch)

    def transformed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """One batch, in windows: first the elements, and then the other rows."""
        positions, present = select_kept(batch)
        origins: list[int] = []
        found: list[Window] = []
        for position, key, point in zip(
            positions, read_elements(self.key, present), read_integers(present, EVENT_TIME), strict=True
        ):
            assigned = self.windows.assign(EventTime(point), key)
            origins.extend([position] * len(assigned))
            found.extend(assigned)
        others = sorted(set(range(batch.num_rows)) - set(origins))
        rows = [*origins, *others]
        table = batch.take(pa.array(rows, pa.int64()))
        own: dict[str, AnyArray] = {
            START: pa.array([one.start for one in found], pa.int64()),
            END: pa.array([one.end for one in found], pa.int64()),
        }
        rest = table.slice(len(origins))
        for name, bounds in own.items():
            known = rest.column(name) if name in batch.schema.names else pa.nulls(len(others), pa.int64())
            own[name] = pa.concat_arrays([bounds, known])
        own[KEEP] = pa.array([True] * len(origins) + [False] * len(others), pa.bool_())
        if OBSERVED_TIME in self.schema.names:
            own[OBSERVED_TIME] = mask_column(table.column(OBSERVED_TIME), mark_firsts(rows))
        arrays = [own[name] if name in own else table.column(name) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


__all__ = ["InWindows", "Pickled", "Seen"]
