"""Running a streaming query: as an iterator of micro-batches, or to its end with a sink."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Final, Never, TypeAlias, TypeVar, Unpack, cast, overload

from attrs import field, frozen
from flowalg_sinks import PaneSink
from flowalg_sinks.distinct import require_distinct_tables

from flowalg.data.errors import ArgumentError, hidden
from flowalg.pipeline.outputs import ONLY_OUTPUT, emits_panes, require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource
from flowalg_polars.capabilities import STREAMING
from flowalg_polars.streaming.options import Options, StreamOptions
from flowalg_polars.streaming.query import MicroBatch, MicroBatches, Query
from flowalg_polars.streaming.reading.inputs import StreamInput

A = TypeVar("A")

Sink: TypeAlias = Callable[[MicroBatch[A]], object] | PaneSink
"""A function of micro-batches, or a sink of ``flowalg_sinks``."""

CAPABILITIES: Final = STREAMING
"""The capabilities of this interpreter."""

_SINK: Final = (
    "upsert(...), changelog(...) or late_data(...) of flowalg_sinks, a function of a MicroBatch, or several of "
    "them"
)


@overload
def batches(
    outputs: PCollection[A], inputs: Mapping[AnySource, StreamInput], **options: Unpack[StreamOptions]
) -> Generator[MicroBatch[A], None, None]: ...
@overload
def batches(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    **options: Unpack[StreamOptions],
) -> Generator[MicroBatches, None, None]: ...
def batches(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    **options: Unpack[StreamOptions],
) -> Generator[MicroBatch[object], None, None] | Generator[MicroBatches, None, None]:
    """Yields the output of a pipeline over streams, or several named outputs, micro-batch by micro-batch.

    What several outputs share is computed once, and one checkpoint has the state of all. ``batch[name]`` is then the
    ``MicroBatch`` of an output, and so is ``batch[collection]``. The ``options`` are ``StreamOptions``.

    It ends when all available data are read, unless it follows them. When all inputs have ended (iterables do, folders
    do not), the watermark is at the end of time. With a checkpoint, a micro-batch is committed when the next one is
    asked for, so what the caller does with it happens before; ``close()`` leaves the last one uncommitted and the
    checkpoint free for another query.

    Raises ``UnboundSourceError``, ``SchemaMismatchError``, ``ArgumentError``, ``CheckpointError``, and
    ``UnsupportedError`` for features that streaming lacks.

    Example::

        stream = StreamInput("scores", BoundedOutOfOrderness(timedelta(seconds=30)))
        for batch in streaming.batches(totals, {scores: stream}, drain=True):
            print(batch.frame)

        for batch in streaming.batches({"totals": totals, "clean": clean}, {scores: stream}):
            print(batch[totals].panes, batch["clean"].frame)
    """
    if isinstance(outputs, PCollection):
        return only_output(batches({ONLY_OUTPUT: outputs}, inputs, **options))
    return Query.compile(outputs, inputs, Options(**options)).run()


def only_output(
    micro_batches: Generator[MicroBatches, None, None],
) -> Generator[MicroBatch[object], None, None]:
    """Yields the micro-batches of the output of a query that has one."""
    with closing(micro_batches):
        for batch in micro_batches:
            yield batch[ONLY_OUTPUT]


@frozen
class RunSummary:
    """What a query did for an output: the number of micro-batches, panes, elements, drops and bad records.

    ``elements`` are those of an output that nothing has grouped; ``dropped`` are elements too.
    """

    batches: int
    panes: int
    dropped: int
    bad_records: int
    elements: int = field(default=0, kw_only=True)

    def after(self, batch: MicroBatch[object]) -> RunSummary:
        """Returns the summary after one more micro-batch."""
        panes, rows = emits_panes(batch.pipeline.node), batch.rows.height
        return RunSummary(
            self.batches + 1,
            self.panes + (rows if panes else 0),
            self.dropped + batch.dropped_count,
            self.bad_records + len(batch.bad_records),
            elements=self.elements + (0 if panes else rows),
        )


@overload
def run(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, StreamInput],
    *,
    sink: Sink[A] | Sequence[Sink[A]],
    **options: Unpack[StreamOptions],
) -> RunSummary: ...
@overload
def run(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    *,
    sinks: Mapping[str, Sink[Never] | Sequence[Sink[Never]]],
    **options: Unpack[StreamOptions],
) -> dict[str, RunSummary]: ...
def run(
    outputs: PCollection[A] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    *,
    sink: Sink[A] | Sequence[Sink[A]] | None = None,
    sinks: Mapping[str, Sink[Never] | Sequence[Sink[Never]]] | None = None,
    **options: Unpack[StreamOptions],
) -> RunSummary | dict[str, RunSummary]:
    """Runs a pipeline over streams, or several named outputs as one query, and writes each micro-batch to its sinks.

    ``sink`` is one sink of the pipeline or several; ``sinks`` has one or several for each output, by its name. A sink
    is ``upsert(...)``, ``changelog(...)`` or ``late_data(...)`` of ``flowalg_sinks``, which write to a table exactly
    once if the query has a checkpoint, or a function of a ``MicroBatch``. The ``options`` are ``StreamOptions``, and
    the errors those of ``batches``. Returns the summary of each output.

    Example::

        table = flowalg_sinks.upsert(totals, SQLite("panes.db"), table="totals")
        streaming.run(totals, {scores: stream}, sink=table, checkpoint="checkpoint")

        log = flowalg_sinks.changelog(clean, SQLite("panes.db"), table="clean")
        streaming.run(
            {"totals": totals, "clean": clean}, {scores: stream}, sinks={"totals": table, "clean": log}
        )
    """
    if isinstance(outputs, PCollection):
        if sinks is not None:
            raise ArgumentError("sinks", hidden(sinks), "None for one pipeline, which has a sink")
        if sink is None:
            raise ArgumentError("sink", sink, _SINK)
        return run({ONLY_OUTPUT: outputs}, inputs, sinks={ONLY_OUTPUT: sink}, **options)[ONLY_OUTPUT]
    if sink is not None:
        raise ArgumentError("sink", hidden(sink), "None for several outputs, which have sinks")
    pipelines = require_outputs(outputs)
    if not isinstance(sinks, Mapping) or set(sinks) != set(pipelines):
        raise ArgumentError(
            "sinks", hidden(sinks), f"a mapping with sinks for each output: {', '.join(pipelines)}"
        )
    listed = {
        name: list(output_sinks if isinstance(output_sinks, Sequence) else [output_sinks])
        for name, output_sinks in sinks.items()
    }
    writers = {name: [_writer(sink) for sink in output_sinks] for name, output_sinks in listed.items()}
    require_distinct_tables(
        {
            name: [(sink.target, sink.name) for sink in output_sinks if isinstance(sink, PaneSink)]
            for name, output_sinks in listed.items()
        }
    )
    summaries = dict.fromkeys(pipelines, RunSummary(0, 0, 0, 0))

    def write_all(batch: MicroBatches) -> None:
        for output, output_writers in writers.items():
            for write in output_writers:
                write(batch[output])
            summaries[output] = summaries[output].after(batch[output])

    Query.compile(pipelines, inputs, Options(**options)).run_to_end(write_all)
    return summaries


def _writer(sink: Sink[Never]) -> Callable[[MicroBatch[object]], object]:
    """Returns a sink as a function of micro-batches; raises ``ArgumentError`` for anything else."""
    if isinstance(sink, PaneSink):
        return lambda batch: batch.write_to(sink)
    if callable(sink):
        # A function of the micro-batches of its output: the types of several outputs differ.
        return cast("Callable[[MicroBatch[object]], object]", sink)
    raise ArgumentError("sink", hidden(sink), _SINK)
