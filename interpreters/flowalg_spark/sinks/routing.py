"""Writes each of several outputs of a stream to a sink of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import frozen
from flowalg_sinks.distinct import require_distinct_tables
from flowalg_sinks.pane_sink import PaneSink
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg_spark.callbacks import exits_as_errors
from flowalg_spark.frames.output_rows import output_names, select_output
from flowalg_spark.sinks.lakehouse_sinks import LakehouseSink

BatchSink: TypeAlias = Callable[[DataFrame, int], None]
"""A function for ``writeStream.foreachBatch``: it writes the frame of a micro-batch with that number."""


@frozen
class Route:
    """A function for ``writeStream.foreachBatch`` that writes each output to its sink; ``route`` makes one."""

    sinks: Mapping[str, BatchSink]

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch. Its rows are kept meanwhile, so the stages run once for all sinks."""
        names = output_names(frame)
        if set(names) != set(self.sinks):
            raise ArgumentError(
                "the names of sinks", sorted(self.sinks), f"those of the outputs: {', '.join(names)}"
            )
        rows = frame.persist()
        try:
            for name, sink in self.sinks.items():
                with exits_as_errors(f"the sink of the output {name!r}"):
                    sink(select_output(rows, name), batch)
        finally:
            rows.unpersist()


def route(sinks: Mapping[str, BatchSink]) -> Route:
    """Returns a function for ``foreachBatch`` that writes each output of ``streaming.compile`` to its own sink.

    ``sinks`` has a function for ``foreachBatch`` for the name of each output, such as ``upsert(...)``. They are called
    in order, in each micro-batch. If one fails, the micro-batch is repeated, for all of them: a sink that has written
    it must ignore it, as ``upsert`` and ``changelog`` do. One that exits, such as by ``sys.exit()``, is a
    ``UserFunctionError``. Each needs a table of its own. Drops belong to no output: to store them too, write
    ``compile(...).with_drops()`` with a function of your own. Raises ``ArgumentError`` for anything else than functions
    by name, for two sinks of one table, and in the first micro-batch for outputs without a sink.

    Example::

        sink = route({"totals": upsert(totals, target, table="totals"), "clean": changelog(clean, target, table="log")})
        rows.writeStream.foreachBatch(sink).option("checkpointLocation", "checkpoint").start()
    """
    if not isinstance(sinks, Mapping) or not sinks or not all(map(callable, sinks.values())):
        raise ArgumentError(
            "sinks", sinks, "a function (frame, batch) for the name of each output, such as upsert(...)"
        )
    require_distinct_tables(
        {
            name: [(sink.target, sink.name)]
            for name, sink in sinks.items()
            if isinstance(sink, PaneSink | LakehouseSink)
        }
    )
    return Route(dict(sinks))
