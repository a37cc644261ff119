"""Chains of element-wise steps that run in Python, over Arrow batches of typed columns.

A single step with one result for each element is a column instead; see ``python_columns``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, assert_never, cast

import pyarrow as pa
from attrs import define, field, frozen
from flowalg_shard.tables.columns import (
    DROP_COUNT,
    DROP_REASON,
    EVENT_TIME,
    KEEP,
    OBSERVED_TIME,
    PROCESSING_TIME,
)

from flowalg.data.errors import FlowalgError, format_value
from flowalg.data.shapes import Shape
from flowalg.elementwise.functions import Function, apply_all, error_of, one_by_one
from flowalg.elementwise.steps import (
    Filter,
    FlatMap,
    Map,
    Step,
    WithTimestamps,
    items_of,
    require_bool,
    require_event_time,
)
from flowalg.lifting.analysis import analyse
from flowalg.runs.bad_records import BadRecord, bad_element
from flowalg_columns.layout import Layout
from flowalg_columns.names import BAD_RECORD, DROPPED_VALUE, ERROR, PANE_TIME, STAGE
from flowalg_columns.values import AnyArray, read_elements, write_arrays

A = TypeVar("A")
B = TypeVar("B")


@frozen
class BadElement:
    """An element on which a step raised, with the row that it originates from."""

    origin: int
    record: BadRecord


@define
class Rows:
    """Elements between steps, each with its event time and the row that it originates from.

    An element on which a step raises is moved to ``bad_elements``; if that is ``None``, the error is raised.
    ``inputs`` are then the elements that the last step has received for these. ``shape`` is that of the elements before
    the first step, if it is known; ``earlier`` are the steps before the last one.
    """

    elements: list[object]
    times: list[int | None]
    origins: list[int]
    bad_elements: list[BadElement] | None = None
    inputs: list[object] = field(factory=list)
    shape: Shape | None = None
    earlier: tuple[Step, ...] = ()
    applied: tuple[Step, ...] = ()

    def apply_step(self, step: Step) -> None:
        """Applies one step to all elements."""
        self.earlier, self.applied = self.applied, (*self.applied, step)
        if self.bad_elements is not None:
            self.inputs = self.elements
        results = self.apply(
            step,
            lambda elements: results_of(step, step.function, elements),
            result_of(step, step.function),
        )
        match step:
            case Map():
                self.elements = results
            case Filter():
                self._keep(position for position, keep in enumerate(results) if keep)
            case FlatMap():
                lists = cast("list[list[object]]", results)
                self._keep(position for position, items in enumerate(lists) for _ in items)
                self.elements = [item for items in lists for item in items]
            case WithTimestamps():
                self.times = cast("list[int | None]", results)
            case _:
                assert_never(step)

    def apply(
        self,
        step: Step,
        function: Callable[[list[object]], list[A]],
        one: Callable[[object], A] | None = None,
    ) -> list[A]:
        """Returns the results of a step for elements. Elements on which it raises are moved to ``bad_elements``.

        ``one`` is the same for one element.
        """
        if self.bad_elements is None:
            return function(self.elements)
        results, good, failures = try_each(function, self.elements, one)
        if failures:
            shape = self._shape_of_inputs()
            self.bad_elements += (
                BadElement(self.origins[position], bad_element(step, self.inputs[position], error, shape))
                for position, error in failures
            )
            self._keep(good)
        return results

    def _shape_of_inputs(self) -> Shape | None:
        """Returns the shape of the elements that the last step has received, if it is known."""
        return analyse(self.earlier, self.shape)[-1].after if self.earlier else self.shape

    def _keep(self, positions: Iterable[int]) -> None:
        kept = list(positions)
        self.elements = [self.elements[position] for position in kept]
        self.times = [self.times[position] for position in kept]
        self.origins = [self.origins[position] for position in kept]
        if self.bad_elements is not None:
            self.inputs = [self.inputs[position] for position in kept]


def try_each(
    function: Callable[[list[A]], list[B]], elements: list[A], one: Callable[[A], B] | None = None
) -> tuple[list[B], list[int], list[tuple[int, Exception]]]:
    """Returns the results of a function for elements, the positions of those, and the errors of the others.

    If it fails for all together, it is called for each. ``one`` is the same for one element.
    """
    try:
        return function(elements), list(range(len(elements))), []
    except MemoryError:
        raise
    except Exception:
        pass
    call = one or (lambda element: function([element])[0])
    results: list[B] = []
    good: list[int] = []
    failures: list[tuple[int, Exception]] = []
    for position, element in enumerate(elements):
        try:
            results.append(call(element))
        except MemoryError:
            raise
        except Exception as error:
            failures.append((position, error))
        else:
            good.append(position)
    return results, good, failures


def results_of(step: Step, function: Function, elements: list[object]) -> list[object]:
    """Returns the results of a function for elements, checked to have the type that its step requires.

    An event time is a plain number, as in its column.
    """
    results = apply_all(function, elements, step.label)
    check = _check_of(step)
    return results if check is None else list(map(check, elements, results))


def result_of(step: Step, function: Function) -> Callable[[object], object]:
    """Returns the function from an element to its checked result, which is that of ``results_of`` for one element."""
    call, check = one_by_one(function), _check_of(step)

    def result(element: object) -> object:
        try:
            returned = call(element)
        except Exception as cause:
            raise error_of(function, element, step.label, cause) from cause
        return returned if check is None else check(element, returned)

    return result


def _check_of(step: Step) -> Callable[[object, object], object] | None:
    """Returns the check of a step's results; ``None`` if any result is valid."""
    match step:
        case Map():
            return None
        case Filter():
            return lambda _, result: require_bool(step, result)
        case FlatMap():
            return lambda element, result: items_of(step, element, result)
        case WithTimestamps():
            return lambda _, result: int(require_event_time(step, result))
    assert_never(step)


@frozen
class PythonSteps:
    """The union of several chains of steps over the elements of Arrow batches. Metadata is copied with its element.

    With ``guarded``, rows have a ``KEEP`` column. Rows that are not kept are forwarded. An element without output
    leaves a row that is not kept, since its event time still advances the clocks. With ``dead_letters``, so does a bad
    element, and its row has the columns of a drop.
    """

    before: Layout
    after: Layout
    chains: tuple[tuple[Step, ...], ...]
    guarded: bool
    schema: pa.Schema
    dead_letters: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the batches after the steps."""
        for batch in batches:
            yield self.transform(batch)

    def write(self, rows: Rows, chain: tuple[Step, ...]) -> list[AnyArray]:
        """Writes the output of a chain to arrays. With ``dead_letters``, an element of another shape is bad too."""
        where = f"the result of {chain[-1].label if chain else 'flatten'}"
        try:
            return write_arrays(self.after, rows.elements, where)
        except FlowalgError:
            if not self.dead_letters or not chain:
                raise
        rows.apply(chain[-1], lambda elements: [write_arrays(self.after, elements, where)])
        return write_arrays(self.after, rows.elements, where)

    def failures(self, inputs: list[object]) -> list[BadRecord]:
        """Returns the bad records of elements on each of which the steps, a single chain, fail."""
        count = len(inputs)
        bad: list[BadElement] = []
        (chain,) = self.chains
        rows = Rows(inputs, [None] * count, list(range(count)), bad, shape=self.before.shape)
        for step in chain:
            rows.apply_step(step)
        self.write(rows, chain)
        if rows.origins:
            shown = format_value(inputs[rows.origins[0]])
            raise AssertionError(f"{chain[-1].label} fails as columns and not in Python, for {shown}")
        return [element.record for element in sorted(bad, key=lambda element: element.origin)]

    def transform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns one batch after the steps."""
        return self.sift(batch)[0]

    def sift(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[BadRecord]]:
        """Returns one batch after the steps, and with ``dead_letters`` the bad records."""
        positions, present = select_kept(batch) if self.guarded else (list(range(batch.num_rows)), batch)
        times = cast("list[int | None]", batch.column(EVENT_TIME).to_pylist())
        inputs = read_elements(self.before, present)
        bad: list[BadElement] = []
        input_times = [times[position] for position in positions]
        written: list[list[AnyArray]] = []
        output_times: list[int | None] = []
        origins: list[int] = []
        for chain in self.chains:
            rows = Rows(
                inputs, input_times, positions, bad if self.dead_letters else None, shape=self.before.shape
            )
            for step in chain:
                rows.apply_step(step)
            written.append(self.write(rows, chain))
            output_times += rows.times
            origins += rows.origins
        arrays = [pa.concat_arrays(parts) for parts in zip(*written, strict=True)]
        own: dict[str, AnyArray] = {EVENT_TIME: pa.array(output_times, pa.int64())}
        if self.guarded:
            failed = [element.origin for element in bad]
            removed = [*sorted(set(range(batch.num_rows)) - {*origins, *failed}), *failed]
            indices = pa.array([*range(len(origins)), *(None for _ in removed)], pa.int64())
            arrays = [array.take(indices) for array in arrays]
            own[EVENT_TIME] = pa.array([*output_times, *(times[row] for row in removed)], pa.int64())
            own[KEEP] = pa.array([True] * len(origins) + [False] * len(removed), pa.bool_())
            origins = [*origins, *removed]
        metadata = self.schema.names[len(arrays) :]
        others = repeat_metadata(batch, (*metadata, PROCESSING_TIME), origins)
        if OBSERVED_TIME in self.schema.names:
            own[OBSERVED_TIME] = mask_column(others.column(OBSERVED_TIME), mark_firsts(origins))
        if bad and self.guarded:
            own |= _drop_columns([element.record for element in bad], others)
        for name in metadata:
            arrays.append(own[name] if name in own else others.column(name))
        transformed = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return transformed, [element.record for element in bad]


def _drop_columns(bad: list[BadRecord], others: pa.RecordBatch) -> dict[str, AnyArray]:
    """Returns the columns of drops; the last rows are those of the bad elements."""
    count = len(bad)
    drops: dict[str, list[object]] = {
        DROP_REASON: [BAD_RECORD] * count,
        DROP_COUNT: [1] * count,
        STAGE: [record.stage for record in bad],
        ERROR: [record.error for record in bad],
        DROPPED_VALUE: [record.record for record in bad],
    }
    if PROCESSING_TIME in others.schema.names:
        times = others.column(PROCESSING_TIME).slice(others.num_rows - count)
        drops[PANE_TIME] = list(times.to_pylist())
    columns: dict[str, AnyArray] = {}
    for name, values in drops.items():
        before = others.column(name)
        columns[name] = pa.concat_arrays(
            [before.slice(0, len(before) - count), pa.array(values, before.type)]
        )
    return columns


def repeat_metadata(batch: pa.RecordBatch, names: Iterable[str], origins: list[int]) -> pa.RecordBatch:
    """Returns those of the named columns that a batch has, on the rows that elements originate from.

    Other columns, such as those of the elements themselves, are not repeated: a large one would not fit in a batch.
    """
    wanted = {*names}
    return batch.select([name for name in batch.schema.names if name in wanted]).take(
        pa.array(origins, pa.int64())
    )


def mark_firsts(origins: list[int]) -> list[bool]:
    """Returns for each row whether it is the first of its origin."""
    first: dict[int, int] = {}
    return [first.setdefault(origin, row) == row for row, origin in enumerate(origins)]


def mask_column(column: AnyArray, mask: list[bool]) -> AnyArray:
    """Returns a column with nulls on the rows where the mask is false."""
    return column.take(pa.array([row if selected else None for row, selected in enumerate(mask)], pa.int64()))


def select_kept(batch: pa.RecordBatch) -> tuple[list[int], pa.RecordBatch]:
    """Returns the positions of the kept rows of a guarded batch, and the batch of those rows."""
    kept = [bool(keep) for keep in batch.column(KEEP).to_pylist()]
    return [row for row, keep in enumerate(kept) if keep], batch.filter(pa.array(kept, pa.bool_()))


ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
