"""Chains of element-wise steps that only Python can compute, over Arrow batches of typed columns.

A single step that gives one thing for each element is a column instead: see ``python_columns``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never, cast

import pyarrow as pa
from attrs import define, frozen

from flowalg.functions import applied
from flowalg.steps import Filter, FlatMap, Map, Restamp, Step, items, point, truth
from flowalg_spark.layout import Layout
from flowalg_spark.meta import EVENT_TIME, KEEP, SIGHTED
from flowalg_spark.values import AnyArray, read, write


@define
class Rows:
    """Elements on their way through steps, each with its event time and the row that it came from."""

    elements: list[object]
    times: list[int | None]
    origins: list[int]

    def through(self, step: Step) -> None:
        """What one step makes of all of them."""
        results = applied(step.function, self.elements, step.label)
        match step:
            case Map():
                self.elements = results
            case Filter():
                kept = [truth(step, one) for one in results]
                self.elements = [one for one, keep in zip(self.elements, kept, strict=True) if keep]
                self._keep(position for position, keep in enumerate(kept) if keep)
            case FlatMap():
                each = [list(items(step, one)) for one in results]
                self.elements = [item for found in each for item in found]
                self._keep(position for position, found in enumerate(each) for _ in found)
            case Restamp():
                self.times = [point(step, one) for one in results]
            case _:
                assert_never(step)

    def _keep(self, positions: Iterable[int]) -> None:
        chosen = list(positions)
        self.times = [self.times[position] for position in chosen]
        self.origins = [self.origins[position] for position in chosen]


@frozen
class PythonSteps:
    """A chain of steps over the elements of a batch; other columns travel with their element.

    With ``guarded`` rows have a ``KEEP`` column: elements that are not kept are passed over, and an element that
    gives nothing leaves a row that is not kept, because its event time still moves the clocks.
    """

    before: Layout
    after: Layout
    steps: tuple[Step, ...]
    guarded: bool
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches after the steps."""
        for batch in batches:
            yield self.transformed(batch)

    def transformed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """One batch after the steps."""
        positions, present = kept_rows(batch) if self.guarded else (list(range(batch.num_rows)), batch)
        times = cast("list[int | None]", batch.column(EVENT_TIME).to_pylist())
        rows = Rows(read(self.before, present), [times[one] for one in positions], positions)
        for step in self.steps:
            rows.through(step)
        arrays = write(self.after, rows.elements, f"the result of {self.steps[-1].label}")
        own: dict[str, AnyArray] = {EVENT_TIME: pa.array(rows.times, pa.int64())}
        origins = rows.origins
        if self.guarded:
            gone = sorted(set(range(batch.num_rows)) - set(origins))
            places = pa.array([*range(len(origins)), *(None for _ in gone)], pa.int64())
            arrays = [one.take(places) for one in arrays]
            own[EVENT_TIME] = pa.array([*rows.times, *(times[one] for one in gone)], pa.int64())
            own[KEEP] = pa.array([True] * len(origins) + [False] * len(gone), pa.bool_())
            origins = [*origins, *gone]
        others = batch.take(pa.array(origins, pa.int64()))
        if SIGHTED in self.schema.names:
            own[SIGHTED] = once(others.column(SIGHTED), firsts(origins))
        for name in self.schema.names[len(arrays) :]:
            arrays.append(own[name] if name in own else others.column(name))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def firsts(origins: list[int]) -> list[bool]:
    """Of each of some rows whether it is the first that came of its origin; those of one origin follow each other."""
    return [place == 0 or origins[place - 1] != one for place, one in enumerate(origins)]


def once(column: AnyArray, counted: list[bool]) -> AnyArray:
    """A column that the clocks count, on those of its rows alone that are to be counted."""
    return column.take(pa.array([place if one else None for place, one in enumerate(counted)], pa.int64()))


def kept_rows(batch: pa.RecordBatch) -> tuple[list[int], pa.RecordBatch]:
    """Which rows of a guarded batch are elements, and the batch of those alone."""
    kept = [bool(keep) for keep in batch.column(KEEP).to_pylist()]
    return [row for row, keep in enumerate(kept) if keep], batch.filter(pa.array(kept, pa.bool_()))


ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

__all__ = ["ArrowFunction", "PythonSteps", "Rows", "firsts", "kept_rows", "once"]
