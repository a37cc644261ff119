"""A collection of a streaming pipeline: a flow, and the sources and stages that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from attrs import evolve, frozen
from flowalg_shard import StageDescription
from flowalg_shard.clocks.exchange import Upstream
from flowalg_shard.tables.columns import OBSERVED_TIME, UPSTREAM
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.lowering.binding import StreamColumns
from flowalg_spark.lowering.flow import Flow, keep_observed_times


@frozen
class SourceStream:
    """A source of a streaming pipeline: its frame, its clock columns, and how a stage derives the clocks."""

    frame: DataFrame
    columns: StreamColumns
    upstream: Upstream


@frozen
class Stream:
    """A guarded flow with its upstreams. With several, ``UPSTREAM`` is the number of the upstream of a row.

    ``stages`` are the stages of its plan in the order in which Spark numbers stateful operators: a stage is before
    those that it reads. A stage whose plan occurs several times is there several times.
    """

    flow: Flow
    upstreams: tuple[Upstream, ...]
    stages: tuple[StageDescription, ...] = ()


def unite(streams: Sequence[Stream]) -> Stream:
    """Returns the union of streams whose elements have the same columns, with the upstreams of all."""
    if len(streams) == 1:
        return streams[0]
    flows = [stream.flow for stream in streams]
    if any(OBSERVED_TIME in flow.meta for flow in flows):
        flows = [keep_observed_times(flow) for flow in flows]
    types: dict[str, T.DataType] = {}
    for flow in flows:
        types.update(flow.meta)
    types[UPSTREAM] = META_TYPES[UPSTREAM]
    first = flows[0]
    own = [name for name in first.frame.columns if name not in first.meta]
    counts = [len(stream.upstreams) for stream in streams]
    frames = [
        select(
            flow.frame, *map(col, own), *(_column(flow, name, kind, before) for name, kind in types.items())
        )
        for flow, before in zip(flows, (0, *accumulate(counts)), strict=False)
    ]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    together = evolve(first, frame=whole, meta=types)
    for flow in flows[1:]:
        together = together.with_notes(*flow.notes)
    return Stream(
        together,
        tuple(upstream for stream in streams for upstream in stream.upstreams),
        tuple(stage for stream in streams for stage in stream.stages),
    )


def _column(flow: Flow, name: str, kind: T.DataType, before: int) -> Sql:
    """Returns a column of a flow, or nulls if it has none. ``before`` is the number of upstreams of earlier flows."""
    if name == UPSTREAM:
        number = col(UPSTREAM) if UPSTREAM in flow.meta else sql.lit(0)
        return (number + before).cast(kind).alias(UPSTREAM)
    return col(name) if name in flow.meta else NULL.cast(kind).alias(name)
