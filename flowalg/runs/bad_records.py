"""Bad records: elements that a run with dead letters keeps apart, each with the step that failed and the error."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from flowalg.computations.calls import Calls, FailedTransition
from flowalg.computations.library import state_shape
from flowalg.data.errors import ElementError
from flowalg.data.json_text import escape_surrogates, render_json
from flowalg.data.record_classes import attributes_of
from flowalg.data.record_messages import missing_or_unknown, no_time_message, range_message
from flowalg.data.shapes import TEXT, Field, RecordOf, Shape
from flowalg.data.time import EPOCH, MAX_TIME, MIN_TIME, EventTime
from flowalg.data.values import conform
from flowalg.elementwise.steps import Step, WithTimestamps, require_event_time
from flowalg.pipeline.admission import Admission
from flowalg.pipeline.nodes import SourceNode


@frozen(order=True)
class BadRecord:
    """A record that could not be read, or an element on which a function raised (SEMANTICS section 2).

    ``stage`` is the source, or the label of the transform whose function raised; ``error`` is the error that the run
    would have raised; ``record`` is the record, or the input of the transform, as JSON.
    """

    stage: str
    error: str
    record: str


def bad_element(step: Step, element: object, error: BaseException, shape: Shape | None) -> BadRecord:
    """Returns the bad record of an element on which a step raised; ``shape`` is that of the element, if it is known."""
    text = (
        render_json(step.element_of(element)) if isinstance(step, Admission) else render_json(element, shape)
    )
    return BadRecord(step.label, escape_surrogates(str(error)), text)


def bad_call(calls: Calls, failure: FailedTransition) -> BadRecord:
    """Returns the bad record of a transition that failed: the key, the element or timer, and the state."""
    text = render_json(failure.call, _shape_of_call(calls, type(failure.call)))
    return BadRecord(calls.label, escape_surrogates(str(failure.error)), text)


def _shape_of_call(calls: Calls, call: type) -> Shape:
    """Returns the shape with which a call is shown; a part of unknown shape is shown without it."""
    known: dict[str, Shape | None] = {"state": calls.computation.state_shape}
    if isinstance(calls.pair, RecordOf):
        key, value = (field.shape for field in calls.pair.fields)
        known = {"key": key, "element": value, "state": state_shape(calls.computation, value)}
    return RecordOf(call, tuple(Field(name, known.get(name) or TEXT) for name in attributes_of(call) or ()))


def bad_row(source: SourceNode, record: object, error: BaseException) -> BadRecord:
    """Returns the bad record of a record that could not be read."""
    text = render_json(record, source.shape)
    shown = text if isinstance(source.shape, RecordOf) else f'{{"value":{text}}}'
    return BadRecord(source_stage(source), escape_surrogates(str(error)), shown)


def bad_text(source: SourceNode, error: str, text: str) -> BadRecord:
    """Returns the bad record of a text that could not be parsed."""
    return BadRecord(source_stage(source), escape_surrogates(error), render_json(_Text(text)))


def source_stage(source: SourceNode) -> str:
    """Returns the stage of the bad records of a source."""
    return f"Source({source.name!r})"


def event_time_label(source: SourceNode) -> str:
    """Returns the label of the event times of a source, which is the stage of records on which its function raises."""
    return f"{source_stage(source)}.event_time"


def event_time_step(source: SourceNode) -> WithTimestamps | None:
    """Returns the event time function of a source as a step; ``None`` if its event times are those of arrival."""
    return None if source.event_time is None else WithTimestamps(source.event_time, event_time_label(source))


def require_record(source: SourceNode, record: object) -> object:
    """Returns the normal form of a record; raises ``ElementError`` or ``ValueRangeError`` for a bad one."""
    try:
        return conform(record, source.shape, f"source {source.name!r}: element")
    except ElementError:
        fault = missing_or_unknown(source.name, record, source.shape)
        if fault is None:
            raise
        raise ElementError(fault) from None


def require_time(source: SourceNode, step: WithTimestamps, point: object) -> EventTime:
    """Returns the event time that the function of a source has returned.

    Raises ``ElementError`` unless it is an aware datetime in the range that windows contain.
    """
    if isinstance(point, datetime) and point.utcoffset() is not None:
        require_in_range(source, (point - EPOCH) // datetime.resolution)
    return require_event_time(step, point)


def require_in_range(source: SourceNode, micros: int | None) -> EventTime:
    """Returns an event time; raises ``ElementError`` if it is unknown, or if no window contains it."""
    if micros is None:
        raise ElementError(no_time_message(source.name))
    if not MIN_TIME <= micros < MAX_TIME:
        raise ElementError(range_message(source.name, micros))
    return EventTime(micros)


@frozen
class _Text:
    """A text that could not be parsed as a record."""

    text: str
