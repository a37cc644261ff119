"""Spark batch as an interpreter: a pipeline over bounded frames, or over timelines as one batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa
from attrs import frozen
from flowalg_columns.batch_interpreter import BatchInterpreter
from pyspark.sql import DataFrame, SparkSession

from flowalg.analysis.capabilities import Capabilities
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource
from flowalg.runs.run import Outputs
from flowalg_spark.batch import compilation
from flowalg_spark.capabilities import BATCH
from flowalg_spark.session import active_or_local_session, require_session


@frozen
class SparkBatch(BatchInterpreter[DataFrame]):
    """Spark batch as an interpreter: every window emits one pane, on time (SEMANTICS section 11).

    ``time`` is the processing time of a run without timelines; it defaults to the time at which the query runs. With
    ``dead_letters``, bad records are in ``bad_records`` of the run instead of failing it.
    """

    spark: SparkSession

    def __attrs_post_init__(self) -> None:
        require_session("SparkBatch.spark", self.spark)
        super().__attrs_post_init__()

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Spark batch."""
        return BATCH

    def _frame_of(self, table: pa.Table) -> DataFrame:
        return self.spark.createDataFrame(table)

    def _run(
        self,
        outputs: Mapping[str, PCollection[object]],
        frames: Mapping[AnySource, DataFrame],
        time: datetime | None,
    ) -> Outputs:
        return compilation.run(outputs, frames, time=time, dead_letters=self.dead_letters)


def on_active_session() -> SparkBatch:
    """Returns the interpreter on the active session, or on a new local one, for ``flowalg.load_interpreter``."""
    return SparkBatch(active_or_local_session())
