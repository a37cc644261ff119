"""Which panes are current: what the panes of a run come to in the end, once retractions are taken into account.

The one definition of ``final_values``. What panes leave current is a monoid, so the panes of a key and window can be
divided into batches: a sink keeps the current row, or no row, and need not remember which indices were retracted, since
later panes of a window have greater indices (SEMANTICS section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError, format_value
from flowalg.data.kv import KV
from flowalg.data.time import EventTime
from flowalg.data.values import sort_key
from flowalg.runs.panes import Change, Pane
from flowalg.windows.window import Window

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")
P = TypeVar("P", bound=Hashable)


@frozen
class WindowedValue(Generic[A_co]):
    """A final value: the element, its window, and its event time. On a keyed pipeline the element is a pair."""

    element: A_co
    window: Window
    event_time: EventTime

    @property
    def key(self: WindowedValue[KV[K, V]]) -> K:
        """The key, on a keyed pipeline."""
        return self.element.key

    @property
    def value(self: WindowedValue[KV[K, V]]) -> V:
        """The value, on a keyed pipeline."""
        return self.element.value


@frozen
class Current(Generic[A_co]):
    """What some panes of one key and window leave current.

    ``index`` is their greatest index and ``retracted`` the greatest index of a retraction (-1 if there is none).
    ``latest`` are the panes of the greatest index that give a value: several, where a step after the grouping makes
    several elements of one pane.

    Law: ``merge`` is associative, and commutative but for the order of ``latest``.
    """

    index: int
    retracted: int
    latest: tuple[Pane[A_co], ...]

    @classmethod
    def of(cls, pane: Pane[A]) -> Current[A]:
        """Returns what one pane leaves current."""
        if pane.change is Change.RETRACTION:
            return Current(pane.index, pane.index, ())
        return Current(pane.index, -1, (pane,))

    def merge(self: Current[A], other: Current[A]) -> Current[A]:
        """Returns what the panes of both leave current."""
        index = max(self.index, other.index)
        latest = tuple(pane for part in (self, other) if part.index == index for pane in part.latest)
        return Current(index, max(self.retracted, other.retracted), latest)

    @property
    def panes(self) -> tuple[Pane[A_co], ...]:
        """The current panes: none if the last one was retracted."""
        return self.latest if self.retracted < self.index else ()


def current_by(panes: Iterable[Pane[A]], place: Callable[[Pane[A]], P]) -> dict[P, Current[A]]:
    """Returns what panes leave current at each place, a key and window, in the order in which places first occur."""
    by_place: dict[P, Current[A]] = {}
    for pane in panes:
        at, current = place(pane), Current.of(pane)
        before = by_place.get(at)
        by_place[at] = current if before is None else before.merge(current)
    return by_place


def final_values(
    panes: Iterable[Pane[A]], *, by: Callable[[A], Hashable] | None = None
) -> tuple[WindowedValue[A], ...]:
    """Returns the latest value of each key and window that is not retracted, by window, key, value and event time.

    Under ACCUMULATING that is the last pane, under RETRACTING the pane that was not retracted (so a session that has
    become part of a larger one is gone), and under DISCARDING only what came last. If a step after the last grouping
    makes several elements of one pane, all of them are final values.

    Pairs are identified within their window by their key. For other elements ``by`` returns what identifies them:
    ``by=lambda score: score.team``, or ``by=lambda score: None`` if each window has one value. Raises
    ``ArgumentError`` for elements that are not pairs if ``by`` is missing.

    Example:

    >>> timeline = Timeline[Score]().at(noon(1), RECORDS[0], watermark=noon(1)).at(noon(2), RECORDS[1], RECORDS[2])
    >>> totals = points.window(FixedWindows(MINUTE)).combine_per_key(Sum())
    >>> for final in final_values(reference.run(totals, {scores: timeline.end(noon(9))}).panes):
    ...     print(final.window, final.key, final.value)
    [2024-01-01T12:00:00Z, 2024-01-01T12:01:00Z) red 5
    [2024-01-01T12:01:00Z, 2024-01-01T12:02:00Z) blue 7
    [2024-01-01T12:03:00Z, 2024-01-01T12:04:00Z) red 3
    """

    def key(element: A) -> Hashable:
        if by is not None:
            return by(element)
        if isinstance(element, KV):
            pair_key: Hashable = element.key
            return pair_key
        raise ArgumentError(
            "by",
            by,
            "a function that identifies an element within its window, such as lambda s: s.team, or lambda value: None "
            "if each window has one value",
            why=f"{format_value(element)} is not a pair",
        )

    if by is not None and not callable(by):
        raise ArgumentError("by", by, "a function of an element, such as lambda s: s.team")
    all_panes = list(panes) if isinstance(panes, Iterable) else None
    if all_panes is None or not all(isinstance(pane, Pane) for pane in all_panes[:1]):
        valid = "the panes of a run; flowalg_spark.final_values takes a DataFrame"
        raise ArgumentError("panes", panes, valid)
    by_place = current_by(all_panes, lambda pane: (pane.window, key(pane.element)))
    ordered = sorted(by_place.items(), key=lambda item: (item[0][0], sort_key(item[0][1])))
    return tuple(
        WindowedValue(pane.element, pane.window, pane.event_time)
        for _, current in ordered
        for pane in sorted(current.panes, key=lambda pane: (sort_key(pane.element), pane.event_time))
    )
