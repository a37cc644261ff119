"""Polars batch as an interpreter: a pipeline over bounded frames, or over timelines as one batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.batch_interpreter import BatchInterpreter

from flowalg.analysis.capabilities import Capabilities
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource
from flowalg.runs.run import Outputs
from flowalg_polars.batch import compilation
from flowalg_polars.batch.compilation import BatchInput
from flowalg_polars.capabilities import BATCH


@frozen
class PolarsBatch(BatchInterpreter[BatchInput]):
    """Polars batch as an interpreter: every window emits one pane, on time (SEMANTICS section 11).

    ``time`` is the processing time of a run without timelines; it defaults to the time of the call. With
    ``dead_letters``, bad records are in ``bad_records`` of the run instead of failing it.
    """

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Polars batch."""
        return BATCH

    def _frame_of(self, table: pa.Table) -> BatchInput:
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _run(
        self,
        outputs: Mapping[str, PCollection[object]],
        frames: Mapping[AnySource, BatchInput],
        time: datetime | None,
    ) -> Outputs:
        return compilation.run(outputs, frames, time=time, dead_letters=self.dead_letters)
