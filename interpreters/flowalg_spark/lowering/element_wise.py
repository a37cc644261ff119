"""Chains of element-wise steps over a flow: as Spark columns where they are lifted, else in Python over Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from attrs import evolve
from pyspark.sql import functions as F

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import ListOf, Shape
from flowalg.elementwise.functions import user_call
from flowalg.elementwise.splitting import SelectedAt
from flowalg.elementwise.steps import Filter, FlatMap, Map, Split, Step, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg_spark.encoding.layout import Leaf, col, layout_of
from flowalg_spark.encoding.meta import EVENT_TIME, KEEP
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.expressions import compile_expression, compile_scalar
from flowalg_spark.lowering.flow import Flow, LiftingNote, keep_observed_times, row_schema
from flowalg_spark.lowering.python_columns import apply_as_column
from flowalg_spark.lowering.python_rows import PythonSteps


def apply_steps(flow: Flow, steps: tuple[Step, ...]) -> Flow:
    """The flow after a chain of element-wise steps.

    Lifted steps are projections and filters. Another one is a column that Python computes, if it gives one thing of a
    known type for each element; otherwise a run of them is one pass over Arrow batches, which ends as soon as a known
    type lets the next step begin. With ``dead_letters``, a step that can fail is computed in Python
    too, which can tell of which element. Steps that change event times, or how many elements there are, leave those by
    which the clocks of a stream see its records as they are.
    """
    if flow.guarded and any(isinstance(step, FlatMap | WithTimestamps) for step in steps):
        flow = keep_observed_times(flow)
    analyses = list(analyse(steps, flow.shape))
    while analyses:
        if not runs_in_python(flow, analyses[0]):
            flow = _lifted(flow, analyses.pop(0))
        else:
            run = [analyses.pop(0)]
            while analyses and run[-1].after is None:
                run.append(analyses.pop(0))
            flow = run_in_python(flow, run)
    return flow


def runs_in_python(flow: Flow, one: StepAnalysis) -> bool:
    """Whether Python has to compute a step."""
    return one.opaque is not None or (flow.dead_letters and can_raise_in_engine(one.expression))


def note_lifted(one: StepAnalysis) -> LiftingNote:
    """Returns the note of a step that is lifted."""
    return LiftingNote(one.step.label, None, None)


def result_shape(chain: Sequence[StepAnalysis], before: Shape) -> Shape:
    """Returns the shape after a chain of steps; raises ``UnsupportedError`` if it is unknown."""
    after = chain[-1].after if chain else before
    if after is None:
        first = next(one.step for one in chain if one.after is None)
        f = user_call(first.function).f
        argument = "failure" if isinstance(f, SelectedAt) and f.number else "result"
        raise UnsupportedError(
            f"{first.label}: Spark cannot know the type of its result; say it with {argument}=… , "
            "or use a def with a return annotation"
        )
    return after


def _lifted(flow: Flow, one: StepAnalysis) -> Flow:
    noted = flow.with_notes(note_lifted(one))
    match one.step:
        case Map():
            assert one.after is not None
            return noted.map(one.expression, one.after)
        case Filter():
            if not flow.guarded:
                return noted.filter(one.expression)
            predicate = compile_scalar(one.expression, flow.element)
            return noted.with_meta(**{KEEP: F.when(col(KEEP), predicate).otherwise(F.lit(False))})
        case FlatMap():
            return _exploded(noted, one)
        case WithTimestamps():
            micros = F.unix_micros(compile_scalar(one.expression, flow.element))
            return noted.with_meta(**{EVENT_TIME: F.when(col(KEEP), micros) if flow.guarded else micros})
        case Split():
            raise AssertionError("a split is inlined in the chains that read it")
    assert_never(one.step)


def _exploded(flow: Flow, one: StepAnalysis) -> Flow:
    """A lifted ``flat_map``: one row for each item of a list."""
    items = compile_expression(one.expression, flow.element)
    assert isinstance(items, Leaf)
    assert isinstance(items.shape, ListOf)
    if flow.guarded or not isinstance(layout_of(items.shape.of), Leaf):
        return run_in_python(flow, [one])
    name = layout_of(items.shape.of)
    assert isinstance(name, Leaf)
    exploded = flow.frame.select(F.explode(items.column).alias(name.column), *map(col, flow.meta))
    return evolve(flow, frame=exploded, shape=items.shape.of)


def run_in_python(flow: Flow, *runs: Sequence[StepAnalysis]) -> Flow:
    """The flow after a run of steps that Python computes; of several runs, the union of what they make of the flow."""
    after, *_ = (result_shape(run, flow.shape) for run in runs)
    steps = [one for run in runs for one in run]
    noted = flow.with_notes(*(lifting_note(one, dead_letters=flow.dead_letters) for one in steps))
    if len(runs) == len(steps) == 1 and not isinstance(steps[0].step, FlatMap) and not flow.dead_letters:
        return apply_as_column(noted, steps[0])
    schema = arrow_schema(row_schema(after, flow.meta))
    chains = tuple(tuple(one.step for one in run) for run in runs)
    function = PythonSteps(
        layout_of(flow.shape), layout_of(after), chains, flow.guarded, schema, flow.dead_letters
    )
    return noted.map_in_arrow(function, after)


def lifting_note(one: StepAnalysis, *, dead_letters: bool = False) -> LiftingNote:
    """How a step runs that Python computes, and why; with ``dead_letters`` it may be because it can fail."""
    opaque = one.opaque
    if opaque is None and dead_letters and can_raise_in_engine(one.expression):
        return LiftingNote(one.step.label, "what can fail, of which bad records are told", None)
    if opaque is None:
        return LiftingNote(one.step.label, "a neighbouring step that does", None)
    return LiftingNote(one.step.label, opaque.reason, opaque.location or None)


__all__ = ["apply_steps", "lifting_note", "note_lifted", "result_shape", "run_in_python", "runs_in_python"]
