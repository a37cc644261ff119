"""Chains of element-wise steps, compiled to operations on frames: expressions where lifted, Python where not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

import polars as pl
from attrs import evolve, field, frozen
from flowalg_columns.checks.shapes import result_shape
from flowalg_columns.layout import Leaf, flatten_columns, layout_of
from flowalg_columns.notes import LiftingNote, note_in_python, note_of
from flowalg_shard.tables.columns import EVENT_TIME
from flowalg_shard.tables.queries import compute

from flowalg.data.shapes import TIMESTAMP, Shape
from flowalg.data.time import EPOCH, MAX_TIME, MIN_TIME
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps, require_event_time
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.lifting.comprehensions import as_comprehension, item_rows
from flowalg.lifting.tree.expressions import TRUE, Each, Expr
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg_polars.columns import columns_of, polars_type
from flowalg_polars.errors import keep_causes
from flowalg_polars.lowering.failures import evaluate, evaluate_scalar
from flowalg_polars.lowering.flags import Explode, flags_of
from flowalg_polars.lowering.python_steps import PythonPass, apply_as_column, keep_where
from flowalg_polars.lowering.sections import (
    Flagged,
    InPython,
    Operation,
    Safe,
    Section,
    Tried,
    apply_operations,
)

ENGINE = "Polars"


@frozen
class Program:
    """Operations on frames of elements: from elements of one shape to elements of another, ``shape``.

    ``meta`` are the metadata columns, which stay with their elements. It is ``fallible`` if an operation since the last
    barrier may fail: no filter may move below it, which would hide the failure. ``sections`` keep apart the elements on
    which a step fails.
    """

    shape: Shape
    meta: tuple[str, ...]
    operations: tuple[Operation, ...] = ()
    notes: tuple[LiftingNote, ...] = ()
    fallible: bool = field(default=False, kw_only=True)
    sections: tuple[Section, ...] = field(default=(), kw_only=True)

    def apply(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Returns a frame after all operations."""
        return apply_operations(self.operations, frame)

    def compute(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns rows after all operations. It may be called inside a function of ``map_batches``."""
        return compute(self.apply(rows.lazy()))

    @property
    def can_fail(self) -> bool:
        """Whether an element can make a step fail."""
        return not all(isinstance(section, Safe) for section in self.sections)

    def then(self, operation: Operation, shape: Shape, *, fallible: bool) -> Program:
        """Returns the program with one more operation."""
        return evolve(
            self,
            operations=(*self.operations, operation),
            shape=shape,
            fallible=self.fallible or fallible,
        )

    @property
    def with_barrier(self) -> Program:
        """The program, ending with an operation that no filter passes if one must not."""
        if not self.fallible:
            return self
        return evolve(self, operations=(*self.operations, _block_filters), fallible=False)


def _block_filters(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.map_batches(lambda rows: rows, streamable=True)


def compile_steps(steps: Sequence[Step], before: Shape, meta: tuple[str, ...]) -> Program:
    """Compiles a chain of element-wise steps.

    Lifted steps are expressions. A step that runs in Python is a column if it has one result of a known type for each
    element; otherwise it starts a pass over all columns, which ends at the first known type. Raises
    ``UnsupportedError`` if the type after the last step is unknown.
    """
    return compile_analyses(analyse(tuple(steps), before), before, meta)


def compile_analyses(steps: Sequence[StepAnalysis], before: Shape, meta: tuple[str, ...]) -> Program:
    """Compiles a chain of element-wise steps that are analysed."""
    program = Program(before, meta)
    analyses = list(steps)
    while analyses:
        run = [analyses.pop(0)]
        lifted = run[0].opaque is None
        while analyses and not lifted and run[-1].after is None:
            run.append(analyses.pop(0))
        after = _lifted(program, run[0]) if lifted else _in_python(program, run)
        program = evolve(after, sections=(*program.sections, _section(run, program, after)))
    return program


def _section(run: Sequence[StepAnalysis], before: Program, after: Program) -> Section:
    """Returns the section of consecutive steps, which one program has and another has not yet."""
    operations = after.operations[len(before.operations) :]
    first, *others = run
    if first.opaque is None and not first.can_raise:
        return Safe(operations)
    chain = tuple(analysis.step for analysis in run)
    in_python = PythonPass(before.shape, after.shape, (chain,), before.meta).sift
    if others or (first.opaque is not None and isinstance(first.step, FlatMap)):
        return InPython(in_python)
    flags = flags_of(first, before.meta)
    return Tried(operations, in_python) if flags is None else Flagged(flags, in_python)


def _lifted(program: Program, analysis: StepAnalysis) -> Program:
    """Returns the program with a lifted step."""
    expression, before = analysis.expression, program.shape
    element = columns_of(layout_of(before))
    noted = evolve(program, notes=(*program.notes, note_of(analysis, ENGINE)))
    match analysis.step:
        case Map():
            return _map(noted, expression)
        case Filter():
            return _filter(noted, expression)
        case FlatMap():
            return _comprehension(noted, as_comprehension(expression))
        case WithTimestamps():
            point = evaluate_scalar(expression, element, polars_type(TIMESTAMP)).to_physical()
            timed = _require_times(analysis.step, point) if analysis.may_leave_time else point
            return noted.then(
                lambda frame: frame.with_columns(timed.alias(EVENT_TIME)), before, fallible=analysis.can_raise
            )
    assert_never(analysis.step)


def _require_times(step: WithTimestamps, point: pl.Expr) -> pl.Expr:
    """Returns a column of event times, which fails the query for one that is out of range."""

    def check(times: pl.Series) -> pl.Series:
        with keep_causes():
            for time in times.filter((times < MIN_TIME) | (times >= MAX_TIME)).head(1):
                require_event_time(step, EPOCH + timedelta(microseconds=time))
        return times

    return point.map_batches(check, return_dtype=pl.Int64(), is_elementwise=True)


def _map(program: Program, expression: Expr) -> Program:
    """Returns the program with each element replaced by the result of an expression."""
    after = expression.shape
    assert after is not None, "the result of a lifted function has a type"
    columns = flatten_columns(evaluate(expression, columns_of(layout_of(program.shape))), after)
    selected = [*columns, *map(pl.col, program.meta)]
    return program.then(lambda frame: frame.select(selected), after, fallible=can_raise_in_engine(expression))


def _filter(program: Program, predicate: Expr) -> Program:
    """Returns the program without the elements for which an expression is false."""
    kept = evaluate_scalar(predicate, columns_of(layout_of(program.shape)), pl.Boolean())
    if can_raise_in_engine(predicate):
        return program.with_barrier.then(lambda frame: keep_where(frame, kept), program.shape, fallible=True)
    return program.with_barrier.then(lambda frame: frame.filter(kept), program.shape, fallible=False)


def _comprehension(program: Program, comprehension: Each) -> Program:
    """Returns the program with a row for each item of a list, that is kept and mapped beside its element."""
    rows = item_rows(comprehension, program.shape)
    items = evaluate(comprehension.of, columns_of(layout_of(program.shape)))
    assert isinstance(items, Leaf)
    explode = Explode(items.column, program.shape, rows, program.meta)
    exploded = program.with_barrier.then(explode, rows.shape, fallible=can_raise_in_engine(comprehension.of))
    return _map(exploded if rows.kept == TRUE else _filter(exploded, rows.kept), rows.result)


def _in_python(program: Program, run: Sequence[StepAnalysis]) -> Program:
    """Returns the program with consecutive steps that run in Python."""
    after = result_shape(ENGINE, run, program.shape)
    notes = [note_in_python(analysis, ENGINE) for analysis in run]
    noted = evolve(program, notes=(*program.notes, *notes))
    if len(run) == 1 and not isinstance(run[0].step, FlatMap):
        ready = noted.with_barrier if isinstance(run[0].step, Filter) else noted
        return ready.then(lambda frame: apply_as_column(frame, run[0], program.meta), after, fallible=True)
    chain = tuple(analysis.step for analysis in run)
    python = PythonPass(program.shape, after, (chain,), program.meta)
    # A pass over all columns is a barrier itself.
    return evolve(noted.then(python.apply, after, fallible=False), fallible=False)
