"""What a stage tells of an instant beside its panes: for whoever watches a run, or wants to go through it again.

It is made of what the shard has been sent, stores and emits; the step knows nothing of it.
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
from flowalg_shard.operators import Emitted, Operator, Sent, Side, Stored, late_for_side
from flowalg_shard.tables.columns import CHANGE, DROPPED, REASON, TIMING
from flowalg_shard.tables.packing import unpack


@frozen
class Came:
    """What came of a source in an instant, and what its clock reads after it.

    ``reached`` is the greatest event time of each partition that is not idle.
    """

    source: str
    elements: int
    watermark: EventTime
    percentiles: Mapping[str, EventTime]
    signals: tuple[str, ...]
    reached: Mapping[str, EventTime]


@frozen
class Account:
    """An instant of one shard of a stage.

    ``came`` is told by the first shard alone, for all of them. ``panes`` counts values by timing, and retractions;
    ``dropped`` counts refused elements by reason. ``windows`` are those that are open after the instant, and
    ``state_bytes`` is about what the shard remembers of them.
    """

    processing_time: ProcessingTime
    watermark: EventTime
    came: tuple[Came, ...] = ()
    windows: int = 0
    state_bytes: int = 0
    panes: dict[str, int] = field(factory=dict)
    dropped: dict[str, int] = field(factory=dict)


PANES: Final = (*(one.value for one in Timing), Change.RETRACTION.value)
"""What panes are counted by."""

REASONS: Final = tuple(one.value for one in DropReason)
"""What refused elements are counted by."""


def account_of(
    operator: Operator, sent: Sequence[Sequence[Sent]], after: Stored, emitted: Emitted, *, first: bool
) -> Account:
    """The account of one shard's instant; ``first`` is the shard that speaks for all."""
    clocks = emitted.report.clocks
    side = isinstance(operator, Side)
    return Account(
        clocks.processing_time,
        clocks.watermark,
        _came(operator, sent, after) if first else (),
        after.memory.windows,
        after.memory.size + len(after.beside),
        _by_timing(pl.DataFrame() if side else unpack(emitted.panes)),
        _late(emitted) if side else _by_reason(unpack(emitted.drops)),
    )


def _came(operator: Operator, sent: Sequence[Sequence[Sent]], after: Stored) -> tuple[Came, ...]:
    """What came of each source; of one that comes in several ways, once."""
    found: dict[str, Came] = {}
    for upstreams, parts, heard in zip(operator.inputs, sent, after.heard, strict=True):
        reports = merge_reports(one.reports for one in parts)
        for number, (upstream, clock) in enumerate(zip(upstreams, heard.upstreams, strict=True)):
            report = reports.get(number, SourceReport())
            if not isinstance(upstream, FromSource):
                continue
            assert isinstance(clock, SourceClock)
            assert isinstance(report, SourceReport)
            found[upstream.name] = Came(
                upstream.name,
                report.elements,
                clock.watermark,
                {str(q): point for q, point in clock.percentiles.items()},
                tuple(sorted(report.signals)),
                clock.reached_by_partition(upstream.policy.idle_micros),
            )
    return tuple(found.values())


def _by_timing(panes: pl.DataFrame) -> dict[str, int]:
    if panes.is_empty():
        return {}
    back = pl.col(CHANGE) == Change.RETRACTION.value
    kind = pl.when(back).then(pl.lit(Change.RETRACTION.value)).otherwise(pl.col(TIMING).cast(pl.String()))
    return dict(panes.group_by(kind.alias("kind")).len().iter_rows())


def _by_reason(drops: pl.DataFrame) -> dict[str, int]:
    return {} if drops.is_empty() else dict(drops.group_by(REASON).agg(pl.col(DROPPED).sum()).iter_rows())


def _late(emitted: Emitted) -> dict[str, int]:
    return dict(Counter(one.reason.value for one in late_for_side(emitted.drops)))


__all__ = ["PANES", "REASONS", "Account", "Came", "account_of"]
