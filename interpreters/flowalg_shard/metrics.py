"""The metrics of a shard: its clocks, panes, drops and state in an instant, for monitoring and for replays.

They are made of what the shard received, stores and emits. The step does not know of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.panes import Change, DropReason, Timing
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
    """A source in an instant: the number of its elements, its signals, and its clock after the instant.

    ``reached`` is the greatest event time of each partition that is not idle.
    """

    source: str
    elements: int
    watermark: EventTime
    percentiles: Mapping[str, EventTime]
    signals: tuple[str, ...]
    reached: Mapping[str, EventTime]


@frozen
class ShardMetrics:
    """The metrics of one shard of a stage in an instant.

    ``sources`` is set for the first shard only, since all shards have the same. ``panes`` counts values by timing, and
    retractions; ``dropped`` counts dropped elements by reason. ``windows`` is the number of open windows after the
    instant, and ``state_bytes`` about the size of their state.
    """

    processing_time: ProcessingTime
    watermark: EventTime
    sources: tuple[SourceMetrics, ...] = ()
    windows: int = 0
    state_bytes: int = 0
    panes: dict[str, int] = field(factory=dict)
    dropped: dict[str, int] = field(factory=dict)


PANE_KINDS: Final = (*(timing.value for timing in Timing), Change.RETRACTION.value)
"""The kinds by which panes are counted."""

DROP_REASONS: Final = tuple(reason.value for reason in DropReason)
"""The reasons by which dropped elements are counted."""


def measure_shard(
    operator: Operator,
    received: Sequence[Sequence[ShardInput]],
    after: OperatorState,
    output: OperatorOutput,
    *,
    first_shard: bool,
) -> ShardMetrics:
    """The metrics of a shard's instant, from what it received, its state after it, and its output."""
    clocks = output.report.clocks
    is_side = isinstance(operator, Side)
    return ShardMetrics(
        clocks.processing_time,
        clocks.watermark,
        _sources(operator, received, after) if first_shard else (),
        after.windows.window_count,
        after.windows.size + len(after.side_input),
        _panes_by_kind(pl.DataFrame() if is_side else unpack(output.panes)),
        _late_by_reason(output) if is_side else _drops_by_reason(unpack(output.drops)),
    )


def _sources(
    operator: Operator, received: Sequence[Sequence[ShardInput]], after: OperatorState
) -> tuple[SourceMetrics, ...]:
    """The metrics of each source, once for a source that several inputs read."""
    found: dict[str, SourceMetrics] = {}
    for upstreams, parts, clocks in zip(operator.inputs, received, after.input_clocks, strict=True):
        reports = merge_reports(each.reports for each in parts)
        for number, (upstream, clock) in enumerate(zip(upstreams, clocks.upstreams, strict=True)):
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


def _panes_by_kind(panes: pl.DataFrame) -> dict[str, int]:
    if panes.is_empty():
        return {}
    is_retraction = pl.col(CHANGE) == Change.RETRACTION.value
    kind = (
        pl.when(is_retraction)
        .then(pl.lit(Change.RETRACTION.value))
        .otherwise(pl.col(TIMING).cast(pl.String()))
    )
    return dict(panes.group_by(kind.alias("kind")).len().iter_rows())


def _drops_by_reason(drops: pl.DataFrame) -> dict[str, int]:
    return {} if drops.is_empty() else dict(drops.group_by(REASON).agg(pl.col(DROPPED).sum()).iter_rows())


def _late_by_reason(output: OperatorOutput) -> dict[str, int]:
    return dict(Counter(late.reason.value for late in unpack_side_drops(output.drops)))


__all__ = ["DROP_REASONS", "PANE_KINDS", "ShardMetrics", "SourceMetrics", "measure_shard"]
