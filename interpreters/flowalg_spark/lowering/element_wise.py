"""Chains of element-wise steps: lifted steps as Spark columns, others in Python over Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from attrs import evolve
from flowalg_columns.checks.shapes import result_shape
from flowalg_columns.layout import Branch, Leaf, flatten_columns, layout_of, leaf_columns
from flowalg_columns.notes import LiftingNote, note_in_python
from flowalg_columns.python.rows import PythonSteps
from flowalg_shard.tables.columns import EVENT_TIME, KEEP, OBSERVED_TIME

from flowalg.data.errors import ArgumentError
from flowalg.data.shapes import INTEGER
from flowalg.data.time import BETWEEN
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.lifting.comprehensions import as_comprehension, item_rows
from flowalg.lifting.tree.expressions import TRUE, Each
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, col, select, unnest
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.expressions.errors import fail_with
from flowalg_spark.expressions.times import ISO_8601
from flowalg_spark.lowering.flagged import apply_with_flags, can_fail, fallible_of, in_range
from flowalg_spark.lowering.flow import Flow, keep_observed_times, row_schema
from flowalg_spark.lowering.notes import note_lifted
from flowalg_spark.lowering.python_columns import apply_as_column


def apply_steps(flow: Flow, steps: tuple[Step, ...]) -> Flow:
    """Returns the flow after a chain of element-wise steps.

    Lifted steps are projections and filters. A step that runs in Python is a column, if it has one result of a known
    type for each element; otherwise it starts a pass over Arrow batches, which ends at the first known type. With
    ``dead_letters``, a lifted step that can fail has a column that says where it fails; without such a column it runs
    in Python too. Steps that change event times, or the number of elements, do not change the event times that the
    clocks observe.
    """
    if flow.guarded and any(isinstance(step, FlatMap | WithTimestamps) for step in steps):
        flow = keep_observed_times(flow)
    return apply_analyses(flow, analyse(steps, flow.shape))


def apply_analyses(flow: Flow, steps: Sequence[StepAnalysis]) -> Flow:
    """Returns the flow after a chain of element-wise steps that are analysed."""
    analyses = list(steps)
    while analyses:
        lifted = _apply_lifted(flow, analyses[0])
        if lifted is not None:
            flow = lifted
            del analyses[0]
        else:
            run = [analyses.pop(0)]
            while analyses and run[-1].after is None:
                run.append(analyses.pop(0))
            flow = run_in_python(flow, run)
    return flow


def _apply_lifted(flow: Flow, analysis: StepAnalysis) -> Flow | None:
    """Returns the flow after a step in columns; ``None`` for a step that runs in Python."""
    if analysis.opaque is not None:
        return None
    noted = flow.with_notes(note_lifted(analysis))
    if flow.dead_letters and can_fail(analysis):
        fallible = fallible_of(flow, analysis)
        return None if fallible is None else apply_with_flags(noted, analysis, fallible)
    match analysis.step:
        case Map():
            assert analysis.after is not None
            return noted.map(analysis.expression, analysis.after)
        case Filter():
            return noted.filter(analysis.expression)
        case FlatMap():
            return _comprehension(noted, as_comprehension(analysis.expression))
        case WithTimestamps():
            micros = event_times(analysis, flow.element)
            return noted.with_meta(**{EVENT_TIME: sql.when(col(KEEP), micros) if flow.guarded else micros})
    assert_never(analysis.step)


def event_times(analysis: StepAnalysis, element: Columns) -> Sql:
    """Returns the event times that a lifted step gives, which fail the query where they are out of range."""
    micros = sql.unix_micros(compile_scalar(analysis.expression, element))
    if not analysis.may_leave_time:
        return micros
    valid = in_range(micros)
    got = sql.to_csv(sql.struct(sql.timestamp_micros(micros)), ISO_8601)
    message = sql.concat(f"the result of {analysis.step.label} must be {BETWEEN}; got ", got)
    return sql.when(~valid, fail_with(ArgumentError, message)).otherwise(micros)


def _comprehension(flow: Flow, comprehension: Each) -> Flow:
    """Returns the flow with a row for each item of a list, that is kept and mapped beside its element."""
    rows = item_rows(comprehension, flow.shape)
    items = compile_scalar(comprehension.of, flow.element)
    position = Leaf(INTEGER, col(_POSITION).cast("bigint"))
    parts = (flow.element, unnest(col(_ITEM), rows.shape.items[1]), position)
    columns = flatten_columns(Branch(rows.shape, parts), rows.shape)
    # If the flow is guarded, a row without items stays as a row without a position.
    listed = sql.posexplode_outer(sql.when(col(KEEP), items)) if flow.guarded else sql.posexplode(items)
    exploded = select(
        flow.frame, *leaf_columns(flow.element), listed.alias(_POSITION, _ITEM), *map(col, flow.meta)
    )
    beside = evolve(flow, frame=select(exploded, *columns, *_metadata_of_items(flow)), shape=rows.shape)
    kept = beside if rows.kept == TRUE else beside.filter(rows.kept)
    assert rows.result.shape is not None, "the result of a lifted function has a type"
    return kept.map(rows.result, rows.result.shape)


def _metadata_of_items(flow: Flow) -> list[Sql]:
    """Returns the metadata columns on rows of items. A row without items is not kept; the clocks observe one row."""
    if not flow.guarded:
        return [col(name) for name in flow.meta]
    own = {
        KEEP: col(KEEP) & col(_POSITION).is_not_null(),
        OBSERVED_TIME: sql.when(sql.coalesce(col(_POSITION), 0) == 0, col(OBSERVED_TIME)),
    }
    return [own.get(name, col(name)).alias(name) for name in flow.meta]


_ITEM: Final = "__item"
_POSITION: Final = "__position"


def run_in_python(flow: Flow, *runs: Sequence[StepAnalysis]) -> Flow:
    """Returns the flow after consecutive steps that run in Python; for several runs, the union of their outputs."""
    after, *_ = (result_shape("Spark", run, flow.shape) for run in runs)
    analyses = [analysis for run in runs for analysis in run]
    noted = flow.with_notes(
        *(lifting_note(analysis, dead_letters=flow.dead_letters) for analysis in analyses)
    )
    if (
        len(runs) == len(analyses) == 1
        and not isinstance(analyses[0].step, FlatMap)
        and not flow.dead_letters
    ):
        return apply_as_column(noted, analyses[0])
    schema = arrow_schema(row_schema(after, flow.meta))
    chains = tuple(tuple(analysis.step for analysis in run) for run in runs)
    function = PythonSteps(
        layout_of(flow.shape), layout_of(after), chains, flow.guarded, schema, flow.dead_letters
    )
    return noted.map_in_arrow(function, after)


def lifting_note(analysis: StepAnalysis, *, dead_letters: bool = False) -> LiftingNote:
    """Returns the reason why a step runs in Python; with ``dead_letters`` it may be that the step can fail."""
    if analysis.opaque is None and dead_letters and can_fail(analysis):
        return LiftingNote(analysis.step.label, "it can fail, and dead letters are on", None)
    return note_in_python(analysis)
