"""Dropped elements: what the reference interpreter knows of each element that a window did not take."""

from __future__ import annotations

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.elements import Element
from flowalg.runs.panes import Change, DroppedElement, DropReason, dropped_key
from flowalg.windows.window import Window


def drop(
    element: Element,
    window: Window,
    reason: DropReason,
    time: ProcessingTime,
    before: EventTime,
    stage: str,
    input: int = 0,
) -> DroppedElement:
    """Returns the drop of an element by a stage, at a processing time; ``before`` is the watermark before the
    instant.
    """
    return DroppedElement(
        dropped_key(element.value),
        window,
        reason,
        time,
        element.value,
        element.event_time,
        before,
        Change.of(element.weight),
        stage,
        input=input,
    )
