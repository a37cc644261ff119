"""Running a pipeline over timelines: one instant after another, through all its nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import TypeVar, cast

from attrs import evolve, field, frozen

from flowalg.analysis.capabilities import Capabilities, Mode, require_mode
from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.time import EPOCH, MAX_TIME, EventTime, ProcessingTime, event_time
from flowalg.data.values import conform
from flowalg.elementwise.functions import apply
from flowalg.pipeline.nodes import DEFAULT_WINDOWING, Node, SourceNode, WindowInto
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping, rebuild, sources_of
from flowalg.runs.inputs import AnySource, timelines_by_name
from flowalg.runs.panes import Pane
from flowalg.runs.run import Run
from flowalg.runs.timeline import Instant, Timeline, as_batch
from flowalg_reference.capabilities import BATCH_CAPABILITIES, CAPABILITIES
from flowalg_reference.drops import DroppedElement
from flowalg_reference.elements import BEGINNING, Clocks, Element, NodeOutput, PipelineInstant
from flowalg_reference.grouping import Grouping
from flowalg_reference.operators import Operators

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@frozen
class WatermarkReading:
    """The watermark of the whole input, and that of the output, after an instant."""

    processing_time: ProcessingTime
    input: EventTime
    output: EventTime


@frozen
class RunSpec:
    """What a run was made from: a pipeline, the timeline of each source by the source's name, and the mode."""

    pipeline: PCollection[object]
    timelines: Mapping[str, Timeline[object]]
    mode: Mode


@frozen
class ReferenceRun(Run[A_co]):
    """A run of the reference interpreter: a ``Run`` whose drops are single elements, with more to ask of it.

    ``watermarks`` has a reading for each instant. ``spec`` is what the run was made from, so that ``explain_when`` and
    ``why_not`` can replay it.
    """

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[DroppedElement, ...]
    watermarks: tuple[WatermarkReading, ...]
    spec: RunSpec = field(eq=False, repr=False)


@frozen
class Reference:
    """The reference interpreter. ``mode`` says when it evaluates triggers of processing time."""

    mode: Mode = field(default=Mode.CONTINUOUS)

    def __attrs_post_init__(self) -> None:
        require_mode("Reference.mode", self.mode)

    @property
    def capabilities(self) -> Capabilities:
        """Everything runs."""
        return evolve(CAPABILITIES, mode=self.mode)

    def run(self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> ReferenceRun[A]:
        """The panes, drops and watermarks of a pipeline over one timeline for each of its sources.

        Raises ``UnboundSourceError`` when a source has no timeline or a timeline no source, ``UserFunctionError`` when
        a user-defined function raises, and ``UnsupportedError`` for a pipeline that groups nothing.
        """
        spec = RunSpec(pipeline, timelines_by_name(pipeline.node, inputs), self.mode)
        return cast("ReferenceRun[A]", execute(spec, Operators()))


@frozen
class ReferenceBatch:
    """The reference interpreter as a batch engine: each window emits one pane, on time (SEMANTICS section 11)."""

    @property
    def capabilities(self) -> Capabilities:
        """Everything runs that a batch has a use for."""
        return BATCH_CAPABILITIES

    def run(self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> ReferenceRun[A]:
        """The panes of a pipeline over all elements of its timelines, at the last processing time of any of them.

        Raises what ``Reference.run`` raises.
        """
        timelines = as_batch(timelines_by_name(pipeline.node, inputs))
        spec = RunSpec(PCollection(rebuild(pipeline.node, _without_lateness)), timelines, Mode.CONTINUOUS)
        return cast("ReferenceRun[A]", execute(spec, Operators()))


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Timeline[object]],
    *,
    mode: Mode = Mode.CONTINUOUS,
) -> ReferenceRun[A]:
    """The short form of ``Reference(mode).run(pipeline, inputs)``."""
    return Reference(mode).run(pipeline, inputs)


def run_batch(
    pipeline: PCollection[A], inputs: Mapping[AnySource, Iterable[object]], *, time: datetime = EPOCH
) -> ReferenceRun[A]:
    """The panes of a pipeline over bounded data, at one processing time: ``ReferenceBatch`` over plain elements."""
    timelines = {source: Timeline.batch(elements, time=time) for source, elements in inputs.items()}
    return ReferenceBatch().run(pipeline, timelines)


def _without_lateness(node: Node) -> Node:
    """A node of the pipeline with no allowed lateness: in a batch there is nothing to wait for."""
    match node:
        case SourceNode():
            return WindowInto(node, evolve(DEFAULT_WINDOWING.strategy, allowed_lateness=timedelta(0)))
        case WindowInto(input=inner, strategy=strategy):
            return WindowInto(inner, evolve(strategy, allowed_lateness=timedelta(0)))
        case _:
            return node


def spec_of(run: ReferenceRun[object]) -> RunSpec:
    """What a run was made from; raises ``ArgumentError`` for a run of another interpreter."""
    if not isinstance(run, ReferenceRun):
        raise ArgumentError("run", run, "a run of the reference interpreter")
    return run.spec


def execute(spec: RunSpec, operators: Operators, until: ProcessingTime | None = None) -> ReferenceRun[object]:
    """Runs a pipeline through fresh operators, up to ``until`` if that is given."""
    root = spec.pipeline.node
    last_grouping(root)
    operator = operators.of(root)
    panes: list[Pane[object]] = []
    readings: list[WatermarkReading] = []

    def step(now: PipelineInstant) -> None:
        output = operator(now)
        panes.extend(_pane(one) for one in output.elements)
        reads = min(one.clocks.watermark for one in now.sources.values())
        readings.append(WatermarkReading(now.processing_time, reads, output.clocks.watermark))

    def wake(until: ProcessingTime) -> None:
        if spec.mode is Mode.CONTINUOUS and before is not None:
            for empty in _deadlines(before, until, operators.groupings.values()):
                step(empty)

    before: PipelineInstant | None = None
    for now in _instants(spec.timelines, {one.name: one for one in sources_of(root)}):
        if until is not None and now.processing_time > until:
            break
        wake(now.processing_time)
        step(now)
        before = now
    if until is not None:
        wake(ProcessingTime(until + 1))
    return ReferenceRun(tuple(panes), operators.dropped, tuple(readings), spec)


def _deadlines(
    before: PipelineInstant, until: ProcessingTime, groupings: Collection[Grouping]
) -> Iterator[PipelineInstant]:
    """An empty instant at every deadline before a processing time, in order, as each is reached."""
    while True:
        pending = [one for one in (grouping.next_deadline() for grouping in groupings) if one is not None]
        if not pending or min(pending) >= until:
            return
        time = min(pending)
        quiet = {
            name: NodeOutput((), evolve(one.clocks, processing_time=time))
            for name, one in before.sources.items()
        }
        yield PipelineInstant(time, quiet)


def _pane(element: Element) -> Pane[object]:
    assert element.info is not None
    return Pane(element.value, element.window, element.event_time, element.info)


def _instants(
    timelines: Mapping[str, Timeline[object]], sources: dict[str, SourceNode]
) -> Iterator[PipelineInstant]:
    """The instants of all sources as one sequence; a source that does nothing keeps its watermark.

    The first instants of several sources at one processing time are one instant; so are the second ones.
    """
    keyed = [
        (time, number, name, instant)
        for name, timeline in timelines.items()
        for time, same_time in groupby(timeline, key=lambda one: one.processing_time)
        for number, instant in enumerate(same_time)
    ]
    keyed.sort(key=lambda one: one[:3])
    reads = dict.fromkeys(timelines, BEGINNING)
    for (time, _), together in groupby(keyed, key=lambda one: one[:2]):
        elements: dict[str, tuple[Element, ...]] = dict.fromkeys(timelines, ())
        signals: frozenset[str] = frozenset()
        for _, _, name, instant in together:
            reads[name] = Clocks(time, instant.watermark, instant.percentile_watermarks)
            elements[name] = _elements_of(sources[name], instant)
            signals |= instant.signals
        clocks = {name: evolve(one, processing_time=time) for name, one in reads.items()}
        yield PipelineInstant(
            time, {name: NodeOutput(elements[name], clocks[name]) for name in timelines}, signals
        )


def _elements_of(source: SourceNode, instant: Instant[object]) -> tuple[Element, ...]:
    """The elements of an instant, checked against the source's record class, in the global window."""
    where = f"an element of source {source.name!r}"
    label = f"Source({source.name!r}).event_time"
    entering = []
    for raw in instant.elements:
        value = conform(raw, source.shape, where)
        point = apply(source.event_time, value, label)
        if not isinstance(point, datetime):
            raise ElementError(
                f"the event time of {where} must be a datetime, on {value!r}; got {format_value(point)}"
            )
        when = event_time(point, argument=f"the event time of {where}")
        if when >= MAX_TIME:
            raise ElementError(
                f"the event time of {where} is the end of time; it must be before, on {value!r}"
            )
        entering.append(Element(value, when))
    return tuple(entering)


__all__ = [
    "Reference",
    "ReferenceBatch",
    "ReferenceRun",
    "RunSpec",
    "WatermarkReading",
    "execute",
    "run",
    "run_batch",
    "spec_of",
]
