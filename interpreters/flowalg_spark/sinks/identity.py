"""What identifies a micro-batch of Spark besides its number: the offsets that it reads, and the start of its query.

Both are in the checkpoint. Spark logs the offsets of a micro-batch before it runs, and a micro-batch that is repeated
has the same log. The starts are counted by files of a folder that only this module writes.
"""

from __future__ import annotations

from typing import Final, cast

from attrs import define, evolve, field
from flowalg_sinks.databases.target import WrittenBatch
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from flowalg_spark.changes.checkpoint_files import (
    FINGERPRINTS,
    STARTS,
    CheckpointFiles,
    fingerprint_of_offsets,
)
from flowalg_spark.jvm import Java, jvm_of
from flowalg_spark.sinks.query import query_id, spark_query_id

_USE: Final = "the identity of a micro-batch"


@define
class _Start:
    """A start of a query: its run, its number, and the fingerprints of its last micro-batches."""

    run: str
    generation: int
    files: CheckpointFiles
    inputs: dict[int, str | None] = field(factory=dict)

    def input(self, batch: int) -> str | None:
        """Returns the fingerprint of the offsets of a micro-batch; ``None`` if Spark has removed them."""
        if batch not in self.inputs:
            text = self.files.read(f"offsets/{batch}")
            self.inputs = {
                number: fingerprint for number, fingerprint in self.inputs.items() if number == batch - 1
            }
            known = self.files.read(f"{FINGERPRINTS}/{batch}")
            self.inputs[batch] = known if text is None or known else fingerprint_of_offsets(text)
        return self.inputs[batch]


_STARTS: Final[dict[str, _Start]] = {}
"""The current start of each query of this process, by its id."""


def identify(frame: DataFrame, name: str | None, batch: int) -> tuple[WrittenBatch, str | None]:
    """Returns the identity of a micro-batch, and the fingerprint of what the one before it has read.

    Over Spark Connect, outside of a query, and in a Spark that does not show its queries, it is the number only: the
    offsets are in the checkpoint, and in the progress of a query only when the micro-batch is finished. Raises
    ``ArgumentError`` if there is no id of the query.
    """
    written = WrittenBatch(query_id(frame, name), batch)
    query = spark_query_id(frame)
    if query is None:
        return written, None
    try:
        start = _start_of(frame, query)
    except Py4JError as error:
        if isinstance(error, Py4JJavaError):
            raise
        return written, None  # a version of Spark without these methods
    if start is None:
        return written, None
    after = start.input(batch - 1) if batch > 0 else None
    return evolve(written, generation=start.generation, input=start.input(batch)), after


def _start_of(frame: DataFrame, query: str) -> _Start | None:
    """Returns the current start of a query, which is counted when it is first seen."""
    session = frame.sparkSession
    jvm = jvm_of(session, _USE)
    active = cast("Java", session._jsparkSession).sharedState().activeStreamingQueries()
    execution = active.get(jvm.java.util.UUID.fromString(query))
    if execution is None:
        return None
    run = str(execution.runId().toString())
    start = _STARTS.get(query)
    if start is None or start.run != run:
        files = CheckpointFiles.of(session, str(execution.resolvedCheckpointRoot()), _USE)
        start = _STARTS[query] = _Start(run, _count_start(files), files)
    return start


def _count_start(files: CheckpointFiles) -> int:
    """Returns the number of this start, and stores it in the checkpoint."""
    earlier = [name for name in files.names(STARTS) if name.isdigit()]
    number = max(map(int, earlier), default=0) + 1
    files.write(f"{STARTS}/{number}", "")
    for name in earlier:
        files.remove(f"{STARTS}/{name}")
    return number
