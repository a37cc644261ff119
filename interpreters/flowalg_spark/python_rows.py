"""Element-wise steps that only Python can compute, over Arrow batches of typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import cast

import pyarrow as pa
from attrs import frozen

from flowalg.errors import ElementError, describe
from flowalg.functions import Call, apply
from flowalg.shapes import Shape
from flowalg.steps import Restamp, Step, restamped, step_values
from flowalg.time import event_time
from flowalg.values import conform
from flowalg_spark.layout import Layout
from flowalg_spark.meta import EVENT_TIME, KEEP
from flowalg_spark.values import read, write


@frozen
class PythonSteps:
    """A chain of steps over the elements of a batch; other columns travel with their element.

    With ``guarded`` rows have a ``KEEP`` column: elements that are not kept are passed over, and an element that
    gives nothing leaves a row that is not kept, because its event time still moves the clocks.
    """

    before: Layout
    after: Layout
    after_shape: Shape
    steps: tuple[Step, ...]
    guarded: bool
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches after the steps."""
        for batch in batches:
            yield self.transformed(batch)

    def transformed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """One batch after the steps."""
        kept, present = _kept(batch, self.guarded)
        elements = iter(read(self.before, present))
        origins: list[int] = []
        results: list[object] = []
        there: list[bool] = []
        points: list[int | None] = []
        times = cast("list[int | None]", batch.column(EVENT_TIME).to_pylist())
        for index, keep in enumerate(kept):
            found = self.through(next(elements), times[index]) if keep else []
            gives = bool(found) or not self.guarded
            rows = found if gives else [(None, times[index])]
            origins.extend([index] * len(rows))
            results.extend(value for value, _ in rows)
            points.extend(time for _, time in rows)
            there.extend([gives] * len(rows))
        arrays = write(self.after, results)
        others = batch.take(pa.array(origins, pa.int64()))
        own: dict[str, pa.Array[pa.Scalar[pa.DataType]]] = {
            KEEP: pa.array(there, pa.bool_()),
            EVENT_TIME: pa.array(points, pa.int64()),
        }
        for name in self.schema.names[len(arrays) :]:
            arrays.append(own[name] if name in own else others.column(name))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def through(self, element: object, time: int | None) -> list[tuple[object, int | None]]:
        """What the steps make of one element and its event time, checked against the shape that is expected."""
        elements: list[tuple[object, int | None]] = [(element, time)]
        for step in self.steps:
            if isinstance(step, Restamp):
                elements = [(one, restamped(step, one)) for one, _ in elements]
            else:
                elements = [(after, at) for one, at in elements for after in step_values(step, one)]
        where = f"the result of {self.steps[-1].label}"
        return [(conform(one, self.after_shape, where), at) for one, at in elements]


@frozen
class PythonEventTimes:
    """The event times of elements whose source says them with a function that only Python can compute."""

    layout: Layout
    call: Call
    label: str
    guarded: bool
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches with their ``EVENT_TIME`` filled in."""
        for batch in batches:
            kept, present = _kept(batch, self.guarded)
            points = iter([self.point(one) for one in read(self.layout, present)])
            times = pa.array([next(points) if keep else None for keep in kept], pa.int64())
            arrays = [times if name == EVENT_TIME else batch.column(name) for name in self.schema.names]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def point(self, element: object) -> int:
        """The event time of one element."""
        found = apply(self.call, element, self.label)
        if not isinstance(found, datetime):
            raise ElementError(
                f"{self.label} gave {describe(found)}; it must be a datetime, on {describe(element)}"
            )
        return event_time(found, argument=self.label)


def _kept(batch: pa.RecordBatch, guarded: bool) -> tuple[list[bool], pa.RecordBatch]:
    """Which rows of a batch are elements, and the batch of those alone."""
    kept = [bool(keep) for keep in batch.column(KEEP).to_pylist()] if guarded else [True] * batch.num_rows
    return kept, batch.filter(pa.array(kept, pa.bool_()))


ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

__all__ = ["ArrowFunction", "PythonEventTimes", "PythonSteps"]
