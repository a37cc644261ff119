"""What user code can know about an element besides its value: its event time, its window, and its pane."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, unique

from attrs import frozen

from flowalg.data.shapes import TIMESTAMP, Shape, shape_of


@unique
class Timing(Enum):
    """Whether a pane was emitted before, when, or after the watermark passed the end of its window."""

    EARLY = "early"
    ON_TIME = "on_time"
    LATE = "late"


@frozen
class WindowBounds:
    """The window ``[start, end)`` of an element, as a record that elements can contain."""

    start: datetime
    end: datetime


@frozen
class PaneTiming:
    """When the pane of an element was emitted, among all panes of its window; ``index`` counts them from 0."""

    timing: Timing
    index: int
    is_first: bool
    is_last: bool


@unique
class Metadata(Enum):
    """The method of ``PCollection`` that pairs elements with a part of their metadata."""

    EVENT_TIME = "with_event_time"
    WINDOW = "with_window"
    PANE = "with_pane"

    @property
    def shape(self) -> Shape:
        """The shape of the metadata."""
        match self:
            case Metadata.EVENT_TIME:
                return TIMESTAMP
            case Metadata.WINDOW:
                return shape_of(WindowBounds)
            case Metadata.PANE:
                return shape_of(PaneTiming)
