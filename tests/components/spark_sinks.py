"""Several sinks of one streaming query of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
