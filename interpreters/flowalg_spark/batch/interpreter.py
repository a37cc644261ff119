"""Spark batch as an interpreter: a pipeline over bounded frames, or over timelines as one batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from attrs import field, frozen
from flowalg_columns.tables import bounded_frames
from pyspark.sql import DataFrame, SparkSession

from flowalg.analysis.capabilities import Capabilities
from flowalg.data.errors import require_flag
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.inputs import AnySource
from flowalg.runs.run import Outputs, Run, with_bad_records
from flowalg.runs.timeline import Timeline
from flowalg_spark.batch import compilation
from flowalg_spark.capabilities import BATCH
from flowalg_spark.session import require_session

A = TypeVar("A")


@frozen
class SparkBatch:
    """Spark batch as an interpreter: every window emits one pane, on time (SEMANTICS section 11).

    ``time`` is the processing time of a run without timelines; it defaults to the time at which the query runs. With
    ``dead_letters``, bad records are in ``bad_records`` of the run instead of failing it.
    """

    spark: SparkSession
    time: datetime | None = field(default=None, kw_only=True)
    dead_letters: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_session("SparkBatch.spark", self.spark)
        require_flag("SparkBatch.dead_letters", self.dead_letters)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Spark batch."""
        return BATCH

    def run(
        self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object] | DataFrame]
    ) -> Run[A]:
        """Returns the output of a pipeline over bounded frames, over all elements of timelines, or over both.

        With timelines, the processing time is the last one of all of them. A batch drops nothing. Raises
        ``UnboundSourceError``, ``SchemaMismatchError``, ``ElementError`` for an element that does not match its
        source's record class, and ``UnsupportedError`` for features that batch lacks.
        """
        frames, time, rejected = self._frames(inputs, pipeline)
        run = compilation.run(pipeline, frames, time=time, dead_letters=self.dead_letters)
        return with_bad_records(run, rejected)

    def run_all(
        self,
        outputs: Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object] | DataFrame],
    ) -> Outputs:
        """Returns several named outputs of one query, over inputs as in ``run``."""
        frames, time, rejected = self._frames(inputs, *require_outputs(outputs).values())
        found = compilation.run_all(outputs, frames, time=time, dead_letters=self.dead_letters)
        return with_bad_records(found, rejected)

    def _frames(
        self, inputs: Mapping[AnySource, Timeline[object] | DataFrame], *pipelines: PCollection[object]
    ) -> tuple[dict[AnySource, DataFrame], datetime | None, tuple[BadRecord, ...]]:
        """Returns the frame of each source, the processing time of the run, and the bad records of timelines."""
        frames, time, rejected = bounded_frames(
            inputs, pipelines, self.spark.createDataFrame, dead_letters=self.dead_letters
        )
        return frames, time or self.time, rejected
