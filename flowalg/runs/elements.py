"""Elements as interpreters in plain Python carry them: read from a source, through element-wise steps, to panes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, assert_never

from attrs import evolve, field, frozen

from flowalg.computations.calls import Effect
from flowalg.data.errors import FlowalgError
from flowalg.data.metadata import Metadata, PaneTiming, WindowBounds
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.data.values import canonicalize, conform
from flowalg.elementwise.functions import apply
from flowalg.elementwise.steps import Filter, Step, WithTimestamps, apply_step, assign_timestamp
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.co_group import tagged
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import (
    BadRecord,
    bad_element,
    bad_row,
    event_time_step,
    require_in_range,
    require_record,
    require_time,
)
from flowalg.runs.output import Output, OutputElement, sort_elements
from flowalg.runs.panes import Pane, PaneInfo
from flowalg.windows.window import GLOBAL_WINDOW, Window

ArrivalOf: TypeAlias = Callable[[object], ProcessingTime | None]
"""Returns when a record arrives, which is its event time if its source has ingress times; ``None`` if unknown."""


@frozen
class Element:
    """A value with its event time, window and weight (SEMANTICS section 2).

    ``weight`` is +1 for a value and -1 for a retraction. An element that a grouping has emitted has the pane's
    ``info``, and one that a computation has emitted the ``effect`` of the transition, which no comparison regards.
    """

    value: object
    event_time: EventTime
    window: Window = GLOBAL_WINDOW
    weight: int = 1
    info: PaneInfo | None = None
    effect: Effect | None = field(default=None, eq=False, repr=False)


def read_records(source: SourceNode, records: Iterable[object], arrival_of: ArrivalOf) -> tuple[Element, ...]:
    """Returns the records of a source as elements in the global window, checked against the source's record class."""
    step = event_time_step(source)
    return tuple(
        _element(source, step, record, require_record(source, record), arrival_of) for record in records
    )


def horizon_of(elements: Iterable[Element]) -> EventTime:
    """Returns the instant after the greatest event time of some elements; ``MIN_TIME`` without elements."""
    return EventTime(max((element.event_time + 1 for element in elements), default=MIN_TIME))


def read_or_reject(source: SourceNode, record: object, arrival_of: ArrivalOf) -> Element | BadRecord:
    """Returns a record of a source as an element, or as a bad record if it cannot be one."""
    try:
        value = require_record(source, record)
    except FlowalgError as error:
        return bad_row(source, record, error)
    step = event_time_step(source)
    try:
        return _element(source, step, record, value, arrival_of)
    except MemoryError:
        raise
    except Exception as error:
        # The errors of the function name it; an event time that no window contains is a fault of the record.
        if step is None or str(error).startswith("source "):
            return bad_row(source, value, error)
        return bad_element(step, value, error, source.shape)


def _element(
    source: SourceNode, step: WithTimestamps | None, record: object, value: object, arrival_of: ArrivalOf
) -> Element:
    if step is None:
        return Element(value, require_in_range(source, arrival_of(record)))
    return Element(value, require_time(source, step, apply(step.function, value, step.label)))


def good_records(
    source: SourceNode, records: Sequence[object], bad: list[BadRecord] | None
) -> Sequence[object]:
    """Returns the records of a source that can be elements; the others are added to ``bad``. Without it, all of
    them.
    """
    if bad is None:
        return records
    good: list[object] = []
    for record in records:
        read = read_or_reject(source, record, at_any_time)
        if isinstance(read, BadRecord):
            bad.append(read)
        else:
            good.append(record)
    return good


def at_any_time(record: object) -> ProcessingTime:
    """Returns an arrival for records that are only checked."""
    return ProcessingTime(0)


def apply_steps(steps: Iterable[StepAnalysis], elements: Iterable[Element]) -> tuple[Element, ...]:
    """Elements after element-wise steps, which keep event time, window, weight and pane (SEMANTICS section 2).

    Raises what their functions raise, and what ``conforming`` raises for their results.
    """
    for analysis in steps:
        elements = [
            conforming(analysis, after)
            for element in elements
            for after in results_of(analysis.step, element)
        ]
    return tuple(elements)


def results_of(step: Step, element: Element) -> Iterator[Element]:
    """Yields what an element-wise step emits for an element, as its function returns it; raises what that raises."""
    if isinstance(step, WithTimestamps):
        yield evolve(element, event_time=assign_timestamp(step, element.value))
        return
    for value in apply_step(step, element.value):
        yield evolve(element, value=value)


def conforming(analysis: StepAnalysis, element: Element) -> Element:
    """Returns the result of a step in its normal form, checked as a record is checked: it has the type of the step.

    Raises ``ElementError`` and ``ValueRangeError`` for another value. Of an unknown type it only has a normal form.
    """
    if isinstance(analysis.step, Filter | WithTimestamps):
        return element
    where = f"the result of {analysis.step.label}"
    if analysis.after is None:
        return evolve(element, value=canonicalize(element.value, where))
    return evolve(element, value=conform(element.value, analysis.after, where))


def pair_with_metadata(metadata: Metadata, elements: Iterable[Element]) -> tuple[Element, ...]:
    """Elements that are paired with a part of their metadata."""
    return tuple(evolve(element, value=(element.value, _metadata(metadata, element))) for element in elements)


def _metadata(metadata: Metadata, element: Element) -> object:
    match metadata:
        case Metadata.EVENT_TIME:
            return element.event_time.datetime
        case Metadata.WINDOW:
            return WindowBounds(element.window.start.datetime, element.window.end.datetime)
        case Metadata.PANE:
            info = element.info
            assert info is not None, "the elements are grouped"
            return PaneTiming(info.timing, info.index, info.is_first, info.is_last)
    assert_never(metadata)


def tag_elements(collection: int, elements: Iterable[Element], label: str) -> tuple[Element, ...]:
    """Returns the elements of one collection of a co-group, each with the number of the collection."""
    return tuple(evolve(element, value=tagged(element.value, collection, label)) for element in elements)


def pane_of(element: Element) -> Pane[object]:
    """Returns the pane of an element that a grouping has emitted."""
    assert element.info is not None, "what a pipeline gives has come out of a grouping"
    return Pane(element.value, element.window, element.event_time, element.info)


def output_of(instants: Iterable[tuple[ProcessingTime, Iterable[Element]]], *, panes: bool) -> Output[object]:
    """Returns the output of a pipeline from its elements in each instant, with the processing time of the instant."""
    if panes:
        return Output(tuple(pane_of(element) for _, elements in instants for element in elements))
    output_elements = (
        OutputElement(element.value, element.event_time, time)
        for time, elements in instants
        for element in elements
    )
    return Output((), elements=sort_elements(output_elements))
