"""Timelines as the input of a streaming run: the records of each instant, with the clocks of the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl
from attrs import evolve, frozen
from flowalg_columns.layout import layout_of, leaves
from flowalg_columns.values import write_arrays
from flowalg_shard.clocks.exchange import FromSource, FromStage, StageReport, Upstream
from flowalg_shard.clocks.reports import source_report
from flowalg_shard.tables.columns import ENDED, EVENT_TIME, PARTITION, PROCESSING_TIME, PUBLISHED

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.elements import ArrivalOf, good_records, read_records
from flowalg.runs.instants import PipelineInstant
from flowalg.runs.micro_batches import GeneratedBy
from flowalg.runs.signals import AnySignal
from flowalg.runs.timeline import Timeline
from flowalg_polars.columns import polars_type
from flowalg_polars.lowering.python_steps import series_of
from flowalg_polars.streaming.arrivals import Arrival


@frozen
class PublishedClocks:
    """A source of a timeline that reports the clocks of its instants."""

    node: SourceNode
    bad: list[BadRecord] | None = None

    @property
    def upstream(self) -> Upstream:
        """The source as an upstream: it reports clocks, like a stage without holds."""
        return FromStage()

    def arrival(self, now: PipelineInstant) -> Arrival:
        """Returns the elements and the clocks of an instant."""
        name = self.node.name
        records = good_records(self.node, now.records(name), self.bad)
        elements = element_frame(self.node, records, partial(now.arrival_of, name))
        latest = elements[EVENT_TIME].max()
        assert latest is None or isinstance(latest, int)
        horizon = MIN_TIME if latest is None else EventTime(latest + 1)
        return Arrival(elements.lazy(), {0: StageReport(evolve(now.clocks[name], horizon=horizon))})


@frozen
class ObservedClocks:
    """A source of a timeline whose policy generates the watermarks again, from what it observed."""

    node: SourceNode
    timeline: Timeline[object]
    generated_by: GeneratedBy
    partitions: int = 1
    bad: list[BadRecord] | None = None

    @property
    def upstream(self) -> Upstream:
        """The source as an upstream: a policy derives its clocks."""
        return FromSource(self.generated_by.policy, self.node.name)

    def arrival(self, now: PipelineInstant) -> Arrival:
        """Returns the elements of an instant, and what the policy observes of it."""
        name = self.node.name
        instant = now.instants.get(name)
        records = good_records(self.node, now.records(name), self.bad)
        elements = element_frame(self.node, records, partial(now.arrival_of, name))
        observations = [self.generated_by.observe(record) for record in records]
        ends = (
            instant is not None
            and instant is self.timeline.instants[-1]
            and instant.watermark == MAX_TIME
            and not now.records(name)
        )
        control = 1
        published = [observation.published for observation in observations]
        rows = pl.DataFrame(
            {
                EVENT_TIME: [*elements[EVENT_TIME].to_list(), *[None] * control],
                PROCESSING_TIME: [
                    *(observation.processing_time for observation in observations),
                    *[now.processing_time] * control,
                ],
                PARTITION: [*(observation.partition for observation in observations), *[""] * control],
                PUBLISHED: [*published, *[None] * control],
                ENDED: [*[False] * len(records), ends],
            },
            schema={
                EVENT_TIME: pl.Int64(),
                PROCESSING_TIME: pl.Int64(),
                PARTITION: pl.String(),
                PUBLISHED: pl.Int64(),
                ENDED: pl.Boolean(),
            },
        )
        report = source_report(self.generated_by.policy, rows, self.node.name)
        signals = frozenset[AnySignal]() if instant is None else instant.signals
        return Arrival(elements.lazy(), {0: evolve(report, signals=signals)})


def element_frame(node: SourceNode, records: Sequence[object], arrival_of: ArrivalOf) -> pl.DataFrame:
    """Returns records as elements in columns, with their event times."""
    elements = read_records(node, records, arrival_of)
    layout = layout_of(node.shape)
    arrays = write_arrays(layout, [element.value for element in elements], f"source {node.name!r}: element")
    columns = [
        series_of(array, polars_type(leaf.shape)).alias(leaf.column)
        for array, leaf in zip(arrays, leaves(layout), strict=True)
    ]
    times = pl.Series(EVENT_TIME, [element.event_time for element in elements], pl.Int64())
    return pl.DataFrame([*columns, times])
