"""Dead letters of a batch: flows whose bad records are rows, and the frame of all of them.

A chain of steps carries its bad records as rows that are not kept, as a stream does. Before a grouping they are
separated from the elements, by two filters of the same frame: so the frame of the bad records reads the source and runs
the steps, and never a grouping that follows, and the panes need none of the columns that only bad records have.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from attrs import define, evolve, field
from flowalg_columns.names import BAD_RECORD, DROPPED_VALUE, ERROR, STAGE
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON, EVENT_TIME, KEEP
from pyspark.sql import DataFrame

from flowalg.pipeline.nodes import SourceNode
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select, where
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.frames.pane_frame import BAD_RECORD_TYPE
from flowalg_spark.lowering.binding import StreamColumns, bind_source, corrupt_columns
from flowalg_spark.lowering.flow import Flow

_LETTER: Final = (STAGE, ERROR, DROPPED_VALUE)
_GUARD: Final = (KEEP, DROP_REASON, DROP_COUNT, *_LETTER)
"""The columns of rows that may be bad records."""


@define
class DeadLetters:
    """The bad records of the flows that have been separated: a frame for each.

    ``time`` is the processing time, and ``corrupt_record`` names the column of the texts that Spark could not parse.
    """

    time: Sql
    corrupt_record: str | None = None
    frames: list[DataFrame] = field(factory=list)

    def bind_source(self, source: SourceNode, frame: DataFrame) -> Flow:
        """Returns the records of a source, with the bad ones."""
        text, error = corrupt_columns(frame, self.corrupt_record)
        columns = StreamColumns(self.time, None, corrupt_record=text, corrupt_error=error, dead_letters=True)
        flow = bind_source(source, frame, columns)
        return flow.with_meta_only((EVENT_TIME, *_GUARD))

    def guard(self, flow: Flow) -> Flow:
        """Returns a flow whose rows may be bad records."""
        if flow.guarded:
            return flow
        unset = {name: NULL for name in _GUARD if name != KEEP}
        return evolve(flow.with_meta(**{KEEP: sql.lit(True)}, **unset), dead_letters=True)

    def separate(self, flow: Flow) -> Flow:
        """Returns the elements of a flow; its bad records become a frame of their own."""
        if not flow.guarded:
            return flow
        bad = where(flow.frame, col(DROP_REASON).is_not_null())
        self.frames.append(select(bad, *map(col, _LETTER)))
        kept = evolve(flow, frame=where(flow.frame, col(KEEP)), dead_letters=False)
        return kept.with_meta_only(tuple(name for name in flow.meta if name not in _GUARD))

    @property
    def frame(self) -> DataFrame:
        """All bad records, with the columns of drops; the pipeline has been lowered."""
        by_name = {
            "stage": col(STAGE),
            "reason": sql.lit(BAD_RECORD),
            "count": sql.lit(1),
            "value": col(DROPPED_VALUE),
            "processing_time": sql.timestamp_micros(self.time),
            "error": col(ERROR),
        }
        columns = (
            by_name.get(field.name, NULL).cast(field.dataType).alias(field.name) for field in BAD_RECORD_TYPE
        )
        return select(reduce(DataFrame.union, self.frames), *columns)
