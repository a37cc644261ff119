"""Lifted steps that can fail, with dead letters: columns that say where they do, and Python for those rows alone."""

from __future__ import annotations

from typing import Final, assert_never

import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.layout import flatten_columns, layout_of, leaf_columns
from flowalg_columns.names import DROPPED_VALUE, ERROR, PANE_TIME
from flowalg_columns.python.rows import PythonSteps
from flowalg_columns.values import AnyArray, read_arrays
from flowalg_shard.tables.columns import EVENT_TIME, KEEP, PROCESSING_TIME
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data.shapes import Shape
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, nest, select
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import Fallible, compile_fallible, may_fail
from flowalg_spark.lowering.flow import Flow, bad_record_columns, guard_columns, row_schema
from flowalg_spark.lowering.python_columns import arrow_column, compute_where_kept

_FAILED: Final = "__failed"
_LETTER: Final = "__letter"
_LETTER_TYPE: Final = T.StructType([T.StructField(name, T.StringType()) for name in (ERROR, DROPPED_VALUE)])


@frozen
class LettersOf:
    """An Arrow function from the elements of rows to the error and the JSON of those on which a step fails.

    The first array says which these are; the others have the leaves of the elements.
    """

    steps: PythonSteps

    def __call__(self, failed: AnyArray, *leaves: AnyArray) -> AnyArray:
        """Returns a struct for each row, null where the step does not fail."""
        return compute_where_kept(self._letters, failed, *leaves)

    def _letters(self, leaves: tuple[AnyArray, ...]) -> AnyArray:
        named = dict(zip(leaf_columns(self.steps.before), leaves, strict=True))
        bad = self.steps.failures(read_arrays(self.steps.before, named))
        texts = [[record.error for record in bad], [record.record for record in bad]]
        arrays = [pa.array(column, pa.string()) for column in texts]
        return pa.StructArray.from_arrays(arrays, names=[field.name for field in _LETTER_TYPE])


def can_fail(analysis: StepAnalysis) -> bool:
    """Returns whether a lifted step may fail because of an element."""
    return analysis.may_leave_time or may_fail(analysis.expression)


def fallible_of(flow: Flow, analysis: StepAnalysis) -> Fallible | None:
    """Returns the columns of a lifted step that can fail; ``None`` if only Python finds out where it fails."""
    is_single = isinstance(analysis.step, Map | Filter | WithTimestamps)
    return compile_fallible(analysis.expression, flow.element) if is_single else None


def in_range(micros: Sql) -> Sql:
    """Returns whether event times are among those that windows contain."""
    return micros.between(int(MIN_TIME), MAX_TIME - 1)


def apply_with_flags(flow: Flow, analysis: StepAnalysis, fallible: Fallible) -> Flow:
    """Returns the flow after a lifted step. Rows on which it fails are not kept, and have the columns of a drop."""
    step, fails = analysis.step, fallible.fails
    if analysis.may_leave_time:
        fails |= ~in_range(sql.unix_micros(nest(fallible.columns)))
    after = analysis.after
    assert after is not None, "the type of a lifted result is known"
    flagged = _with_letters(flow, step, after, sql.coalesce(col(KEEP) & fails, False))
    drops = bad_record_columns(step.label, col(_LETTER)[ERROR], col(_LETTER)[DROPPED_VALUE])
    if PROCESSING_TIME in flow.meta:
        drops[PANE_TIME] = col(PROCESSING_TIME)
    meta = {
        name: sql.when(col(_FAILED), value.cast(META_TYPES[name])).otherwise(col(name))
        for name, value in drops.items()
    }
    kept = col(KEEP) & ~col(_FAILED)
    columns = flow.element
    match step:
        case Map():
            columns = guard_columns(fallible.columns, kept)
        case Filter():
            kept &= sql.coalesce(nest(fallible.columns), False)
        case WithTimestamps():
            micros = sql.unix_micros(nest(fallible.columns))
            meta[EVENT_TIME] = sql.when(kept, micros).otherwise(col(EVENT_TIME))
        case FlatMap():
            raise AssertionError("a step with several results has no column that says where it fails")
        case _:
            assert_never(step)
    meta[KEEP] = kept
    named = (meta.get(name, col(name)).alias(name) for name in flow.meta)
    return evolve(flow, frame=select(flagged, *flatten_columns(columns, after), *named), shape=after)


def _with_letters(flow: Flow, step: Step, after: Shape, failed: Sql) -> DataFrame:
    """Returns the rows of a flow with columns that say whether a step fails, and with what error.

    Python receives the elements on which it fails; on other rows all arguments are null.
    """
    flagged = select(flow.frame, *leaf_columns(flow.element), *map(col, flow.meta), failed.alias(_FAILED))
    layout = layout_of(flow.shape)
    schema = arrow_schema(row_schema(after, {}))
    letters = LettersOf(PythonSteps(layout, layout_of(after), ((step,),), False, schema, dead_letters=True))
    arguments = [col(_FAILED), *(sql.when(col(_FAILED), leaf) for leaf in leaf_columns(flow.element))]
    letter = arrow_column(letters, _LETTER_TYPE, arguments, deterministic=True)
    return flagged.select("*", letter.alias(_LETTER))
