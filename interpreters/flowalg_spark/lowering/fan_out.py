"""Branches of one collection that are flattened again: one pass that replicates rows, instead of a union.

A Spark plan is a tree. A union repeats the plan of a shared collection in each branch, which runs it again, and a chain
of such diamonds would double the plan at each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from attrs import evolve, frozen
from flowalg_columns.checks.shapes import require_equal_shapes, result_shape
from flowalg_columns.layout import flatten_columns, layout_of, leaf_columns
from flowalg_shard.tables.columns import EVENT_TIME, KEEP, OBSERVED_TIME

from flowalg.data.shapes import Shape
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.lifting.tree.expressions import Param, walk
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, col, select
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import compile_expression, compile_scalar
from flowalg_spark.lowering.element_wise import event_times, run_in_python
from flowalg_spark.lowering.flagged import can_fail
from flowalg_spark.lowering.flow import Flow, keep_observed_times
from flowalg_spark.lowering.notes import note_lifted

_ROW: Final = "__row"
_BRANCH: Final = "__branch"
_LARGEST: Final = 1_000
"""The size up to which the steps of a branch are one expression. It repeats a value that a step reads twice."""


def fan_out(flow: Flow, chains: Sequence[tuple[Step, ...]]) -> Flow | None:
    """Returns the union of several chains of steps over a flow, from one pass over its rows.

    If all steps are lifted, Spark explodes an array with a row for each chain that keeps the element. If one of them is
    not, or can fail and there are dead letters, all of them run in Python. On a stream, an element that no chain keeps
    leaves a row that is not kept, and the clocks observe each element once. Returns ``None`` if a plain union is
    needed.
    """
    analyses = [analyse(chain, flow.shape) for chain in chains]
    shapes = [result_shape("Spark", chain, flow.shape) for chain in analyses]
    require_equal_shapes(shapes)
    if flow.guarded:
        flow = keep_observed_times(flow)
    steps = [step for chain in analyses for step in chain]
    if any(step.opaque is not None or (flow.dead_letters and can_fail(step)) for step in steps):
        return run_in_python(flow, *analyses)
    if not all(map(_is_one_expression, analyses)):
        return None
    branches = [reduce(_Branch.after, chain, _Branch(flow.element)) for chain in analyses]
    notes = map(note_lifted, steps)
    return _explode(flow, branches, shapes[0]).with_notes(*notes)


def _is_one_expression(chain: Sequence[StepAnalysis]) -> bool:
    """Returns whether a chain has at most one output for each element, by an expression that is not too large."""
    size = 1
    for analysis in chain:
        nodes = list(walk(analysis.expression))
        size = len(nodes) + size * sum(isinstance(node, Param) for node in nodes)
        if size > _LARGEST or isinstance(analysis.step, FlatMap):
            return False
    return True


@frozen
class _Branch:
    """The output of a chain of lifted steps: columns of the element that enters the chain."""

    element: Columns
    kept: Sql | None = None
    event_time: Sql | None = None

    def after(self, analysis: StepAnalysis) -> _Branch:
        """Returns the branch after one more step."""
        match analysis.step:
            case Map():
                return evolve(self, element=compile_expression(analysis.expression, self.element))
            case Filter():
                return evolve(self, kept=self.where_kept(compile_scalar(analysis.expression, self.element)))
            case WithTimestamps():
                return evolve(self, event_time=self.where_kept(event_times(analysis, self.element)))
            case step:
                raise AssertionError(f"{step.label} does not have a single output for each element")

    def where_kept(self, column: Sql) -> Sql:
        """Returns a column that is evaluated only where the branch keeps its element, and null elsewhere."""
        return column if self.kept is None else sql.when(self.kept, column)

    def row(self, shape: Shape) -> Sql:
        """Returns the element and its event time as a struct, or null where the branch drops the element."""
        time = col(EVENT_TIME) if self.event_time is None else self.event_time
        return self.where_kept(sql.struct(*flatten_columns(self.element, shape), time.alias(EVENT_TIME)))


def _explode(flow: Flow, branches: Sequence[_Branch], shape: Shape) -> Flow:
    """Returns the rows of all branches; on a stream, also a row for each element that no branch keeps."""
    rows = sql.filter(sql.array(*(branch.row(shape) for branch in branches)), lambda row: row.is_not_null())
    explode = sql.posexplode
    if flow.guarded:
        rows, explode = sql.when(col(KEEP), rows), sql.posexplode_outer
    exploded = select(flow.frame, explode(rows).alias(_BRANCH, _ROW), *map(col, flow.meta))
    own = {EVENT_TIME: col(_ROW)[EVENT_TIME]}
    if flow.guarded:
        own[EVENT_TIME] = sql.coalesce(own[EVENT_TIME], col(EVENT_TIME))
        own[KEEP] = col(_ROW).is_not_null()
        if OBSERVED_TIME in flow.meta:
            own[OBSERVED_TIME] = sql.when(sql.coalesce(col(_BRANCH), 0) == 0, col(OBSERVED_TIME))
    element = [col(_ROW)[name].alias(name) for name in leaf_columns(layout_of(shape))]
    meta = [own.get(name, col(name)).alias(name) for name in flow.meta]
    return evolve(flow, frame=select(exploded, *element, *meta), shape=shape)
