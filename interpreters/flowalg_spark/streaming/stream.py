"""A collection of a streaming pipeline: a flow, and where what the flow carries comes from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from attrs import evolve, frozen
from flowalg_shard.clocks.exchange import Upstream
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg_spark.encoding.layout import col
from flowalg_spark.encoding.meta import META_TYPES, OBSERVED_TIME, UPSTREAM
from flowalg_spark.lowering.binding import StreamColumns
from flowalg_spark.lowering.flow import Flow, keep_observed_times


@frozen
class SourceStream:
    """A source of a streaming pipeline: its frame, what rows say of the clocks, and how a stage derives these."""

    frame: DataFrame
    clocks: StreamColumns
    upstream: Upstream


@frozen
class Stream:
    """A guarded flow with its upstreams; its rows name theirs by number, in ``UPSTREAM``, if there are several."""

    flow: Flow
    upstreams: tuple[Upstream, ...]


def united(streams: Sequence[Stream]) -> Stream:
    """Several streams as one, whose elements lie in the same columns: the rows and the upstreams of all."""
    if len(streams) == 1:
        return streams[0]
    flows = [one.flow for one in streams]
    if any(OBSERVED_TIME in one.meta for one in flows):
        flows = [keep_observed_times(one) for one in flows]
    kinds: dict[str, T.DataType] = {}
    for flow in flows:
        kinds.update(flow.meta)
    kinds[UPSTREAM] = META_TYPES[UPSTREAM]
    first = flows[0]
    own = [name for name in first.frame.columns if name not in first.meta]
    counts = [len(one.upstreams) for one in streams]
    frames = [
        flow.frame.select(
            *map(col, own), *(_column(flow, name, kind, before) for name, kind in kinds.items())
        )
        for flow, before in zip(flows, (0, *accumulate(counts)), strict=False)
    ]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    together = evolve(first, frame=whole, meta=kinds)
    for flow in flows[1:]:
        together = together.with_notes(*flow.notes)
    return Stream(together, tuple(upstream for one in streams for upstream in one.upstreams))


def _column(flow: Flow, name: str, kind: T.DataType, before: int) -> Column:
    """A flow's own column, or one that is empty; ``before`` is how many upstreams those before it have."""
    if name == UPSTREAM:
        number = col(UPSTREAM) if UPSTREAM in flow.meta else F.lit(0)
        return (number + F.lit(before)).cast(kind).alias(UPSTREAM)
    return col(name) if name in flow.meta else F.lit(None).cast(kind).alias(name)


__all__ = ["SourceStream", "Stream", "united"]
