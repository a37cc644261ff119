"""A streaming pipeline as operators: one for each node, run once in each instant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias, assert_never

import polars as pl
from attrs import define, evolve, field, frozen
from flowalg_columns.checks.plans import Requirements, reporting_all_parts
from flowalg_columns.checks.shapes import require_equal_shapes, shape_with_side
from flowalg_columns.checks.streams import require_lateness
from flowalg_columns.evolution.stages import evolve_state
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.names import PANE_META
from flowalg_columns.notes import LiftingNote, note_of
from flowalg_shard import OperatorState, StageDescription
from flowalg_shard.clocks.exchange import (
    FromSource,
    FromStage,
    Upstream,
    read_together,
    sources_followed,
)
from flowalg_shard.operators import Computing, Grouping, Reader, Side
from flowalg_shard.state import plans
from flowalg_shard.state.compatibility import Outcome, change_of_stage
from flowalg_shard.step.side_inputs import SideStage

from flowalg.data.shapes import MapOf, Shape, TupleOf
from flowalg.data.time import ProcessingTime
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.lifting.lookups import lookups_of, steps_on_mapping
from flowalg.pipeline.graph import Fold, nodes_of
from flowalg.plan import nodes as planned
from flowalg.plan.nodes import PlanNode, StageNode
from flowalg.plan.plan import Plan
from flowalg.runs.metrics import SourceMetrics, StageMetrics
from flowalg.runs.placement import PLACEMENT
from flowalg.watermarks import SourceClock, WatermarkPolicy
from flowalg_polars.lowering.computation_rows import PreparedComputation
from flowalg_polars.lowering.metadata import compile_metadata
from flowalg_polars.lowering.programs import ENGINE, Program, compile_analyses, compile_steps
from flowalg_polars.lowering.sections import sift
from flowalg_polars.meta import ELEMENT_META, aligned, union_meta
from flowalg_polars.streaming.arrivals import Arrival, Arriving
from flowalg_polars.streaming.computations import ShardedComputation
from flowalg_polars.streaming.drops import StageDrops
from flowalg_polars.streaming.element_outputs import ElementOutput
from flowalg_polars.streaming.operators import Cluster, ShardedGrouping, ShardedSide
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.rows import Elements, prepare_grouping
from flowalg_polars.streaming.side_reads import LookedUp, Paired, PairedInPython, SideRead
from flowalg_polars.streaming.storage.checkpoint import Checkpoint

Arrivals: TypeAlias = Mapping[str, Arrival]
"""What the sources bring in one instant, by name."""

Run: TypeAlias = Callable[[Arrivals], Arrival]
Stage: TypeAlias = ShardedGrouping | ShardedSide | ShardedComputation | ElementOutput


@frozen
class CompiledNode:
    """The compiled form of a node: the form of its elements, and what it does."""

    elements: Elements
    run: Run


@frozen
class Followed:
    """The further sources whose clocks a stage needs, and their reports in an instant by position."""

    upstreams: tuple[Upstream, ...]
    reports: Callable[[Arrivals], Arriving]


@frozen
class OutputOperator:
    """The compiled form of an output: its shape, the stages before it, and what it gives in an instant."""

    shape: Shape
    stages: frozenset[int]
    run: Run


@define
class Graph:
    """The operators of a plan, and its stages in order; ``numbers`` has the number of each stage by its node.

    ``shared`` are the nodes whose rows several read.
    """

    plan: Plan
    sources: Mapping[str, Upstream]
    cluster: Cluster
    requirements: Requirements
    bad_records: BadRecords | None
    late_data: bool
    shared: frozenset[PlanNode]
    stages: list[Stage] = field(factory=list)
    numbers: dict[PlanNode, int] = field(factory=dict)
    notes: list[LiftingNote] = field(factory=list)

    @classmethod
    def compile(
        cls,
        plan: Plan,
        sources: Mapping[str, Upstream],
        cluster: Cluster,
        requirements: Requirements,
        *,
        bad_records: BadRecords | None = None,
        late_data: bool = False,
    ) -> tuple[Graph, dict[str, OutputOperator]]:
        """Compiles a plan whose sources derive their clocks as ``sources`` say.

        Elements on which a step fails are added to ``bad_records``; without it they fail the run. With ``late_data``
        drops are single elements. Raises ``UnsupportedError`` with all parts that do not meet the requirements.
        """
        upstreams = read_together(sources, plan.read_together)
        shared = {node for node, readers in plan.readers.items() if readers > 1}
        if any(isinstance(upstream, FromSource) and upstream.follows for upstream in upstreams.values()):
            shared.update(plan.sources.values())  # the stages that only follow them
        graph = cls(plan, upstreams, cluster, requirements, bad_records, late_data, frozenset(shared))
        of = Fold(graph._compile)
        with reporting_all_parts(plan, requirements):
            return graph, {name: graph._output(name, of) for name in plan.outputs}

    def _reads(
        self, of: Fold[PlanNode, CompiledNode], *inputs: Sequence[PlanNode]
    ) -> tuple[tuple[tuple[Upstream, ...], ...], Followed]:
        """Returns the upstreams of each input of a stage, and the further sources whose clocks it needs."""
        upstreams = tuple(
            tuple(
                self.sources[node.source.name]
                if isinstance(node, planned.Read)
                else FromStage(self.numbers[node])
                for node in self.plan.upstreams(*nodes)
            )
            for nodes in inputs
        )
        names = sources_followed(chain(*upstreams), self.sources)
        runs = [of(self.plan.sources[name]).run for name in names]
        return upstreams, Followed(
            tuple(self.sources[name] for name in names),
            lambda arrivals: {number: run(arrivals).reports[0] for number, run in enumerate(runs)},
        )

    def _output(self, name: str, of: Fold[PlanNode, CompiledNode]) -> OutputOperator:
        root = self.plan.outputs[name]
        compiled = of(root)
        shape = compiled.elements.shape
        before = frozenset(self.numbers[node] for node in nodes_of(root) if node in self.numbers)
        if self.plan.emits_panes(name):
            return OutputOperator(shape, before, compiled.run)
        upstreams, followed = self._reads(of, [root])
        reader = Reader(upstreams, followed=followed.upstreams)
        output = ElementOutput(f"output {name}", reader, self.cluster, compiled.elements)
        self.stages.append(output)
        return OutputOperator(
            shape,
            before,
            lambda arrivals: output.advance(compiled.run(arrivals), followed.reports(arrivals)),
        )

    def _compile(self, node: PlanNode, of: Fold[PlanNode, CompiledNode]) -> CompiledNode:
        compiled = self._make(node, of)
        return CompiledNode(compiled.elements, _once(compiled.run, collect=node in self.shared))

    def _make(self, node: PlanNode, of: Fold[PlanNode, CompiledNode]) -> CompiledNode:
        match node:
            case planned.Read(source=source):
                self.requirements.require_observable(source.name)
                return CompiledNode(
                    Elements(source.shape, ELEMENT_META), lambda arrivals: arrivals[source.name]
                )
            case planned.Apply(input=inner, steps=steps):
                return self._steps(of(inner), steps)
            case planned.PairWithMetadata(input=inner, metadata=metadata):
                elements = of(inner).elements
                program = compile_metadata(metadata, elements.shape, elements.meta)
                return self._program(of(inner), program)
            case planned.Combine() | planned.CoGroup():
                return self._grouping(node, of)
            case planned.Union():
                return self._union(node, of)
            case planned.ReadSide():
                return self._side_input(node, of)
            case planned.Compute():
                return self._computation(node, of)
            case planned.JoinByKey() | planned.ExplodeLists() | planned.FanOut():
                raise AssertionError(f"{node} is of a batch")
        assert_never(node)

    def _stage(
        self,
        node: StageNode,
        stage: ShardedGrouping | ShardedSide | ShardedComputation,
        elements: Elements,
        run: Run,
    ) -> CompiledNode:
        """Returns the compiled node of a stage, which gets the next number."""
        self.numbers[node] = len(self.stages)
        self.stages.append(stage)
        return CompiledNode(elements, run)

    def _steps(self, compiled: CompiledNode, steps: Sequence[Step]) -> CompiledNode:
        program = compile_steps(steps, compiled.elements.shape, compiled.elements.meta)
        self.notes += program.notes
        return self._program(compiled, program)

    def _program(self, compiled: CompiledNode, program: Program) -> CompiledNode:
        """Returns a compiled node followed by a program."""

        def run(arrivals: Arrivals) -> Arrival:
            received = compiled.run(arrivals)
            return Arrival(self._applied(program, received.frame), received.reports)

        return CompiledNode(Elements(program.shape, program.meta), run)

    def _applied(self, program: Program, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Returns elements after a program; with dead letters, without those on which it fails."""
        if self.bad_records is None or not program.can_fail:
            return program.apply(frame)
        sifted = sift(program.sections, frame.collect())
        self.bad_records.records += sifted.bad
        return sifted.frame.lazy()

    def _grouping(
        self, node: planned.Combine | planned.CoGroup, of: Fold[PlanNode, CompiledNode]
    ) -> CompiledNode:
        inputs = [of(inner) for inner in node.inputs]
        prepared = prepare_grouping(
            node.transform,
            [compiled.elements for compiled in inputs],
            self.cluster.shards,
            late_data=self.late_data,
        )
        if self.requirements.lateness:
            require_lateness(prepared.stage.label, prepared.stage.strategy)
        upstreams, followed = self._reads(of, node.inputs)
        operator = Grouping(upstreams, prepared.stage, followed=followed.upstreams)
        label = prepared.stage.label
        grouping = ShardedGrouping(label, operator, self.cluster, prepared, late_data=self.late_data)
        self.notes += prepared.notes

        positions = self._positions(node)

        def run(arrivals: Arrivals) -> Arrival:
            received = [compiled.run(arrivals) for compiled in inputs]
            frames = [arrival.frame for arrival in received]
            return grouping.advance(frames, _united(received, positions), followed.reports(arrivals))

        return self._stage(node, grouping, Elements(prepared.pair, PANE_META), run)

    def _union(self, node: planned.Union, of: Fold[PlanNode, CompiledNode]) -> CompiledNode:
        inputs = [of(inner) for inner in node.inputs]
        first = inputs[0].elements
        require_equal_shapes([compiled.elements.shape for compiled in inputs])
        meta = union_meta(compiled.elements.meta for compiled in inputs)
        element, positions = leaf_columns(layout_of(first.shape)), self._positions(node)

        def run(arrivals: Arrivals) -> Arrival:
            received = [compiled.run(arrivals) for compiled in inputs]
            frames = [
                aligned(arrival.frame, compiled.elements.meta, element, meta)
                for compiled, arrival in zip(inputs, received, strict=True)
            ]
            return Arrival(pl.concat(frames), _united(received, positions))

        return CompiledNode(Elements(first.shape, meta), run)

    def _positions(self, node: PlanNode) -> list[list[int]]:
        """Returns, for each input of a node, where its upstreams are among those of all inputs."""
        every = self.plan.upstreams(*node.inputs)
        return [list(map(every.index, self.plan.upstreams(inner))) for inner in node.inputs]

    def _side_input(self, node: planned.ReadSide, of: Fold[PlanNode, CompiledNode]) -> CompiledNode:
        main, side = of(node.input), of(node.side)
        shape = shape_with_side(main.elements.shape, side.elements.shape, node.transform.view)
        read, then = self._side_read(node, main.elements, shape)
        self.notes += then.notes
        upstreams, followed = self._reads(of, [node.input], [node.side])
        operator = Side(upstreams, SideStage.of(node.transform), followed=followed.upstreams)
        stage = ShardedSide(
            operator.stage.label,
            operator,
            self.cluster,
            main.elements,
            side.elements,
            read,
            late_data=self.late_data,
        )
        compiled = self._stage(
            node,
            stage,
            Elements(read.after, main.elements.meta),
            lambda arrivals: stage.advance(
                main.run(arrivals), side.run(arrivals), followed.reports(arrivals)
            ),
        )
        return self._program(compiled, then)

    def _side_read(self, node: planned.ReadSide, main: Elements, shape: TupleOf) -> tuple[SideRead, Program]:
        """Returns how elements read the value of a side input, and the steps that follow."""
        label, meta, analyses = node.transform.label, main.meta, analyse(node.steps, shape)
        value = shape.items[1]
        if not isinstance(value, MapOf):
            return Paired(main, shape, label), compile_analyses(analyses, shape, meta)
        lookups = lookups_of(analyses, shape)
        if lookups is not None:
            then = compile_analyses(lookups.steps, lookups.shape, meta)
            return LookedUp(main, lookups, value, label), then
        together, after, others = steps_on_mapping(analyses, shape)
        self.notes.append(LiftingNote("with_side", "a side input, which is kept in Python", None, ENGINE))
        self.notes += [note_of(step, ENGINE) for step in together]
        steps = tuple(step.step for step in together)
        return PairedInPython(main, steps, after, label), compile_analyses(others, after, meta)

    def _computation(self, node: planned.Compute, of: Fold[PlanNode, CompiledNode]) -> CompiledNode:
        inner = of(node.input)
        elements, letters = inner.elements, self.bad_records is not None
        prepared = PreparedComputation.of(node.transform, elements.shape, elements.meta, dead_letters=letters)
        upstreams, followed = self._reads(of, [node.input])
        operator = Computing(upstreams, prepared.stage, followed=followed.upstreams)
        stage = ShardedComputation(
            prepared.stage.label,
            operator,
            self.cluster,
            prepared,
            self.bad_records,
            late_data=self.late_data,
        )
        self.notes.append(prepared.note)
        return self._stage(
            node,
            stage,
            Elements(prepared.pair, ELEMENT_META),
            lambda arrivals: stage.advance(inner.run(arrivals), followed.reports(arrivals)),
        )

    def source_clocks(self) -> dict[str, tuple[WatermarkPolicy, SourceClock]]:
        """Returns the policy and the clock of each source that flows into a stage."""
        by_name: dict[str, tuple[WatermarkPolicy, SourceClock]] = {}
        for stage in self.stages:
            clocks = stage.states[0].input_clocks
            for upstreams, inputs in zip(stage.operator.inputs, clocks, strict=False):
                for upstream, clock in zip(upstreams, inputs.upstreams, strict=True):
                    if not isinstance(upstream, FromSource) or not isinstance(clock, SourceClock):
                        continue
                    earlier = by_name.get(upstream.name)
                    # A stage that was added to a running query knows less of its sources.
                    if earlier is None or earlier[1].watermark <= clock.watermark:
                        by_name[upstream.name] = (upstream.policy, clock)
        return by_name

    def drops(self, numbers: Iterable[int] | None = None) -> tuple[StageDrops, ...]:
        """Returns the drops of each stage in the last instant, or of those with some numbers."""
        names = self.names
        every = [number for number, name in enumerate(names) if name]
        chosen = every if numbers is None else sorted(numbers)
        return tuple(self.stages[number].drops(names[number]) for number in chosen)

    def metrics(self) -> tuple[StageMetrics, ...]:
        """Returns the metrics of all stages in the last instant."""
        return tuple(stage.metrics(number) for number, stage in enumerate(self.stages))

    def unfired_timers(self) -> int:
        """Returns the number of timers that firings at the end of the input have set in the last instant."""
        return sum(stage.unfired_timers for stage in self.stages if isinstance(stage, ShardedComputation))

    def source_metrics(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of all sources in the last instant."""
        by_name = {source.source: source for stage in self.stages for source in stage.sources()}
        return tuple(by_name.values())

    @property
    def processing_time(self) -> ProcessingTime:
        """The processing time of the last instant."""
        return max(stage.states[0].input_clocks[0].clocks.processing_time for stage in self.stages)

    def stored(self) -> list[tuple[StageDescription, Sequence[OperatorState]]]:
        """Returns the state of each stage, with its description."""
        return [
            (evolve(stage.description, name=name), stage.states)
            for name, stage in zip(self.names, self.stages, strict=True)
        ]

    @property
    def names(self) -> list[str]:
        """The name of each stage in the plan; empty for an output of elements, which is none."""
        by_number = {self.numbers[stage]: name for stage, name in self.plan.stage_names.items()}
        return [by_number.get(number, "") for number in range(len(self.stages))]

    def compared(self, checkpoint: Checkpoint) -> plans.ChangePlan:
        """Returns what becomes of the state of each stage if the pipeline starts from a checkpoint."""
        manifest, folder = checkpoint.manifest, checkpoint.folder
        assert manifest is not None, "there is a state"
        problems: list[str] = []
        stored_sources = set(manifest.intent.positions)
        if stored_sources != set(self.sources):
            problems.append(
                f"the checkpoint {folder} has the sources {', '.join(sorted(stored_sources))}, and the pipeline "
                f"{', '.join(sorted(self.sources))}; start the changed pipeline with a new checkpoint"
            )
        shards = manifest.shards
        if shards != self.cluster.shards:
            problems.append(
                f"the checkpoint {folder} has {shards} shards; got shards={self.cluster.shards}: start the query with "
                f"shards={shards}, or first reshard the state with reshard(checkpoint, {self.cluster.shards})"
            )
        elif shards > 1 and manifest.placement != PLACEMENT:
            problems.append(
                f"the checkpoint {folder} places keys on shards by the hash {manifest.placement!r}, and this version "
                f"of flowalg by {PLACEMENT!r}; continue with the version that wrote it, or reshard the state with "
                f"reshard(checkpoint, {shards})"
            )
        before = [stage.description for stage in manifest.stages]
        now = [stage.description for stage in self.stages]
        return plans.ChangePlan(plans.plan_stages(before, now), problems=tuple(problems))

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restores the state of all stages; raises ``CheckpointError`` if it is that of another pipeline."""
        assert checkpoint.manifest is not None, "there is a state"
        change_plan = self.compared(checkpoint)
        change_plan.require_accepted()
        self.continue_from(checkpoint, change_plan)

    def continue_from(self, checkpoint: Checkpoint, change_plan: plans.ChangePlan) -> None:
        """Gives each stage that continues its state, converted if it has changed, as a plan says."""
        assert checkpoint.manifest is not None, "there is a state"
        for finding in change_plan.stages:
            if finding.before is None:
                continue
            stored = checkpoint.manifest.stages[finding.before]
            states = [checkpoint.restore(shard) for shard in stored.shards]
            if finding.now is not None and finding.outcome is not Outcome.INCOMPATIBLE:
                stage = self.stages[finding.now]
                before = evolve(stored.description, inputs=None)  # whose numbers are those of the checkpoint
                change = change_of_stage(before, stage.description)
                stage.states = [evolve_state(stage.operator, change, state) for state in states]

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a trigger of any stage becomes ready without new elements."""
        deadlines = (stage.next_deadline() for stage in self.stages)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)


def _once(run: Run, *, collect: bool) -> Run:
    """Returns the operator run once in each instant, however many others read its output."""
    last: list[tuple[Arrivals, Arrival]] = []

    def remembering(arrivals: Arrivals) -> Arrival:
        if not last or last[0][0] is not arrivals:
            arrival = run(arrivals)
            last[:] = [(arrivals, arrival.collected if collect else arrival)]
        return last[0][1]

    return remembering


def _united(received: Sequence[Arrival], positions: Sequence[Sequence[int]]) -> Arriving:
    """Returns the reports of a union by the position of the upstream: two paths from one upstream are one."""
    return {
        of_input[number]: report
        for arrival, of_input in zip(received, positions, strict=True)
        for number, report in arrival.reports.items()
    }
