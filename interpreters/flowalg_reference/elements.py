"""What flows between the parts of the interpreter."""

from __future__ import annotations

from attrs import frozen

from flowalg.panes import PaneInfo
from flowalg.time import EventTime, ProcessingTime
from flowalg.windows import GLOBAL_WINDOW, Window


@frozen
class Element:
    """A value with its event time and window; ``info`` is there once it has come out of a grouping."""

    value: object
    event_time: EventTime
    window: Window = GLOBAL_WINDOW
    info: PaneInfo | None = None


@frozen
class Arrivals:
    """What a node gives in one instant: its elements, and its output watermark after them."""

    elements: tuple[Element, ...]
    watermark: EventTime


@frozen
class Now:
    """One instant of the whole pipeline: the processing time, and what each source brings, by its name."""

    processing_time: ProcessingTime
    arrivals: dict[str, Arrivals]


__all__ = ["Arrivals", "Element", "Now"]
