"""Panes: what a grouping emits, and drops: what it refuses (SEMANTICS sections 5 and 7; DM section 2.3)."""

from __future__ import annotations

from enum import Enum, unique
from typing import Generic, TypeVar

from attrs import field, frozen

from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.windows.window import Window

A_co = TypeVar("A_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


@unique
class Change(Enum):
    """What a pane does to what was said before."""

    VALUE = "value"
    RETRACTION = "retraction"


@unique
class Timing(Enum):
    """When a pane came, relative to the watermark's passing the end of its window."""

    EARLY = "early"
    ON_TIME = "on_time"
    LATE = "late"


@unique
class DropReason(Enum):
    """Why an element was not taken into a window."""

    EXPIRED = "expired"
    """The window's end plus the allowed lateness was behind the watermark already."""

    CLOSED = "closed"
    """The window's trigger had finished already."""


@frozen
class PaneInfo:
    """What a pane says about itself, beside its value.

    ``index`` counts the panes of a window from 0. ``is_last`` says that the window can emit nothing more.
    ``processing_time`` and ``watermark`` are what the clocks read.
    """

    change: Change
    timing: Timing
    index: int
    is_first: bool
    is_last: bool
    processing_time: ProcessingTime
    watermark: EventTime


@frozen
class Pane(Generic[A_co]):
    """One emission of a grouping (through the element-wise steps after it).

    ``element`` is what a next transform would see; on a keyed pipeline ``key`` and ``value`` are its parts.
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
        """Whether the pane gives a value or takes one back."""
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
        """Whether it is its window's first pane."""
        return self.info.is_first

    @property
    def is_last(self) -> bool:
        """Whether its window can emit nothing more."""
        return self.info.is_last

    @property
    def processing_time(self) -> ProcessingTime:
        """When it was emitted."""
        return self.info.processing_time

    @property
    def watermark(self) -> EventTime:
        """The watermark when it was emitted."""
        return self.info.watermark


@frozen
class Drop:
    """Elements of one key that a window did not take in one instant, with the reason.

    ``count`` is how many there were, retractions included. An element that is not a pair, as those of a side input may
    be, is its own ``key``.
    """

    key: object
    window: Window
    reason: DropReason
    processing_time: ProcessingTime
    count: int = field(default=1, kw_only=True)


def dropped_key(element: object) -> object:
    """The key that an element is dropped under: that of a pair; an element that is not a pair is its own key."""
    return element.key if isinstance(element, KV) else element


__all__ = ["Change", "Drop", "DropReason", "Pane", "PaneInfo", "Timing", "dropped_key"]
