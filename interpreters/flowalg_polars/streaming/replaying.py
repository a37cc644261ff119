"""Replay: bounded data through the meaning of a stream, instant by instant."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TypeAlias, TypeVar, Unpack, overload

import polars as pl
from attrs import evolve
from flowalg_columns.checks.streams import frame_without_policy

from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import sources_of
from flowalg.runs.division import Replay, ReplayOptions
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg_polars.frames.foreign import FRAME, ArrowStream, polars_frame
from flowalg_polars.streaming.options import Options
from flowalg_polars.streaming.query import MicroBatch, MicroBatches, Query
from flowalg_polars.streaming.reading.inputs import (
    Frames,
    StreamColumn,
    StreamInput,
    columns_in,
    named_columns,
)
from flowalg_polars.streaming.reading.recorded import RecordedRows, Recording, in_order, read_all
from flowalg_polars.streaming.running import only_output

A = TypeVar("A")

ReplayInput: TypeAlias = "ArrowStream | pl.LazyFrame | StreamInput"
"""The recorded data of a source: a frame, or the input of a stream, all of whose data is replayed."""


@overload
def replay(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, ReplayInput],
    *,
    metrics: bool = False,
    **options: Unpack[ReplayOptions[StreamColumn]],
) -> Generator[MicroBatch[A], None, None]: ...
@overload
def replay(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, ReplayInput],
    *,
    metrics: bool = False,
    **options: Unpack[ReplayOptions[StreamColumn]],
) -> Generator[MicroBatches, None, None]: ...
def replay(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, ReplayInput],
    *,
    metrics: bool = False,
    **options: Unpack[ReplayOptions[StreamColumn]],
) -> Generator[MicroBatch[object], None, None] | Generator[MicroBatches, None, None]:
    """Yields what a stream over recorded data emits, instant by instant: early, on-time and late panes.

    Of a pipeline, it yields a ``MicroBatch`` for each instant, and of several named outputs ``MicroBatches``.

    ``inputs`` has a frame for each source, or the ``StreamInput`` that the stream had. The rows are in order of
    ``processing_time``, a timestamp column, or of event time if no such column is named. Rows of one processing time
    are observed together. With ``every``, those of one period of processing time are, aligned to the epoch; with
    ``micro_batch``, a column, those with one value of it are, in the order of the values. An instant is at the greatest
    processing time of its rows. ``tick`` adds instants without rows at its multiples, for triggers and policies that
    follow the clock. After the last row the input ends, unless ``ends`` is false.

    ``watermark`` is the policy of all sources, and ``processing_time`` the column of all; by default each
    ``StreamInput`` has its own. ``dead_letters``, ``late_data`` and ``metrics`` are those of
    ``batches``.

    The replay is lazy: the rows after the last batch that is asked for are ordered, but not processed. So stop when the
    panes that are wanted have been emitted, such as those of a percentile watermark.

    Law: the panes are those of the reference over ``Timeline.from_records`` of the same records, with the same policy
    and the same instants (SEMANTICS section 16). Windows need no lateness, since the data are bounded.

    Raises ``ElementError`` for a row that has no time or micro-batch, ``SchemaMismatchError`` for a column that cannot
    order rows, and what ``batches`` raises.

    Example::

        recorded = pl.scan_parquet("scores")
        policy = BoundedOutOfOrderness(timedelta(minutes=5))
        for batch in flowalg_polars.replay(totals, {scores: recorded}, watermark=policy, processing_time="seen"):
            print(batch.panes)
    """
    replayed = Replay[StreamColumn](**options)
    settings = Options(dead_letters=replayed.dead_letters, late_data=replayed.late_data, metrics=metrics)
    division = replayed.division
    pipelines = require_outputs(outputs)
    roots = [pipeline.node for pipeline in pipelines.values()]
    by_name = inputs_by_name(inputs, "frame", *roots)
    rows = {node.name: _in_order(node, by_name[node.name], replayed) for node in sources_of(*roots)}
    streams = {source: rows[source.name].stream for source in inputs}
    micro_batches = Query.compile(pipelines, streams, settings, Recording.of(rows, division)).run()
    return only_output(micro_batches) if isinstance(outputs, PCollection) else micro_batches


def _in_order(node: SourceNode, replay_input: ReplayInput, replayed: Replay[StreamColumn]) -> RecordedRows:
    stream = _stream_of(node.name, replay_input, replayed)
    columns = dict(named_columns(stream))
    if replayed.micro_batch is not None:
        columns = {**columns_in(replayed.micro_batch), **columns}
    if isinstance(replay_input, StreamInput):
        frame = read_all(node, replay_input.data, tuple(columns.items()))
    elif isinstance(replay_input, pl.LazyFrame):
        frame = replay_input
    else:
        place = f"the input of source {node.name!r}"
        frame = polars_frame(place, replay_input, f"{FRAME}, or a StreamInput").lazy()
    return in_order(node, stream, frame, replayed.division.period, replayed.micro_batch)


def _stream_of(source: str, replay_input: object, replayed: Replay[StreamColumn]) -> StreamInput:
    """Returns the clock columns and the policy of a source's rows; the options replace those of its input."""
    watermark, processing_time = replayed.watermark, replayed.processing_time
    if not isinstance(replay_input, StreamInput):
        if watermark is None:
            raise frame_without_policy(source)
        return StreamInput(Frames(()), watermark, processing_time=processing_time)
    return evolve(
        replay_input,
        watermark=replay_input.watermark if watermark is None else watermark,
        processing_time=replay_input.processing_time if processing_time is None else processing_time,
    )
