"""The metrics of one shard of a stage in one micro-batch, and those of the stage.

Metrics are computed from what the shard received, stored and emitted; the step does not know of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs
import polars as pl
from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.metrics import Counts, SignalToKey, SourceMetrics, StageMetrics
from flowalg.runs.panes import Change
from flowalg.runs.signals import Signal, in_order
from flowalg.watermarks import SourceClock
from flowalg_shard.clocks.exchange import FromSource, Reports, SourceReport, Upstream, merge_reports
from flowalg_shard.operators import (
    Computing,
    Operator,
    OperatorOutput,
    OperatorState,
    ShardInput,
    Side,
    count_side_windows,
    unpack_computation_drops,
    unpack_side_drops,
)
from flowalg_shard.tables.columns import CHANGE, DROP_COUNT, DROP_REASON, TIMING
from flowalg_shard.tables.packing import unpack


@frozen(kw_only=True)
class ShardMetrics(Counts):
    """The metrics of a shard: its clocks after the micro-batch, and its counts.

    ``sources`` are those that flow into the stage directly; the first shard reports them for all shards.
    """

    processing_time: ProcessingTime
    watermark: EventTime
    sources: tuple[SourceMetrics, ...] = ()


def metrics_of_shards(
    number: int,
    stage: str,
    clocks: Clocks,
    shards: Iterable[tuple[Counter[str], int, OperatorState]],
    sources: tuple[SourceMetrics, ...],
    seconds: float,
) -> StageMetrics:
    """Returns the metrics of a stage, all of whose shards are in this process: the counts, windows and state of
    each.
    """
    shard_metrics = [
        _shard_metrics(clocks, counts, windows, after, () if shard else sources)
        for shard, (counts, windows, after) in enumerate(shards)
    ]
    return stage_metrics(number, stage, shard_metrics, seconds)


def stage_metrics(number: int, stage: str, shards: Sequence[ShardMetrics], seconds: float) -> StageMetrics:
    """Returns the metrics of a stage from those of its shards, which all have the same clocks."""
    first = shards[0]
    has_lag = MIN_TIME < first.watermark < MAX_TIME
    lag = (first.processing_time - first.watermark) / 1_000_000 if has_lag else None
    counts = {name: sum(getattr(shard, name) for shard in shards) for name in attrs.fields_dict(Counts)}
    return StageMetrics(
        number=number,
        stage=stage,
        processing_time=first.processing_time.datetime,
        watermark=first.watermark.datetime,
        watermark_lag=lag,
        elements=sum(source.elements for shard in shards for source in shard.sources),
        step_seconds=seconds,
        **counts,
    )


def measure_shard(
    operator: Operator,
    received: Sequence[Sequence[ShardInput]],
    after: OperatorState,
    output: OperatorOutput,
    *,
    first_shard: bool,
) -> ShardMetrics:
    """Returns the metrics of one shard in one micro-batch, from what it received, its state after it, and its
    output.
    """
    if isinstance(operator, Side):
        counts = unpack_side_drops(output.drops).counts
        windows = count_side_windows(after) if first_shard else 0
    elif isinstance(operator, Computing):
        late, _, unfired = unpack_computation_drops(output.drops)
        counts = Counter(dropped_late=len(late), unfired_timers=unfired)
        windows = after.windows.window_count
    else:
        counts = count_emitted(unpack(output.panes), unpack(output.drops))
        windows = after.windows.window_count
    sources = _sources(operator, received, after) if first_shard else ()
    return _shard_metrics(output.report.clocks, counts, windows, after, sources)


def count_emitted(panes: pl.DataFrame, drops: pl.DataFrame) -> Counter[str]:
    """Returns the number of panes of each timing, of retractions, and of dropped elements by reason."""
    return _panes_by_kind(panes) + _drops_by_reason(drops)


def _shard_metrics(
    clocks: Clocks,
    counts: Counter[str],
    windows: int,
    after: OperatorState,
    sources: tuple[SourceMetrics, ...],
) -> ShardMetrics:
    """Returns the metrics of a shard with these clocks and counts, and the state after the micro-batch with its
    windows.
    """
    return ShardMetrics(
        processing_time=clocks.processing_time,
        watermark=clocks.watermark,
        sources=sources,
        windows=windows,
        state_bytes=after.windows.size + len(after.side_input),
        **counts,
    )


def _sources(
    operator: Operator, received: Sequence[Sequence[ShardInput]], after: OperatorState
) -> tuple[SourceMetrics, ...]:
    """Returns the metrics of each source, once if it flows in by several inputs."""
    reports = [merge_reports(part.reports for part in parts) for parts in received]
    return source_metrics(operator.inputs, reports, after)


def source_metrics(
    inputs: Sequence[Sequence[Upstream]], received: Sequence[Reports], after: OperatorState
) -> tuple[SourceMetrics, ...]:
    """Returns the metrics of each source that flows into a stage, from the upstreams and the reports of each input.

    The sources that it only follows are left out: they come after the inputs.
    """
    metrics: dict[str, SourceMetrics] = {}
    for upstreams, reports, input_clocks in zip(inputs, received, after.input_clocks, strict=False):
        for number, (upstream, clock) in enumerate(zip(upstreams, input_clocks.upstreams, strict=True)):
            report = reports.get(number, SourceReport())
            if not isinstance(upstream, FromSource):
                continue
            assert isinstance(clock, SourceClock)
            assert isinstance(report, SourceReport)
            metrics[upstream.name] = SourceMetrics(
                upstream.name,
                report.elements,
                clock.watermark,
                {str(q): point for q, point in clock.percentiles.items()},
                tuple(sorted(signal for signal in report.signals if isinstance(signal, str))),
                clock.reached_by_partition(upstream.policy.idle_micros),
                upstream.policy.is_idle(clock),
                tuple(sorted(upstream.policy.awaited_partitions(clock))),
                tuple(
                    SignalToKey.of(signal)
                    for signal in in_order(report.signals)
                    if isinstance(signal, Signal)
                ),
            )
    return tuple(metrics.values())


def _panes_by_kind(panes: pl.DataFrame) -> Counter[str]:
    """Returns the number of panes of each timing, and of retractions."""
    if panes.is_empty():
        return Counter()
    retracted = pl.col(CHANGE) == Change.RETRACTION.value
    kind = (
        pl.when(retracted).then(pl.lit(Change.RETRACTION.value)).otherwise(pl.col(TIMING).cast(pl.String()))
    )
    return Counter(dict(panes.group_by(kind.alias("kind")).len().iter_rows()))


def _drops_by_reason(drops: pl.DataFrame) -> Counter[str]:
    if drops.is_empty():
        return Counter()
    return Counter(dict(drops.group_by(DROP_REASON).agg(pl.col(DROP_COUNT).sum()).iter_rows()))
