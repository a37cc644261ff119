"""What a once-trigger without parts is: what it keeps of the changes of its window, when it is ready, and its words."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from attrs import frozen

from flowalg.data.time import EventTime, Micros, ProcessingTime

Kept = TypeVar("Kept")


class ClockReadings(Protocol):
    """What the clocks read in an instant."""

    @property
    def processing_time(self) -> ProcessingTime:
        """The processing time."""
        ...

    @property
    def watermark(self) -> EventTime:
        """The watermark."""
        ...

    def percentile(self, q: float | None) -> EventTime:
        """Returns the percentile watermark, which is never behind the watermark; ``None`` selects the watermark."""
        ...


@frozen
class Seen(Generic[Kept]):
    """What a leaf has observed since it was set: ``count`` changes, their arrivals, signals, and what it has kept.

    ``first`` and ``last`` are the processing times of the first and the last arrival, ``None`` before there is one.
    ``kept`` is ``None`` if there is nothing that the leaf keeps.
    """

    count: int = 0
    first: ProcessingTime | None = None
    last: ProcessingTime | None = None
    signals: frozenset[str] = frozenset()
    kept: Kept | None = None


class Leaf(Generic[Kept]):
    """A once-trigger without parts: a small algebra over the changes that its window has observed.

    What it keeps of some changes is the merger of what it keeps of each: a commutative monoid, of which ``None`` is the
    unit. Whether it is ready is a function of that, of their number and arrivals, of signals, and of the clocks
    (SEMANTICS section 6). An interpreter can call these methods, as the reference does, or compile the leaf.
    """

    __slots__ = ()

    def keep(self, value: object, weight: int) -> Kept | None:
        """Returns what it keeps of one change: of a value, or with weight -1 of the retraction of a value."""
        return None

    def merge_kept(self, left: Kept, right: Kept) -> Kept:
        """Returns what it keeps of the changes of both. Law: associative and commutative."""
        raise NotImplementedError

    def settle(self, kept: Kept) -> Kept:
        """Returns what it keeps after the changes of an instant, of which it keeps some, have been merged."""
        return kept

    def is_ready(self, seen: Seen[Kept], clocks: ClockReadings, end: EventTime) -> bool:
        """Returns whether it is ready in a window that ends at ``end``: here, whether its deadline has been reached."""
        deadline = self.deadline(seen)
        return deadline is not None and clocks.processing_time >= deadline

    def deadline(self, seen: Seen[Kept]) -> ProcessingTime | None:
        """Returns the processing time before which it is not ready without another change, if there is one."""
        return None

    @property
    def longest_wait(self) -> Micros | None:
        """The longest time from a change to a deadline; ``None`` if it never has a deadline."""
        return None

    @property
    def follows_clock(self) -> bool:
        """Whether it may become ready by processing time alone."""
        return self.longest_wait is not None

    @property
    def is_restless(self) -> bool:
        """Whether it may become ready in any instant, without a change, a deadline, or the end of the window."""
        return False

    def implies(self, other: object) -> bool:
        """Returns whether ``other``, of the same class, is ready whenever this is: a partial order, which ignores
        functions.
        """
        return self == other

    @property
    def condition(self) -> str:
        """When it is ready, as a clause: ``3 elements have arrived``."""
        raise NotImplementedError

    @property
    def when(self) -> str:
        """When it fires."""
        return f"when {self.condition}"

    def whenever(self, late: str) -> str:
        """When it fires if it is repeated; ``late`` is an adjective for elements, or empty."""
        return f"whenever {self.condition}"

    def progress(self, seen: Seen[Kept], clocks: ClockReadings, end: EventTime) -> str:
        """Returns how far it is from being ready."""
        raise NotImplementedError
