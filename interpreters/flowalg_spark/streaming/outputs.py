"""The frame of several outputs of a stream: the rows that its plans have parked, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from flowalg_columns.names import DROP_META, ERROR, LATE_META, METRICS
from flowalg_columns.notes import LiftingNote
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_shard.tables.columns import DROP_REASON
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.plan.plan import Plan
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select, where
from flowalg_spark.encoding.sql import Sql, any_of
from flowalg_spark.frames.drop_columns import drop_columns
from flowalg_spark.frames.output_rows import OUTPUT
from flowalg_spark.frames.pane_frame import PaneFrame, noted_frame, shown_columns
from flowalg_spark.streaming.metrics import with_metrics_observed
from flowalg_spark.streaming.metrics_columns import metrics_struct
from flowalg_spark.streaming.streams.parked_rows import Slot
from flowalg_spark.streaming.streams.stream import Stream


def output_frame(
    plan: Plan, slots: Mapping[str, Slot], streams: Sequence[Stream], observed: Sequence[str]
) -> PaneFrame[object]:
    """Returns the rows of the outputs of a plan, given the slot of each, and the streams that have the slots.

    ``observed`` are the names of the stages whose metrics are in the progress reports of a query.
    """
    parts = [_rows(plan, slots, stream) for stream in streams]
    rows = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)
    if observed or plan.dead_letters:
        rows = with_metrics_observed(rows, observed, dead_letters=plan.dead_letters)
    own = [OUTPUT, *plan.outputs]
    notes = dict.fromkeys(note for stream in streams for note in stream.flow.notes)
    shown = select(where(rows, col(OUTPUT).is_not_null()), *map(col, own))
    return noted_frame(shown, tuple[LiftingNote, ...](notes), partial(_with_drops, rows, own))


def _rows(plan: Plan, slots: Mapping[str, Slot], stream: Stream) -> DataFrame:
    """Returns the rows of a stream that are of an output, a drop, or metrics."""
    flow = stream.flow
    parked = {name: slot for name, slot in slots.items() if slot.mark in flow.meta}
    others = [name for name in (*DROP_META, *LATE_META, ERROR, METRICS) if name in flow.meta]
    marks = [slot.mark for slot in parked.values()]
    marks += [name for name in (DROP_REASON, METRICS) if name in others]
    kept = where(flow.frame, any_of(col(mark).is_not_null() for mark in marks))

    def columns(name: str, slot: Slot) -> Sql:
        shown = shown_columns(slot.flow(stream), panes=plan.emits_panes(name))
        return sql.when(col(slot.mark).is_not_null(), sql.struct(*shown))

    names = [sql.when(col(slot.mark).is_not_null(), name) for name, slot in parked.items()]
    return select(
        kept,
        sql.coalesce(*names).alias(OUTPUT),
        *(columns(name, slot).alias(name) for name, slot in parked.items()),
        *map(col, others),
    )


def _with_drops(rows: DataFrame, own: Sequence[str], *, metrics: bool) -> DataFrame:
    """Returns the rows of the outputs with their drops, and with ``metrics`` the metrics of stages."""
    others = list(drop_columns(rows.columns))
    wanted = [col(name).is_not_null() for name in (OUTPUT, DROP_REASON) if name in rows.columns]
    if metrics:
        if METRICS not in rows.columns:
            raise ArgumentError("metrics", False, "True in streaming.compile for with_metrics()")
        wanted.append(col(METRICS).is_not_null())
        others.append(metrics_struct().alias(METRICS_COLUMN))
    return select(where(rows, any_of(wanted)), *map(col, own), *others)
