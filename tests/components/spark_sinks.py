"""Several sinks of one streaming query of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

Write = Callable[[DataFrame, int], None]
"""A function for ``writeStream.foreachBatch``."""


def write_all(sinks: Sequence[Write]) -> Write:
    """Returns a function for ``foreachBatch`` that computes a micro-batch once and passes it to each sink."""

    def write(frame: DataFrame, batch: int) -> None:
        rows = frame.persist()
        try:
            for sink in sinks:
                sink(rows, batch)
        finally:
            rows.unpersist()

    return write


def run_to_sinks(frame: DataFrame, sinks: Sequence[Write], checkpoint: Path) -> None:
    """Runs a query over what its input has now, and waits until it ends; each micro-batch is passed to all sinks."""
    writer = frame.writeStream.foreachBatch(write_all(sinks))
    writer = writer.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
