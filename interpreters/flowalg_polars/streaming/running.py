"""Running a streaming query: as an iterator of micro-batches, or to its end with a sink."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from os import PathLike
from typing import Final, Never, TypeAlias, TypeVar, cast

from attrs import field, frozen
from flowalg_sinks import PaneSink
from flowalg_sinks.distinct import require_distinct_tables

from flowalg.data.errors import ArgumentError, hidden
from flowalg.pipeline.outputs import emits_panes, require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.events import Observer
from flowalg.runs.inputs import AnySource
from flowalg_polars.capabilities import STREAMING
from flowalg_polars.streaming.query import ONE_SECOND, MicroBatch, MicroBatches, Options, Query
from flowalg_polars.streaming.reading.inputs import StreamInput

A = TypeVar("A")

Sink: TypeAlias = Callable[[MicroBatch[A]], object] | PaneSink
"""A function of micro-batches, or a sink of ``flowalg_sinks``."""

CAPABILITIES: Final = STREAMING
"""The capabilities of this interpreter."""


def batches(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, StreamInput],
    *,
    checkpoint: str | PathLike[str] | None = None,
    follow: bool = False,
    interval: timedelta = ONE_SECOND,
    tick: timedelta | None = ONE_SECOND,
    tick_when_idle: bool = False,
    drain: bool = False,
    dead_letters: bool = False,
    metrics: bool = False,
    shards: int = 1,
    max_skew: timedelta | None = None,
    name: str | None = None,
    observers: Sequence[Observer] = (),
) -> Generator[MicroBatch[A], None, None]:
    """Yields the output of a pipeline over streams, micro-batch by micro-batch.

    It ends when all available data are read. With ``follow`` it waits for more, and looks for them at each
    ``interval``. Time passes without data, too: if anything in the pipeline waits for processing time (a trigger, a
    timer, a policy that follows the clock, ``idle_after``), an empty micro-batch runs at the next deadline, and at
    least once in a ``tick``; none does with ``tick=None``. With ``tick_when_idle`` it runs for any pipeline. When all
    inputs have ended (iterables do, folders do not), the watermark is at the end of time. With ``drain`` it advances
    there after the available data, and so it does when ``drain(checkpoint)`` has been called.

    With a ``checkpoint``, a folder, the query goes on where it was stopped or killed. A micro-batch is committed when
    the next one is asked for, so what the caller does with it happens before; ``close()`` leaves the last one
    uncommitted and the checkpoint free for another query. ``shards`` is the number of parts of each
    stage's state. A checkpoint fixes it, and only ``reshard`` changes it.

    With ``max_skew``, a source whose watermark is further ahead than this of the slowest source is not read until the
    slowest has caught up, so that less waits in the state. The slowest is one that has data to read; with ``follow``,
    also one that has none now, unless it is idle (``idle_after``) or has ended. A micro-batch is not divided, so the
    skew can exceed ``max_skew`` by what one micro-batch of a source advances it.

    A bad record fails the query: one that has a null or an impossible event time, or makes a user function raise. With
    ``dead_letters`` it is in ``MicroBatch.bad_records`` instead. With ``metrics``, ``MicroBatch.metrics`` has those of
    each stage.

    The ``observers`` are called when the query starts, after each micro-batch when it is committed, and when it ends
    or fails, with a ``QueryEvent`` in which the query has its ``name``; by default its id. They imply ``metrics``. An
    observer that raises fails the query.

    Raises ``UnboundSourceError``, ``SchemaMismatchError``, ``ArgumentError``, ``CheckpointError``, and
    ``UnsupportedError`` for features that streaming lacks.

    Example::

        stream = StreamInput("scores", BoundedOutOfOrderness(timedelta(seconds=30)))
        for batch in streaming.batches(totals, {scores: stream}, drain=True):
            print(batch.frame)
    """
    options = Options(
        checkpoint,
        follow=follow,
        interval=interval,
        tick=tick,
        tick_when_idle=tick_when_idle,
        drain=drain,
        dead_letters=dead_letters,
        metrics=metrics,
        shards=shards,
        max_skew=max_skew,
        name=name,
        observers=observers,
    )
    query = Query.compile({"output": pipeline}, inputs, options)
    return cast("Generator[MicroBatch[A], None, None]", only_output(query.run()))


def only_output(
    micro_batches: Generator[MicroBatches, None, None],
) -> Generator[MicroBatch[object], None, None]:
    """Yields the micro-batches of the output of a query that has one."""
    with closing(micro_batches):
        for batch in micro_batches:
            yield batch["output"]


def batches_all(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    *,
    checkpoint: str | PathLike[str] | None = None,
    follow: bool = False,
    interval: timedelta = ONE_SECOND,
    tick: timedelta | None = ONE_SECOND,
    tick_when_idle: bool = False,
    drain: bool = False,
    dead_letters: bool = False,
    metrics: bool = False,
    shards: int = 1,
    max_skew: timedelta | None = None,
    name: str | None = None,
    observers: Sequence[Observer] = (),
) -> Generator[MicroBatches, None, None]:
    """Yields several named outputs of one query over streams, micro-batch by micro-batch.

    What the outputs share is computed once, and one checkpoint has the state of all. ``batch[name]`` is the
    ``MicroBatch`` of an output, and so is ``batch[collection]``. The arguments and errors are those of ``batches``.

    Example::

        for batch in streaming.batches_all({"totals": totals, "clean": clean}, {scores: stream}):
            print(batch[totals].panes, batch["clean"].frame)
    """
    options = Options(
        checkpoint,
        follow=follow,
        interval=interval,
        tick=tick,
        tick_when_idle=tick_when_idle,
        drain=drain,
        dead_letters=dead_letters,
        metrics=metrics,
        shards=shards,
        max_skew=max_skew,
        name=name,
        observers=observers,
    )
    return Query.compile(outputs, inputs, options).run()


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


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, StreamInput],
    *,
    sink: Sink[A] | Sequence[Sink[A]],
    checkpoint: str | PathLike[str] | None = None,
    follow: bool = False,
    interval: timedelta = ONE_SECOND,
    tick: timedelta | None = ONE_SECOND,
    tick_when_idle: bool = False,
    drain: bool = False,
    dead_letters: bool = False,
    metrics: bool = False,
    shards: int = 1,
    max_skew: timedelta | None = None,
    name: str | None = None,
    observers: Sequence[Observer] = (),
) -> RunSummary:
    """Runs a pipeline over streams, and writes each micro-batch to one sink or several.

    A sink is ``upsert(...)`` or ``changelog(...)`` of ``flowalg_sinks``, which write to a table exactly once if the
    query has a checkpoint, or a function of a ``MicroBatch``. The other arguments and errors are those of ``batches``.

    Example::

        table = flowalg_sinks.upsert(totals, SQLite("panes.db"), table="totals")
        streaming.run(totals, {scores: stream}, sink=table, checkpoint="checkpoint")
    """
    summaries = run_all(
        {"output": pipeline},
        inputs,
        sinks={"output": sink},
        checkpoint=checkpoint,
        follow=follow,
        interval=interval,
        tick=tick,
        tick_when_idle=tick_when_idle,
        drain=drain,
        dead_letters=dead_letters,
        metrics=metrics,
        shards=shards,
        max_skew=max_skew,
        name=name,
        observers=observers,
    )
    return summaries["output"]


def run_all(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    *,
    sinks: Mapping[str, Sink[Never] | Sequence[Sink[Never]]],
    checkpoint: str | PathLike[str] | None = None,
    follow: bool = False,
    interval: timedelta = ONE_SECOND,
    tick: timedelta | None = ONE_SECOND,
    tick_when_idle: bool = False,
    drain: bool = False,
    dead_letters: bool = False,
    metrics: bool = False,
    shards: int = 1,
    max_skew: timedelta | None = None,
    name: str | None = None,
    observers: Sequence[Observer] = (),
) -> dict[str, RunSummary]:
    """Runs several named outputs as one query over streams, and writes each to its own sinks.

    ``sinks`` has one sink or several for each output, by its name. The other arguments are those of ``batches_all``.
    Returns the summary of each output.

    Example::

        table = flowalg_sinks.upsert(totals, SQLite("panes.db"), table="totals")
        log = flowalg_sinks.changelog(clean, SQLite("panes.db"), table="clean")
        streaming.run_all(
            {"totals": totals, "clean": clean}, {scores: stream}, sinks={"totals": table, "clean": log}
        )
    """
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
    options = Options(
        checkpoint,
        follow=follow,
        interval=interval,
        tick=tick,
        tick_when_idle=tick_when_idle,
        drain=drain,
        dead_letters=dead_letters,
        metrics=metrics,
        shards=shards,
        max_skew=max_skew,
        name=name,
        observers=observers,
    )
    query = Query.compile(pipelines, inputs, options)
    micro_batches = query.run()
    try:
        for batch in micro_batches:
            for output, output_writers in writers.items():
                for write in output_writers:
                    write(batch[output])
                summaries[output] = summaries[output].after(batch[output])
    except BaseException as failure:
        query.failure = failure  # observers see it also if a sink has raised it
        micro_batches.close()
        query.failure = None  # its traceback has this frame
        raise
    return summaries


def _writer(sink: Sink[Never]) -> Callable[[MicroBatch[object]], object]:
    """Returns a sink as a function of micro-batches; raises ``ArgumentError`` for anything else."""
    if isinstance(sink, PaneSink):
        return lambda batch: batch.write_to(sink)
    if callable(sink):
        # A function of the micro-batches of its output: the types of several outputs differ.
        return cast("Callable[[MicroBatch[object]], object]", sink)
    raise ArgumentError(
        "sink",
        hidden(sink),
        "upsert(...) or changelog(...) of flowalg_sinks, a function of a MicroBatch, or several of them",
    )
