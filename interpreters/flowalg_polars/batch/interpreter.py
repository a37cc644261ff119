"""Polars batch as an interpreter: a pipeline over bounded frames, or over timelines as one batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import polars as pl
import pyarrow as pa
from attrs import field, frozen
from flowalg_columns.tables import bounded_frames

from flowalg.analysis.capabilities import Capabilities
from flowalg.data.errors import require_flag
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.inputs import AnySource
from flowalg.runs.run import Outputs, Run, with_bad_records
from flowalg.runs.timeline import Timeline
from flowalg_polars.batch import compilation
from flowalg_polars.batch.compilation import BatchInput
from flowalg_polars.capabilities import BATCH

A = TypeVar("A")


@frozen
class PolarsBatch:
    """Polars batch as an interpreter: every window emits one pane, on time (SEMANTICS section 11).

    ``time`` is the processing time of a run without timelines; it defaults to the time of the call. With
    ``dead_letters``, bad records are in ``bad_records`` of the run instead of failing it.
    """

    time: datetime | None = field(default=None, kw_only=True)
    dead_letters: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_flag("PolarsBatch.dead_letters", self.dead_letters)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Polars batch."""
        return BATCH

    def run(
        self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object] | BatchInput]
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
        inputs: Mapping[AnySource, Timeline[object] | BatchInput],
    ) -> Outputs:
        """Returns several named outputs of one query, over inputs as in ``run``."""
        frames, time, rejected = self._frames(inputs, *require_outputs(outputs).values())
        found = compilation.run_all(outputs, frames, time=time, dead_letters=self.dead_letters)
        return with_bad_records(found, rejected)

    def _frames(
        self, inputs: Mapping[AnySource, Timeline[object] | BatchInput], *pipelines: PCollection[object]
    ) -> tuple[dict[AnySource, BatchInput], datetime | None, tuple[BadRecord, ...]]:
        """Returns the frame of each source, the processing time of the run, and the bad records of timelines."""
        frames: dict[AnySource, BatchInput]
        frames, time, rejected = bounded_frames(inputs, pipelines, _frame_of, dead_letters=self.dead_letters)
        return frames, time or self.time, rejected


def _frame_of(table: pa.Table) -> BatchInput:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
