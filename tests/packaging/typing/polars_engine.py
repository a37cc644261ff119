"""The local engine: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from datetime import datetime, timedelta
from typing import assert_type

import polars as pl
from flowalg_polars import (
    PaneFrame,
    PolarsBatch,
    PolarsStreaming,
    ReplayInput,
    batch,
    collect,
    collect_elements,
    output_frame,
    replay,
    streaming,
)
from flowalg_polars.streaming import (
    MicroBatch,
    MicroBatches,
    Records,
    RunSummary,
    Sink,
    StreamInput,
)
from flowalg_sinks import PaneSink

from flowalg import KV, Computation, Outputs, Pane, PCollection, Run, Source, Timeline
from flowalg.computations import KeyContents
from flowalg.runs import Observer, Output, OutputElement
from flowalg.watermarks import WatermarkPolicy
from tests.packaging.typing.records import Flight


def batches(
    flights: Source[Flight],
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    panes: PaneFrame[KV[str, int]],
) -> None:
    """Panes as lazy frames."""
    frame = pl.DataFrame()
    assert_type(batch.compile(totals, {flights: frame}, time=datetime.now()), PaneFrame[KV[str, int]])
    both = {"totals": totals, "names": names}
    assert_type(batch.compile({"totals": totals}, {flights: frame}), dict[str, PaneFrame[KV[str, int]]])
    assert_type(batch.run(totals, {flights: frame}), Run[KV[str, int]])
    assert_type(batch.run(both, {flights: "flights.parquet"})[names], Output[str])
    assert_type(collect_elements(names, frame), tuple[OutputElement[str], ...])
    assert_type(output_frame(names, batch.run(names, {})), pl.DataFrame)
    assert_type(batch.compile(totals, {flights: frame}, dead_letters=True), PaneFrame[KV[str, int]])
    assert_type(collect(totals, panes), tuple[Pane[KV[str, int]], ...])


def interpreters(
    flights: Source[Flight],
    totals: PCollection[KV[str, int]],
    timeline: Timeline[Flight],
    engine: PolarsStreaming,
) -> None:
    """The interpreters over timelines."""
    assert_type(PolarsBatch().run(totals, {flights: timeline}), Run[KV[str, int]])
    assert_type(engine.run(totals, {flights: timeline}), Run[KV[str, int]])
    assert_type(engine.run({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(PolarsBatch().run({"totals": totals}, {flights: timeline}), Outputs)


def inputs(flights: Iterable[Flight]) -> None:
    """The inputs of a stream."""
    assert_type(Records(flights, per_batch=10), Records[Flight])


def streams(
    flights: Source[Flight],
    totals: PCollection[KV[str, int]],
    stream: StreamInput,
    written: Sink[KV[str, int]],
    write: Callable[[MicroBatch[object]], None],
    observer: Observer,
) -> None:
    """Queries over streams."""
    assert_type(
        streaming.batches(totals, {flights: stream}, checkpoint="checkpoint", follow=True),
        Generator[MicroBatch[KV[str, int]], None, None],
    )
    assert_type(streaming.run(totals, {flights: stream}, sink=written), RunSummary)
    assert_type(streaming.run(totals, {flights: stream}, sink=[write, written]), RunSummary)
    assert_type(streaming.run(totals, {flights: stream}, sink=lambda output: output.number), RunSummary)
    assert_type(
        streaming.run(totals, {flights: stream}, sink=written, name="totals", observers=[observer, print]),
        RunSummary,
    )


def state_of_a_computation(
    totals: PCollection[KV[str, int]], silence: Computation[str, int, bool, str]
) -> None:
    """The state in a checkpoint has the types of the computation."""
    assert_type(
        streaming.open_keys("checkpoint", totals, silence, stage=1), tuple[KeyContents[str, int, bool], ...]
    )


def several_streams(
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    flights: Source[Flight],
    stream: StreamInput,
    sink: PaneSink,
    output: MicroBatches,
) -> None:
    """Several outputs of one query."""
    both = {"totals": totals, "names": names}
    assert_type(streaming.batches(both, {flights: stream}, shards=2), Generator[MicroBatches, None, None])
    sinks = {"totals": sink, "names": sink}
    assert_type(streaming.run(both, {flights: stream}, sinks=sinks), dict[str, RunSummary])
    streaming.run(both, {flights: stream}, sinks={"totals": sink, "names": [sink]})
    assert_type(output["totals"], MicroBatch[object])
    assert_type(output[totals], MicroBatch[KV[str, int]])


def replays(
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    flights: Source[Flight],
    recorded: ReplayInput,
    policy: WatermarkPolicy,
) -> None:
    """Recorded data, instant by instant."""
    assert_type(
        replay(totals, {flights: recorded}, watermark=policy, processing_time="seen", every=timedelta(1)),
        Generator[MicroBatch[KV[str, int]], None, None],
    )
    both = {"totals": totals, "names": names}
    assert_type(
        replay(both, {flights: pl.DataFrame()}, watermark=policy, micro_batch=pl.col("file"), ends=False),
        Generator[MicroBatches, None, None],
    )
