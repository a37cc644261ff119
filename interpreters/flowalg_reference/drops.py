"""Dropped elements: what the reference interpreter knows of each element that a window did not take."""

from __future__ import annotations

from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element
from flowalg.runs.panes import Change, Drop, DropReason, dropped_key
from flowalg.windows.window import Window


@frozen
class DroppedElement(Drop):
    """One element that a window did not take. ``watermark`` is the input watermark that it was late for."""

    element: object
    event_time: EventTime
    watermark: EventTime
    change: Change


def drop(element: Element, window: Window, reason: DropReason, clocks: Clocks) -> DroppedElement:
    """Returns the drop of an element at the given clocks."""
    return DroppedElement(
        dropped_key(element.value),
        window,
        reason,
        clocks.processing_time,
        element.value,
        element.event_time,
        clocks.watermark,
        Change.VALUE if element.weight > 0 else Change.RETRACTION,
    )
