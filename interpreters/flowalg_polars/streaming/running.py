"""Running a streaming query: as an iterator of micro-batches, or to its end with a sink."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Final, TypeAlias, TypeVar, cast

from attrs import frozen
from flowalg_sinks import PaneSink

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource
from flowalg_polars.capabilities import STREAMING
from flowalg_polars.streaming.query import ONE_SECOND, MicroBatch, Options, Query
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
    tick_when_idle: bool = False,
    drain: bool = False,
    dead_letters: bool = False,
    metrics: bool = False,
    shards: int = 1,
    max_skew: timedelta | None = None,
) -> Generator[MicroBatch[A], None, None]:
    """Yields the output of a pipeline over streams, micro-batch by micro-batch.

    It ends when all available data are read. With ``follow`` it waits for more, and looks for them at each
    ``interval``; with ``tick_when_idle`` as well, it runs an empty micro-batch then, so that processing-time triggers
    and policies do not wait for the next record. When all inputs have ended (iterables do, folders do not), the
    watermark is at the end of time. With ``drain`` it advances there after the available data, and so it does when
    ``drain(checkpoint)`` has been called.

    With a ``checkpoint``, a folder, the query goes on where it was stopped or killed. A micro-batch is committed when
    the next one is asked for, so what the caller does with it happens before; ``close()`` leaves the last one
    uncommitted and the checkpoint free for another query. ``shards`` is the number of parts of each
    stage's state, and is fixed for the life of a checkpoint.

    With ``max_skew``, a source whose watermark is further ahead than this of the slowest source is not read until the
    slowest has caught up, so that less waits in the state. The slowest is one that has data to read; with ``follow``,
    also one that has none now, unless it is idle (``idle_after``) or has ended. A micro-batch is not divided, so the
    skew can exceed ``max_skew`` by what one micro-batch of a source advances it.

    A bad record fails the query: one that has a null or an impossible event time, or makes a user function raise. With
    ``dead_letters`` it is in ``MicroBatch.bad_records`` instead. With ``metrics``, ``MicroBatch.metrics`` has those of
    each stage.

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
        tick_when_idle=tick_when_idle,
        drain=drain,
        dead_letters=dead_letters,
        metrics=metrics,
        shards=shards,
        max_skew=max_skew,
    )
    query = Query.compile(pipeline, inputs, options)
    return cast("Generator[MicroBatch[A], None, None]", query.run())


@frozen
class RunSummary:
    """What a query did: the number of micro-batches, panes, dropped elements and bad records."""

    batches: int
    panes: int
    dropped: int
    bad_records: int


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, StreamInput],
    *,
    sink: Sink[A] | Sequence[Sink[A]],
    checkpoint: str | PathLike[str] | None = None,
    follow: bool = False,
    interval: timedelta = ONE_SECOND,
    tick_when_idle: bool = False,
    drain: bool = False,
    dead_letters: bool = False,
    metrics: bool = False,
    shards: int = 1,
    max_skew: timedelta | None = None,
) -> RunSummary:
    """Runs a pipeline over streams, and writes each micro-batch to one sink or several.

    A sink is ``upsert(...)`` or ``changelog(...)`` of ``flowalg_sinks``, which write to a table exactly once if the
    query has a checkpoint, or a function of a ``MicroBatch``. The other arguments and errors are those of ``batches``.

    Example::

        table = flowalg_sinks.upsert(totals, SQLite("panes.db"), table="totals")
        streaming.run(totals, {scores: stream}, sink=table, checkpoint="checkpoint")
    """
    sinks = [_writer(each) for each in (sink if isinstance(sink, Sequence) else [sink])]
    done = RunSummary(0, 0, 0, 0)
    found = batches(
        pipeline,
        inputs,
        checkpoint=checkpoint,
        follow=follow,
        interval=interval,
        tick_when_idle=tick_when_idle,
        drain=drain,
        dead_letters=dead_letters,
        metrics=metrics,
        shards=shards,
        max_skew=max_skew,
    )
    for batch in found:
        for each in sinks:
            each(batch)
        done = RunSummary(
            done.batches + 1,
            done.panes + batch.rows.height,
            done.dropped + batch.dropped_count,
            done.bad_records + len(batch.bad_records),
        )
    return done


def _writer(sink: Sink[A]) -> Callable[[MicroBatch[A]], object]:
    """Returns a sink as a function of micro-batches; raises ``ArgumentError`` for anything else."""
    if isinstance(sink, PaneSink):
        return lambda batch: batch.write_to(sink)
    if callable(sink):
        return sink
    raise ArgumentError(
        "sink",
        sink,
        "upsert(...) or changelog(...) of flowalg_sinks, a function of a MicroBatch, or several of them",
    )


__all__ = ["CAPABILITIES", "RunSummary", "Sink", "batches", "run"]
