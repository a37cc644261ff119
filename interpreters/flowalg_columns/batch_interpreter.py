"""A batch of any engine as an interpreter: a pipeline over bounded frames, or over timelines as one batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypedDict, TypeVar, overload

import pyarrow as pa
from attrs import field, frozen

from flowalg.analysis.capabilities import Capabilities
from flowalg.data.errors import require_flag
from flowalg.pipeline.outputs import ONLY_OUTPUT, require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource
from flowalg.runs.run import Outputs, Run, run_of, with_bad_records
from flowalg.runs.timeline import Timeline
from flowalg_columns.tables import bounded_frames

A = TypeVar("A")
F = TypeVar("F")


class BatchOptions(TypedDict, total=False):
    """The options of a batch: the processing time of its output, whether bad records are kept apart, and whether a
    function that runs in Python is an error.
    """

    time: datetime | None
    dead_letters: bool
    require_lifted: bool


@frozen
class BatchInterpreter(ABC, Generic[F]):
    """A batch over frames of the type ``F``, in which every window emits one pane, on time (SEMANTICS section 11)."""

    time: datetime | None = field(default=None, kw_only=True)
    dead_letters: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_flag(f"{type(self).__name__}.dead_letters", self.dead_letters)

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """The capabilities of the engine's batch."""

    @abstractmethod
    def _frame_of(self, table: pa.Table) -> F:
        """Returns the records of a timeline as a frame."""

    @abstractmethod
    def _run(
        self,
        outputs: Mapping[str, PCollection[object]],
        frames: Mapping[AnySource, F],
        time: datetime | None,
    ) -> Outputs:
        """Runs several outputs over frames."""

    @overload
    def run(self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object] | F]) -> Run[A]: ...
    @overload
    def run(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object] | F]
    ) -> Outputs: ...
    def run(
        self,
        outputs: PCollection[object] | Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object] | F],
    ) -> Run[object] | Outputs:
        """Returns the output of a pipeline, or several named outputs, by one query over bounded data.

        The data of a source are a frame, or all elements of a timeline. With timelines, the processing time is the last
        one of all of them. A batch drops nothing. Raises ``UnboundSourceError``, ``SchemaMismatchError``,
        ``ElementError`` for an element that does not match its source's record class, and ``UnsupportedError`` for
        features that batch lacks.
        """
        if isinstance(outputs, PCollection):
            return run_of(self.run({ONLY_OUTPUT: outputs}, inputs), outputs)
        pipelines = require_outputs(outputs).values()
        frames, time, rejected = bounded_frames(
            inputs, pipelines, self._frame_of, dead_letters=self.dead_letters
        )
        return with_bad_records(self._run(outputs, frames, time or self.time), rejected)
