"""Running a pipeline over timelines: one instant after another, through all its nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import groupby
from typing import Generic, TypeVar, cast

from attrs import evolve, field, frozen

from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime, event_time
from flowalg.data.values import conform
from flowalg.elementwise.functions import apply
from flowalg.notebook.html import run_html
from flowalg.pipeline.nodes import DEFAULT_WINDOWING, Node, SourceNode, WindowInto
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping, rebuild, sources_of
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.panes import Drop, Pane
from flowalg.runs.timeline import Instant, Timeline
from flowalg_reference.elements import BEGINNING, Arrivals, Clocks, Element, Now
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


class Mode(Enum):
    """When an engine looks at its clocks (SEMANTICS section 4)."""

    CONTINUOUS = "continuous"
    """Also at each processing time that a trigger waits for: an empty instant is inserted there."""

    MICRO_BATCH = "micro-batch"
    """Only when a batch comes: a deadline is noticed at the first instant at or after it."""


@frozen
class Origin:
    """What a run is a run of: a pipeline, a timeline for each of its sources by its name, and the mode."""

    pipeline: PCollection[object]
    timelines: Mapping[str, Timeline[object]]
    mode: Mode


@frozen
class Run(Generic[A_co]):
    """All that a pipeline did over its timelines: its panes in order, its drops, and its watermarks.

    ``origin`` is what it was made from, so that ``explain_when`` and ``why_not`` can go through it again; a run that
    another engine made has none.
    """

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[Drop, ...]
    watermarks: tuple[WatermarkReading, ...]
    origin: Origin | None = field(default=None, eq=False, repr=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return run_html(self.panes, self.dropped)


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Timeline[object]],
    *,
    mode: Mode = Mode.CONTINUOUS,
) -> Run[A]:
    """The panes, drops and watermarks of a pipeline over one timeline for each of its sources.

    Raises ``UnboundSourceError`` when a source has no timeline or a timeline no source, ``UserFunctionError``
    when a function of the user's raises, and ``UnsupportedError`` for a pipeline that groups nothing.
    """
    timelines = inputs_by_name(pipeline.node, inputs, "timeline")
    for name, timeline in timelines.items():
        if not isinstance(timeline, Timeline):
            raise ArgumentError(f"the input of source {name!r}", timeline, "a Timeline")
    return cast("Run[A]", driven(Origin(pipeline, timelines, mode), Operators()))


def run_batch(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Iterable[object]],
    *,
    time: datetime = datetime(1970, 1, 1, tzinfo=UTC),
) -> Run[A]:
    """The panes of a pipeline over bounded data: one instant, at whose end the input has ended (section 11).

    Every window emits one pane and is freed, since nothing can come after.
    """
    timelines = {source: Timeline.batch(elements, time=time) for source, elements in inputs.items()}
    return run(PCollection(rebuild(pipeline.node, _without_lateness)), timelines)


def _without_lateness(node: Node) -> Node:
    """A node of the pipeline with no allowed lateness: in a batch there is nothing to wait for."""
    match node:
        case SourceNode():
            return WindowInto(node, evolve(DEFAULT_WINDOWING.strategy, allowed_lateness=timedelta(0)))
        case WindowInto(input=inner, strategy=strategy):
            return WindowInto(inner, evolve(strategy, allowed_lateness=timedelta(0)))
        case _:
            return node


def origin_of(run: Run[object]) -> Origin:
    """What a run was made from; raises ``ArgumentError`` for one that another engine made."""
    if not isinstance(run, Run) or run.origin is None:
        raise ArgumentError("run", run, "a run of the reference interpreter")
    return run.origin


def driven(origin: Origin, operators: Operators, until: ProcessingTime | None = None) -> Run[object]:
    """A run, by operators that have done nothing before; with ``until`` no further than that."""
    root = origin.pipeline.node
    last_grouping(root)
    operator = operators.of(root)
    panes: list[Pane[object]] = []
    readings: list[WatermarkReading] = []

    def step(now: Now) -> None:
        arrivals = operator(now)
        panes.extend(_pane(one) for one in arrivals.elements)
        reads = min(one.clocks.watermark for one in now.arrivals.values())
        readings.append(WatermarkReading(now.processing_time, reads, arrivals.clocks.watermark))

    def wake(until: ProcessingTime) -> None:
        if origin.mode is Mode.CONTINUOUS and before is not None:
            for empty in _deadlines(before, until, operators.groupings.values()):
                step(empty)

    before: Now | None = None
    for now in _instants(origin.timelines, {one.name: one for one in sources_of(root)}):
        if until is not None and now.processing_time > until:
            break
        wake(now.processing_time)
        step(now)
        before = now
    if until is not None:
        wake(ProcessingTime(until + 1))
    return Run(tuple(panes), operators.dropped, tuple(readings), origin)


def _deadlines(before: Now, until: ProcessingTime, groupings: Collection[Grouping]) -> Iterator[Now]:
    """An empty instant at every deadline before a processing time, in order, as each is reached."""
    while True:
        pending = [one for one in (grouping.next_deadline() for grouping in groupings) if one is not None]
        if not pending or min(pending) >= until:
            return
        time = min(pending)
        quiet = {
            name: Arrivals((), evolve(one.clocks, processing_time=time))
            for name, one in before.arrivals.items()
        }
        yield Now(time, quiet)


def _pane(element: Element) -> Pane[object]:
    assert element.info is not None
    return Pane(element.value, element.window, element.event_time, element.info)


def _instants(timelines: Mapping[str, Timeline[object]], sources: dict[str, SourceNode]) -> Iterator[Now]:
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
            elements[name] = _entering(sources[name], instant)
            signals |= instant.signals
        clocks = {name: evolve(one, processing_time=time) for name, one in reads.items()}
        yield Now(time, {name: Arrivals(elements[name], clocks[name]) for name in timelines}, signals)


def _entering(source: SourceNode, instant: Instant[object]) -> tuple[Element, ...]:
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


__all__ = ["Mode", "Origin", "Run", "WatermarkReading", "driven", "origin_of", "run", "run_batch"]
