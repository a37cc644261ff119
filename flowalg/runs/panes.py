"""Panes, which a grouping emits, and drops, which it rejects (SEMANTICS sections 5 and 7; DM section 2.3)."""

from __future__ import annotations

from enum import Enum, unique
from typing import Generic, TypeVar

from attrs import field, frozen

from flowalg.data.kv import KV
from flowalg.data.metadata import Timing
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.data.views import HasView
from flowalg.windows.window import Window

A_co = TypeVar("A_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


@unique
class Change(Enum):
    """Whether a pane emits a value or retracts one."""

    VALUE = "value"
    RETRACTION = "retraction"

    @classmethod
    def of(cls, weight: int) -> Change:
        """Returns the change of an element with a weight, which is negative for a retraction."""
        return cls.VALUE if weight > 0 else cls.RETRACTION


@unique
class DropReason(Enum):
    """Why a window or a computation dropped an element."""

    EXPIRED = "expired"
    """The watermark had passed the end of the window plus the allowed lateness."""

    CLOSED = "closed"
    """The trigger of the window had finished."""

    LATE = "late"
    """The watermark had passed the element, and the computation drops late elements."""


@frozen
class PaneInfo:
    """The metadata of a pane: all but its value and window.

    ``index`` counts the panes of a window from 0. ``is_last`` means that the window emits no more panes.
    ``processing_time`` and ``watermark`` are the clocks when the pane was emitted.
    """

    change: Change
    timing: Timing
    index: int
    is_first: bool
    is_last: bool
    processing_time: ProcessingTime
    watermark: EventTime


@frozen
class Pane(HasView, Generic[A_co]):
    """A result that a grouping emits for a window, after the element-wise steps that follow it.

    ``element`` is the input of the next transform; on a keyed pipeline ``key`` and ``value`` are its parts.
    ``event_time`` is the last instant of the window.
    """

    element: A_co
    window: Window
    event_time: EventTime
    info: PaneInfo

    @property
    def key(self: Pane[KV[K, V]]) -> K:
        """The key, on a keyed pipeline."""
        return self.element.key

    @property
    def value(self: Pane[KV[K, V]]) -> V:
        """The value, on a keyed pipeline."""
        return self.element.value

    @property
    def change(self) -> Change:
        """Whether the pane emits a value or retracts one."""
        return self.info.change

    @property
    def timing(self) -> Timing:
        """Early, on time or late."""
        return self.info.timing

    @property
    def index(self) -> int:
        """The pane's number within its window, from 0."""
        return self.info.index

    @property
    def is_first(self) -> bool:
        """Whether it is the first pane of its window."""
        return self.info.is_first

    @property
    def is_last(self) -> bool:
        """Whether its window emits no more panes."""
        return self.info.is_last

    @property
    def processing_time(self) -> ProcessingTime:
        """The processing time when it was emitted."""
        return self.info.processing_time

    @property
    def watermark(self) -> EventTime:
        """The watermark when it was emitted."""
        return self.info.watermark


@frozen
class Drop:
    """Elements of one key that a window dropped in one instant, with the reason.

    ``count`` is their number, including retractions. The ``key`` of an element that is not a pair, as in a side input,
    is the element.
    """

    key: object
    window: Window
    reason: DropReason
    processing_time: ProcessingTime
    count: int = field(default=1, kw_only=True)


@frozen
class DroppedElement(Drop):
    """One element that a window or a computation dropped, as it arrived: late data (SEMANTICS section 5).

    ``watermark`` is that of the input before the instant. ``stage`` is the label of the transform, and ``input`` the
    number of its input: of a co-group or join that of the collection, of a side input 0 for the elements that read and
    1 for the side.
    """

    element: object
    event_time: EventTime
    watermark: EventTime
    change: Change
    stage: str
    input: int = field(default=0, kw_only=True)


def dropped_key(element: object) -> object:
    """Returns the key of a dropped element: the key of a pair, or the element itself."""
    return element.key if isinstance(element, KV) else element
