"""Polars streaming as an interpreter: a pipeline over timelines, instant by instant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, overload

from attrs import evolve, field, frozen
from flowalg_columns.observed_rows import require_policy

from flowalg.analysis.capabilities import Capabilities, Mode, require_mode
from flowalg.data.errors import ArgumentError, require_flag
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.outputs import ONLY_OUTPUT
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan.plan import plan_stream
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.inputs import AnySource, timelines_by_name
from flowalg.runs.instants import PipelineInstant, empty_instants, pipeline_instants
from flowalg.runs.output import Output, joined
from flowalg.runs.panes import Drop
from flowalg.runs.run import Outputs, Run, run_of
from flowalg.runs.timeline import Timeline
from flowalg_polars.capabilities import STREAM_REQUIREMENTS, timeline_capabilities
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.pane_frame import read_output
from flowalg_polars.streaming.graph import Graph
from flowalg_polars.streaming.operators import Cluster
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.timelines import ObservedClocks, PublishedClocks

A = TypeVar("A")


@frozen
class PolarsStreaming:
    """Polars streaming as an interpreter: whole pipelines, instant by instant, in one process.

    ``mode`` is when processing-time triggers are evaluated. With ``generate_watermarks``, the timeline's policy
    generates the watermarks again instead of reading them from its instants; not with ``Mode.CONTINUOUS``, which adds
    instants. ``cluster`` divides the run, as a test of
    the engine; neither changes the result. With ``dead_letters``, bad records are in ``bad_records`` of the run instead
    of failing it. With ``late_data``, each of its drops is a ``DroppedElement``.
    """

    cluster: Cluster = field(factory=Cluster)
    mode: Mode = field(default=Mode.MICRO_BATCH, kw_only=True)
    generate_watermarks: bool = field(default=False, kw_only=True)
    dead_letters: bool = field(default=False, kw_only=True)
    late_data: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.cluster, Cluster):
            raise ArgumentError(
                "PolarsStreaming.cluster", self.cluster, "a Cluster, such as Cluster(shards=2)"
            )
        require_mode("PolarsStreaming.mode", self.mode)
        require_flag("PolarsStreaming.dead_letters", self.dead_letters)
        require_flag("PolarsStreaming.late_data", self.late_data)
        if self.generate_watermarks and self.mode is Mode.CONTINUOUS:
            # Deadlines lie between the instants of a timeline, where a policy would observe more than it recorded.
            raise ArgumentError("PolarsStreaming.generate_watermarks", True, "False with Mode.CONTINUOUS")

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Polars streaming over timelines."""
        return timeline_capabilities(self.mode, observed=self.generate_watermarks)

    @overload
    def run(self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> Run[A]: ...
    @overload
    def run(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> Outputs: ...
    def run(
        self,
        outputs: PCollection[object] | Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object]],
    ) -> Run[object] | Outputs:
        """Returns the output of a pipeline, or several named outputs, and the drops, over a timeline for each source.

        Raises ``UnboundSourceError``, ``ArgumentError`` for a timeline whose watermarks cannot be generated,
        ``UserFunctionError`` if a user-defined function raises, and ``UnsupportedError`` for features that streaming
        lacks.
        """
        if isinstance(outputs, PCollection):
            return run_of(self.run({ONLY_OUTPUT: outputs}, inputs), outputs)
        plan = plan_stream(outputs, dead_letters=self.dead_letters)
        timelines = timelines_by_name(inputs, *plan.roots)
        bad = BadRecords() if self.dead_letters else None
        sources = {
            name: self._source(read.source, timelines[name], None if bad is None else bad.records)
            for name, read in plan.sources.items()
        }
        upstreams = {name: source.upstream for name, source in sources.items()}
        observed = {
            name: source.generated_by.policy
            for name, source in sources.items()
            if isinstance(source, ObservedClocks) and not source.generated_by.publishes
        }
        requirements = evolve(STREAM_REQUIREMENTS, lateness=False, observed=observed)
        graph, operators = Graph.compile(
            plan, upstreams, self.cluster, requirements, bad_records=bad, late_data=self.late_data
        )
        by_name: dict[str, list[Output[object]]] = {name: [] for name in outputs}
        dropped: list[Drop] = []
        unfired: list[int] = []

        def advance(now: PipelineInstant) -> None:
            arrivals = {name: source.arrival(now) for name, source in sources.items()}
            for name, operator in operators.items():
                with raise_causes():
                    rows = operator.run(arrivals).frame.collect()
                if rows.height:
                    by_name[name].append(read_output(outputs[name], rows))
            dropped.extend(drop for drops in graph.drops() for drop in drops.values())
            unfired.append(graph.unfired_timers())

        before: PipelineInstant | None = None
        for now in pipeline_instants(timelines, plan.read_together):
            if self.mode is Mode.CONTINUOUS and before is not None:
                for empty in empty_instants(before, now.processing_time, graph.next_deadline):
                    advance(empty)
            advance(now)
            before = now
        return Outputs(
            {name: joined(parts) for name, parts in by_name.items()},
            tuple(dropped),
            outputs,
            bad_records=() if bad is None else bad.take(),
            unfired_timers=sum(unfired),
        )

    def _source(
        self, node: SourceNode, timeline: Timeline[object], bad: list[BadRecord] | None
    ) -> PublishedClocks | ObservedClocks:
        if not self.generate_watermarks:
            return PublishedClocks(node, bad)
        return ObservedClocks(node, timeline, require_policy(node.name, timeline), bad=bad)
