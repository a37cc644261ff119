"""Chains of element-wise steps that only Python can compute, over Arrow batches of typed columns.

A single step that gives one thing for each element is a column instead: see ``python_columns``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, assert_never, cast

import pyarrow as pa
from attrs import define, frozen

from flowalg.data.errors import FlowalgError
from flowalg.elementwise.functions import apply_all
from flowalg.elementwise.steps import (
    Filter,
    FlatMap,
    Map,
    Split,
    Step,
    WithTimestamps,
    require_bool,
    require_event_time,
    require_iterable,
)
from flowalg_spark.encoding.layout import Layout
from flowalg_spark.encoding.meta import (
    BAD_RECORD,
    DROP_COUNT,
    DROP_REASON,
    DROPPED_VALUE,
    ERROR,
    EVENT_TIME,
    KEEP,
    OBSERVED_TIME,
    PANE_TIME,
    PROCESSING_TIME,
    STAGE,
)
from flowalg_spark.encoding.values import AnyArray, read_elements, render_json, write_arrays

A = TypeVar("A")


@frozen
class BadElement:
    """An element that a step could not take: the row that it came from, the step, and what was raised."""

    origin: int
    step: str
    error: str


@define
class Rows:
    """Elements on their way through steps, each with its event time and the row that it came from.

    An element that a step cannot take raises, or leaves and is ``caught``.
    """

    elements: list[object]
    times: list[int | None]
    origins: list[int]
    bad_elements: list[BadElement] | None = None

    def apply_step(self, step: Step) -> None:
        """What one step makes of all of them."""
        results = self.apply(
            step.label, lambda some: check_results(step, apply_all(step.function, some, step.label))
        )
        match step:
            case Map() | Split():
                self.elements = results
            case Filter():
                self._keep(position for position, keep in enumerate(results) if keep)
            case FlatMap():
                each = cast("list[list[object]]", results)
                self._keep(position for position, found in enumerate(each) for _ in found)
                self.elements = [item for found in each for item in found]
            case WithTimestamps():
                self.times = cast("list[int | None]", results)
            case _:
                assert_never(step)

    def apply(self, step: str, function: Callable[[list[object]], list[A]]) -> list[A]:
        """What a function of elements gives for each; where they are caught, for each that it can take."""
        try:
            return function(self.elements)
        except Exception:
            if self.bad_elements is None:
                raise
        results: list[A] = []
        taken: list[int] = []
        for position, element in enumerate(self.elements):
            try:
                results += function([element])
            except Exception as error:
                self.bad_elements.append(BadElement(self.origins[position], step, str(error)))
            else:
                taken.append(position)
        self._keep(taken)
        return results

    def _keep(self, positions: Iterable[int]) -> None:
        chosen = list(positions)
        self.elements = [self.elements[position] for position in chosen]
        self.times = [self.times[position] for position in chosen]
        self.origins = [self.origins[position] for position in chosen]


def check_results(step: Step, results: list[object]) -> list[object]:
    """What a step's function gave for some elements, if that is what the step needs."""
    match step:
        case Map() | Split():
            return results
        case Filter():
            return [require_bool(step, one) for one in results]
        case FlatMap():
            return [list(require_iterable(step, one)) for one in results]
        case WithTimestamps():
            return [require_event_time(step, one) for one in results]
    assert_never(step)


@frozen
class PythonSteps:
    """Chains of steps over the elements of a batch, whose results are united; other columns travel with their element.

    With ``guarded`` rows have a ``KEEP`` column: elements that are not kept are passed over, and an element that
    gives nothing leaves a row that is not kept, because its event time still moves the clocks. If it ``catches``, so
    does one that a step cannot take, and its row tells so.
    """

    before: Layout
    after: Layout
    chains: tuple[tuple[Step, ...], ...]
    guarded: bool
    schema: pa.Schema
    dead_letters: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches after the steps."""
        for batch in batches:
            yield self.transform(batch)

    def write(self, rows: Rows, chain: tuple[Step, ...]) -> list[AnyArray]:
        """The elements after a chain as arrays; one that is not of its shape cannot be taken either."""
        step = chain[-1].label if chain else "flatten"
        where = f"the result of {step}"
        try:
            return write_arrays(self.after, rows.elements, where)
        except FlowalgError:
            if not self.dead_letters:
                raise
        rows.apply(step, lambda some: [write_arrays(self.after, some, where)])
        return write_arrays(self.after, rows.elements, where)

    def transform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """One batch after the steps."""
        positions, present = select_kept(batch) if self.guarded else (list(range(batch.num_rows)), batch)
        times = cast("list[int | None]", batch.column(EVENT_TIME).to_pylist())
        entered = read_elements(self.before, present)
        caught: list[BadElement] = []
        here = [times[one] for one in positions]
        written: list[list[AnyArray]] = []
        after: list[int | None] = []
        origins: list[int] = []
        for chain in self.chains:
            rows = Rows(entered, here, positions, caught if self.dead_letters else None)
            for step in chain:
                rows.apply_step(step)
            written.append(self.write(rows, chain))
            after += rows.times
            origins += rows.origins
        arrays = [pa.concat_arrays(parts) for parts in zip(*written, strict=True)]
        own: dict[str, AnyArray] = {EVENT_TIME: pa.array(after, pa.int64())}
        if self.guarded:
            lost = [one.origin for one in caught]
            gone = [*sorted(set(range(batch.num_rows)) - {*origins, *lost}), *lost]
            places = pa.array([*range(len(origins)), *(None for _ in gone)], pa.int64())
            arrays = [one.take(places) for one in arrays]
            own[EVENT_TIME] = pa.array([*after, *(times[one] for one in gone)], pa.int64())
            own[KEEP] = pa.array([True] * len(origins) + [False] * len(gone), pa.bool_())
            origins = [*origins, *gone]
        others = batch.take(pa.array(origins, pa.int64()))
        if OBSERVED_TIME in self.schema.names:
            own[OBSERVED_TIME] = mask_column(others.column(OBSERVED_TIME), mark_firsts(origins))
        if caught:
            elements = dict(zip(positions, entered, strict=True))
            records = [render_json(elements[one.origin], self.before.shape) for one in caught]
            own |= _told(caught, records, others)
        for name in self.schema.names[len(arrays) :]:
            arrays.append(own[name] if name in own else others.column(name))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _told(caught: list[BadElement], records: list[str], others: pa.RecordBatch) -> dict[str, AnyArray]:
    """What rows say of drops, of which the last ones are of elements that were caught."""
    count = len(caught)
    told: dict[str, list[object]] = {
        DROP_REASON: [BAD_RECORD] * count,
        DROP_COUNT: [1] * count,
        STAGE: [one.step for one in caught],
        ERROR: [one.error for one in caught],
        DROPPED_VALUE: list(records),
    }
    if PROCESSING_TIME in others.schema.names:
        times = others.column(PROCESSING_TIME).slice(others.num_rows - count)
        told[PANE_TIME] = list(times.to_pylist())
    found: dict[str, AnyArray] = {}
    for name, values in told.items():
        before = others.column(name)
        found[name] = pa.concat_arrays([before.slice(0, len(before) - count), pa.array(values, before.type)])
    return found


def mark_firsts(origins: list[int]) -> list[bool]:
    """Of each of some rows whether it is the first that came of its origin."""
    first: dict[int, int] = {}
    return [first.setdefault(one, place) == place for place, one in enumerate(origins)]


def mask_column(column: AnyArray, counted: list[bool]) -> AnyArray:
    """A column that the clocks count, on those of its rows alone that are to be counted."""
    return column.take(pa.array([place if one else None for place, one in enumerate(counted)], pa.int64()))


def select_kept(batch: pa.RecordBatch) -> tuple[list[int], pa.RecordBatch]:
    """Which rows of a guarded batch are elements, and the batch of those alone."""
    kept = [bool(keep) for keep in batch.column(KEEP).to_pylist()]
    return [row for row, keep in enumerate(kept) if keep], batch.filter(pa.array(kept, pa.bool_()))


ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

__all__ = [
    "ArrowFunction",
    "BadElement",
    "PythonSteps",
    "Rows",
    "check_results",
    "mark_firsts",
    "mask_column",
    "select_kept",
]
