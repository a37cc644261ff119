"""The metrics of one shard of a stage in one micro-batch.

The classes here are the one list of their fields: engines derive their schemas from them. Metrics are computed from
what the shard received, stored and emitted; the step does not know of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl
from attrs import frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.panes import Change
from flowalg.watermarks import SourceClock
from flowalg_shard.clocks.exchange import FromSource, SourceReport, merge_reports
from flowalg_shard.operators import (
    Operator,
    OperatorOutput,
    OperatorState,
    ShardInput,
    Side,
    unpack_side_drops,
)
from flowalg_shard.tables.columns import CHANGE, DROPPED, REASON, TIMING
from flowalg_shard.tables.packing import unpack


@frozen
class SourceMetrics:
    """The contribution of a source to a micro-batch, and its clock after it.

    ``elements`` is the number of its elements, ``signals`` the names of its signals, and ``reached`` the greatest event
    time of each partition that is not idle. ``percentile_watermarks`` has the percentiles as text, as in JSON.
    """

    source: str
    elements: int
    watermark: EventTime
    percentile_watermarks: Mapping[str, EventTime]
    signals: tuple[str, ...]
    reached: Mapping[str, EventTime]


@frozen(kw_only=True)
class Counts:
    """Metrics that add up: those of a stage are the sums over its shards.

    ``windows`` is the number of live windows after the micro-batch, and ``state_bytes`` their approximate size.
    ``early``, ``on_time`` and ``late`` count the emitted panes by timing, and ``retraction`` the retracted ones.
    ``expired`` and ``closed`` count the dropped elements by reason.
    """

    windows: int = 0
    state_bytes: int = 0
    early: int = 0
    on_time: int = 0
    late: int = 0
    retraction: int = 0
    expired: int = 0
    closed: int = 0


@frozen(kw_only=True)
class ShardMetrics(Counts):
    """The metrics of a shard: its clocks after the micro-batch, and its counts.

    ``sources`` are those that flow into the stage directly; the first shard reports them for all shards.
    """

    processing_time: ProcessingTime
    watermark: EventTime
    sources: tuple[SourceMetrics, ...] = ()


def measure_shard(
    operator: Operator,
    received: Sequence[Sequence[ShardInput]],
    after: OperatorState,
    output: OperatorOutput,
    *,
    first_shard: bool,
) -> ShardMetrics:
    """The metrics of one shard in one micro-batch, from what it received, its state after it, and its output."""
    clocks = output.report.clocks
    if isinstance(operator, Side):
        counts = Counter(late.reason.value for late in unpack_side_drops(output.drops))
    else:
        counts = _panes_by_kind(unpack(output.panes)) + _drops_by_reason(unpack(output.drops))
    return ShardMetrics(
        processing_time=clocks.processing_time,
        watermark=clocks.watermark,
        sources=_sources(operator, received, after) if first_shard else (),
        windows=after.windows.window_count,
        state_bytes=after.windows.size + len(after.side_input),
        **counts,
    )


def _sources(
    operator: Operator, received: Sequence[Sequence[ShardInput]], after: OperatorState
) -> tuple[SourceMetrics, ...]:
    """The metrics of each source, once if it flows in by several inputs."""
    found: dict[str, SourceMetrics] = {}
    for upstreams, parts, input_clocks in zip(operator.inputs, received, after.input_clocks, strict=True):
        reports = merge_reports(part.reports for part in parts)
        for number, (upstream, clock) in enumerate(zip(upstreams, input_clocks.upstreams, strict=True)):
            report = reports.get(number, SourceReport())
            if not isinstance(upstream, FromSource):
                continue
            assert isinstance(clock, SourceClock)
            assert isinstance(report, SourceReport)
            found[upstream.name] = SourceMetrics(
                upstream.name,
                report.elements,
                clock.watermark,
                {str(q): point for q, point in clock.percentiles.items()},
                tuple(sorted(report.signals)),
                clock.reached_by_partition(upstream.policy.idle_micros),
            )
    return tuple(found.values())


def _panes_by_kind(panes: pl.DataFrame) -> Counter[str]:
    """The number of panes of each timing, and of retractions."""
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
    return Counter(dict(drops.group_by(REASON).agg(pl.col(DROPPED).sum()).iter_rows()))


__all__ = ["Counts", "ShardMetrics", "SourceMetrics", "measure_shard"]
