"""Running a pipeline over timelines: one instant after another, through all its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar, overload

from attrs import evolve, field, frozen

from flowalg.analysis.capabilities import Capabilities, Mode, require_mode
from flowalg.computations.computation import Late
from flowalg.data.errors import ArgumentError, is_frame, require_flag
from flowalg.data.time import EPOCH, EventTime, ProcessingTime
from flowalg.pipeline.admission import admit
from flowalg.pipeline.nodes import DEFAULT_WINDOWING, Node, Process, SourceNode, WindowInto
from flowalg.pipeline.outputs import ONLY_OUTPUT, emits_panes, require_outputs, resolve_outputs, share_steps
from flowalg.pipeline.pair_times import with_pair_times
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import rebuild_all, sources_read_together
from flowalg.runs.elements import output_of
from flowalg.runs.inputs import AnySource, inputs_by_name, timelines_by_name
from flowalg.runs.instants import PipelineInstant, empty_instants, pipeline_instants
from flowalg.runs.output import Output, sort_panes
from flowalg.runs.panes import DroppedElement, Pane
from flowalg.runs.run import Outputs, Run
from flowalg.runs.timeline import Timeline, as_batch
from flowalg.triggers.syntax import DEFAULT_TRIGGER
from flowalg_reference.bad_records import BadRecords
from flowalg_reference.capabilities import BATCH_CAPABILITIES, CAPABILITIES
from flowalg_reference.operators import Operators
from flowalg_reference.outputs import NodeOutput

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@frozen
class WatermarkReading:
    """The watermark of the whole input, and that of the output, after an instant."""

    processing_time: ProcessingTime
    input: EventTime
    output: EventTime

    @classmethod
    def of(cls, now: PipelineInstant, outputs: Iterable[NodeOutput]) -> WatermarkReading:
        """Returns the watermarks after an instant, from what pipelines gave in it."""
        read = min(clocks.watermark for clocks in now.clocks.values())
        propagated = min(clocks.watermark for output in outputs for clocks in output.upstreams.values())
        return cls(now.processing_time, read, propagated)


@frozen(eq=False)
class RunSpec:
    """What a run was made from: a pipeline, the timeline of each source by the source's name, and the mode.

    With ``dead_letters`` the pipeline has admissions, and bad records are kept apart.
    """

    pipeline: PCollection[object]
    timelines: Mapping[str, Timeline[object]]
    mode: Mode
    dead_letters: bool = False


@frozen
class ReferenceRun(Run[A_co]):
    """A run of the reference interpreter: a ``Run`` whose drops are single elements, with more to ask of it.

    ``watermarks`` has a reading for each instant. ``spec`` is what the run was made from, so that ``explain_when`` and
    ``why_not`` can replay it. ``unfired_timers`` is the number of timers that firings at the end of the input have set,
    which do not fire (SEMANTICS section 17).
    """

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[DroppedElement, ...]
    watermarks: tuple[WatermarkReading, ...]
    spec: RunSpec = field(eq=False, repr=False)
    unfired_timers: int = field(default=0, kw_only=True)


@frozen
class Reference:
    """The reference interpreter. ``mode`` says when it evaluates triggers of processing time.

    A bad record fails the run: one that does not match its source, or on which a user-defined function of one element
    raises. With ``dead_letters`` it is in ``bad_records`` of the run instead, with the error.
    """

    mode: Mode = field(default=Mode.CONTINUOUS)
    dead_letters: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_mode("Reference.mode", self.mode)
        require_flag("Reference.dead_letters", self.dead_letters)

    @property
    def capabilities(self) -> Capabilities:
        """Everything runs."""
        return evolve(CAPABILITIES, mode=self.mode)

    @overload
    def run(
        self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]
    ) -> ReferenceRun[A]: ...
    @overload
    def run(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> Outputs: ...
    def run(
        self,
        outputs: PCollection[object] | Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object]],
    ) -> ReferenceRun[object] | Outputs:
        """Returns the panes or elements, drops and watermarks of a pipeline over one timeline for each of its sources.

        Several named outputs are those of one run. Raises ``UnboundSourceError`` when a source has no timeline or a
        timeline no source, and ``UserFunctionError`` when a user-defined function raises.
        """
        pipelines = require_outputs(outputs)
        timelines = timelines_by_name(inputs, *(pipeline.node for pipeline in pipelines.values()))
        admitted = _admitted(resolve_outputs(pipelines), dead_letters=self.dead_letters)
        return _run(outputs, admitted, timelines, self.mode, dead_letters=self.dead_letters)


@frozen
class ReferenceBatch:
    """The reference interpreter as a batch engine: each window emits one pane, on time (SEMANTICS section 11).

    ``dead_letters`` is that of ``Reference``.
    """

    dead_letters: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_flag("ReferenceBatch.dead_letters", self.dead_letters)

    @property
    def capabilities(self) -> Capabilities:
        """Everything runs that a batch has a use for."""
        return BATCH_CAPABILITIES

    @overload
    def run(
        self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]
    ) -> ReferenceRun[A]: ...
    @overload
    def run(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> Outputs: ...
    def run(
        self,
        outputs: PCollection[object] | Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object]],
    ) -> ReferenceRun[object] | Outputs:
        """Returns the panes of a pipeline, or of several, over all elements of the timelines, at their last processing
        time.

        Raises what ``Reference.run`` raises.
        """
        pipelines = require_outputs(outputs)
        timelines = as_batch(timelines_by_name(inputs, *(pipeline.node for pipeline in pipelines.values())))
        rebuilt = _as_batch(pipelines, dead_letters=self.dead_letters)
        return _run(
            outputs, rebuilt, timelines, Mode.CONTINUOUS, dead_letters=self.dead_letters, is_sorted=True
        )


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Timeline[object]],
    *,
    mode: Mode = Mode.CONTINUOUS,
    dead_letters: bool = False,
) -> ReferenceRun[A]:
    """Returns the short form of ``Reference(mode, dead_letters=dead_letters).run(pipeline, inputs)``.

    Example:

    >>> timeline = Timeline[Score]().at(noon(1), *RECORDS, watermark=noon(2)).end(noon(9))
    >>> run = reference.run(points.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum()), {scores: timeline})
    >>> for pane in run.panes:
    ...     print(pane.processing_time, pane.key, pane.value, pane.timing.value)
    2024-01-01T12:01:00Z blue 7 on_time
    2024-01-01T12:01:00Z red 5 on_time
    2024-01-01T12:09:00Z red 3 on_time
    """
    return Reference(mode, dead_letters=dead_letters).run(pipeline, inputs)


def run_batch(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Iterable[object]],
    *,
    time: datetime = EPOCH,
    dead_letters: bool = False,
) -> ReferenceRun[A]:
    """Returns the panes of a pipeline over bounded data, at one processing time: ``ReferenceBatch`` over plain
    elements.

    Example:

    >>> run = reference.run_batch(points.combine_per_key(Sum()), {scores: RECORDS})
    >>> [(pane.key, pane.value) for pane in run.panes]
    [('blue', 7), ('red', 8)]
    """
    for name, elements in inputs_by_name(inputs, "list of elements", pipeline.node).items():
        if is_frame(elements):
            valid = "an iterable of elements, such as a list; run a frame on flowalg_polars.batch"
            raise ArgumentError(f"the input of source {name!r}", elements, valid)
    timelines = {source: Timeline.batch(elements, time=time) for source, elements in inputs.items()}
    return ReferenceBatch(dead_letters=dead_letters).run(pipeline, timelines)


def _as_batch(
    outputs: Mapping[str, PCollection[object]], *, dead_letters: bool
) -> dict[str, PCollection[object]]:
    """Pipelines as a batch runs them. Their admissions call the functions of triggers, as those of a stream do."""
    admitted = _admitted(outputs, dead_letters=dead_letters)
    roots = share_steps(rebuild_all([pipeline.node for pipeline in admitted.values()], _for_batch))
    return dict(zip(outputs, map(PCollection[object], roots), strict=True))


def _for_batch(node: Node, original: Node) -> Node:
    """Returns a node of the pipeline as a batch runs it. It waits for nothing, so it has no triggers and no lateness.

    Computations observe all elements in order.
    """
    match node:
        case SourceNode():
            return WindowInto(node, evolve(DEFAULT_WINDOWING.strategy, allowed_lateness=timedelta(0)))
        case WindowInto(input=inner, strategy=strategy):
            return WindowInto(inner, evolve(strategy, trigger=DEFAULT_TRIGGER, allowed_lateness=timedelta(0)))
        case Process():
            return evolve(node, in_order=True, late=Late.DROP)
        case _:
            return with_pair_times(node)


def spec_for(
    pipeline: PCollection[object], inputs: Mapping[AnySource, Timeline[object]], mode: Mode
) -> RunSpec:
    """Returns what ``Reference(mode).run`` runs; raises ``UnboundSourceError`` as it does."""
    timelines = timelines_by_name(inputs, pipeline.node)
    return RunSpec(resolve_outputs({ONLY_OUTPUT: pipeline})[ONLY_OUTPUT], timelines, mode)


def _admitted(
    outputs: Mapping[str, PCollection[object]], *, dead_letters: bool
) -> Mapping[str, PCollection[object]]:
    return admit(outputs) if dead_letters else outputs


def spec_of(run: ReferenceRun[object]) -> RunSpec:
    """Returns what a run was made from; raises ``ArgumentError`` for a run of another interpreter."""
    if not isinstance(run, ReferenceRun):
        raise ArgumentError("run", run, "a run of the reference interpreter")
    return run.spec


def _run(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    rebuilt: Mapping[str, PCollection[object]],
    timelines: Mapping[str, Timeline[object]],
    mode: Mode,
    *,
    dead_letters: bool,
    is_sorted: bool = False,
) -> ReferenceRun[object] | Outputs:
    """Runs a pipeline or several outputs; ``rebuilt`` are the pipelines that run, by the names of the outputs."""
    operators = Operators(bad=BadRecords.of(dead_letters=dead_letters))
    by_name, readings = execute(rebuilt, timelines, mode, operators)
    if is_sorted:
        by_name = {name: evolve(output, panes=sort_panes(output.panes)) for name, output in by_name.items()}
    bad, unfired = operators.bad_records, operators.unfired_timers
    if not isinstance(outputs, PCollection):
        return Outputs(by_name, operators.dropped, outputs, bad_records=bad, unfired_timers=unfired)
    output, spec = by_name[ONLY_OUTPUT], RunSpec(rebuilt[ONLY_OUTPUT], timelines, mode, dead_letters)
    return ReferenceRun(
        output.panes,
        operators.dropped,
        readings,
        spec,
        elements=output.elements,
        bad_records=bad,
        unfired_timers=unfired,
    )


def execute(
    outputs: Mapping[str, PCollection[object]],
    timelines: Mapping[str, Timeline[object]],
    mode: Mode,
    operators: Operators,
) -> tuple[dict[str, Output[object]], tuple[WatermarkReading, ...]]:
    """Returns what pipelines give by their names, run through fresh operators, and the watermarks of all together."""
    roots = [pipeline.node for pipeline in outputs.values()]
    instants = list(_advance(roots, operators, timelines, mode))
    by_name = {
        name: output_of(
            ((now.processing_time, received[number].elements) for now, received in instants),
            panes=emits_panes(root),
        )
        for number, (name, root) in enumerate(zip(outputs, roots, strict=True))
    }
    return by_name, tuple(WatermarkReading.of(now, received) for now, received in instants)


def _advance(
    roots: Sequence[Node], operators: Operators, timelines: Mapping[str, Timeline[object]], mode: Mode
) -> Iterator[tuple[PipelineInstant, tuple[NodeOutput, ...]]]:
    """Yields each instant, with what each of several pipelines gives in it."""
    whole = operators.of(*roots)
    before: PipelineInstant | None = None
    for now in pipeline_instants(timelines, sources_read_together(*roots)):
        if mode is Mode.CONTINUOUS and before is not None:
            # lazily: each instant sets the next deadline
            for empty in empty_instants(before, now.processing_time, operators.next_deadline):
                yield empty, tuple(operator(empty) for operator in whole)
        yield now, tuple(operator(now) for operator in whole)
        before = now
