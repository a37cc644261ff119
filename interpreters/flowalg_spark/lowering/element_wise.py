"""Chains of element-wise steps over a flow: as Spark columns where they are lifted, else in Python over Arrow."""

from __future__ import annotations

from typing import assert_never

from attrs import evolve
from pyspark.sql import functions as F

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import ListOf
from flowalg.elementwise.functions import user_call
from flowalg.elementwise.splitting import SelectedAt
from flowalg.elementwise.steps import Filter, FlatMap, Map, Split, Step, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg_spark.encoding.layout import Leaf, layout_of, named
from flowalg_spark.encoding.meta import EVENT_TIME, KEEP
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.expressions import evaluate, single
from flowalg_spark.lowering.flow import Flow, LiftingNote, row_schema, sighted
from flowalg_spark.lowering.python_columns import in_a_column
from flowalg_spark.lowering.python_rows import PythonSteps


def through_steps(flow: Flow, steps: tuple[Step, ...]) -> Flow:
    """The flow after a chain of element-wise steps.

    Lifted steps are projections and filters. Another one is a column that Python computes, if it gives one thing of a
    known type for each element; otherwise a run of them is one pass over Arrow batches, which ends as soon as a known
    type lets the next step begin. Where the flow catches what goes wrong, a step that can fail is computed in Python
    too, which can tell of which element. Steps that change event times, or how many elements there are, leave those by
    which the clocks of a stream see its records as they are.
    """
    if flow.guarded and any(isinstance(step, FlatMap | WithTimestamps) for step in steps):
        flow = sighted(flow)
    analyses = list(analyse(steps, flow.shape))
    while analyses:
        if not _in_python(flow, analyses[0]):
            flow = _lifted(flow, analyses.pop(0))
        else:
            run = [analyses.pop(0)]
            while analyses and run[-1].after is None:
                run.append(analyses.pop(0))
            flow = in_python(flow, run)
    return flow


def _in_python(flow: Flow, one: StepAnalysis) -> bool:
    """Whether Python has to compute a step."""
    return one.opaque is not None or (flow.catches and can_raise_in_engine(one.expression))


def _lifted(flow: Flow, one: StepAnalysis) -> Flow:
    noted = flow.noted(LiftingNote(one.step.label, None, None))
    match one.step:
        case Map():
            assert one.after is not None
            return noted.mapped(one.expression, one.after)
        case Filter():
            if not flow.guarded:
                return noted.filtered(one.expression)
            predicate = single(one.expression, flow.element)
            return noted.with_meta(**{KEEP: F.when(named(KEEP), predicate).otherwise(F.lit(False))})
        case FlatMap():
            return _exploded(noted, one)
        case WithTimestamps():
            micros = F.unix_micros(single(one.expression, flow.element))
            return noted.with_meta(**{EVENT_TIME: F.when(named(KEEP), micros) if flow.guarded else micros})
        case Split():
            raise AssertionError("a split is inlined in the chains that read it")
    assert_never(one.step)


def _exploded(flow: Flow, one: StepAnalysis) -> Flow:
    """A lifted ``flat_map``: one row for each item of a list."""
    items = evaluate(one.expression, flow.element)
    assert isinstance(items, Leaf)
    assert isinstance(items.shape, ListOf)
    if flow.guarded or not isinstance(layout_of(items.shape.of), Leaf):
        return in_python(flow, [one])
    name = layout_of(items.shape.of)
    assert isinstance(name, Leaf)
    exploded = flow.frame.select(F.explode(items.at).alias(name.at), *map(named, flow.meta))
    return evolve(flow, frame=exploded, shape=items.shape.of)


def in_python(flow: Flow, run: list[StepAnalysis]) -> Flow:
    """The flow after a run of steps that Python computes."""
    after = run[-1].after
    if after is None:
        first = next(one.step for one in run if one.after is None)
        f = user_call(first.function).f
        argument = "failure" if isinstance(f, SelectedAt) and f.number else "result"
        raise UnsupportedError(
            f"{first.label}: Spark cannot know the type of its result; say it with {argument}=… , "
            "or use a def with a return annotation"
        )
    noted = flow.noted(*(note_of(one, catches=flow.catches) for one in run))
    if len(run) == 1 and not isinstance(run[0].step, FlatMap) and not flow.catches:
        return in_a_column(noted, run[0])
    schema = arrow_schema(row_schema(after, flow.meta))
    steps = tuple(one.step for one in run)
    before = layout_of(flow.shape)
    function = PythonSteps(before, layout_of(after), steps, flow.guarded, schema, flow.catches)
    return noted.mapped_in_arrow(function, after)


def note_of(one: StepAnalysis, *, catches: bool = False) -> LiftingNote:
    """How a step runs that Python computes, and why; with ``catches`` it may be because it can fail."""
    opaque = one.opaque
    if opaque is None and catches and can_raise_in_engine(one.expression):
        return LiftingNote(one.step.label, "what can fail, of which bad records are told", None)
    if opaque is None:
        return LiftingNote(one.step.label, "a neighbouring step that does", None)
    return LiftingNote(one.step.label, opaque.reason, opaque.location or None)


__all__ = ["in_python", "note_of", "through_steps"]
