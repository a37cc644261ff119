"""What an output of a pipeline gives: the panes of a grouping, or elements where nothing has grouped them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import groupby
from typing import Generic, TypeVar

from attrs import field, frozen

from flowalg.data.errors import UnsupportedError
from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.data.values import total_sort_key
from flowalg.data.views import HasView
from flowalg.runs.current import WindowedValue, final_values
from flowalg.runs.panes import Change, Pane

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


@frozen
class OutputElement(HasView, Generic[A_co]):
    """An element that no grouping emitted, in the output of a pipeline (SEMANTICS section 14).

    On a keyed collection ``key`` and ``value`` are the parts of ``element``. ``processing_time`` is that of the instant
    in which the element arrived, or in which it had its side input.
    """

    element: A_co
    event_time: EventTime
    processing_time: ProcessingTime

    @property
    def key(self: OutputElement[KV[K, V]]) -> K:
        """The key, on a keyed collection."""
        return self.element.key

    @property
    def value(self: OutputElement[KV[K, V]]) -> V:
        """The value, on a keyed collection."""
        return self.element.value


def sort_elements(elements: Iterable[OutputElement[A]]) -> tuple[OutputElement[A], ...]:
    """Returns elements by processing time, then event time, then value, independent of their order of arrival."""

    def key(element: OutputElement[A]) -> tuple[object, ...]:
        return (element.processing_time, element.event_time, total_sort_key(element.element))

    return tuple(sorted(elements, key=key))


def sort_panes(panes: Iterable[Pane[A]]) -> tuple[Pane[A], ...]:
    """Returns panes in the order of SEMANTICS section 7, independent of the order of the rows that they come from.

    They are sorted by instant, window and key, with each retraction before its replacement, then by event time and
    value.
    """
    instants = groupby(sorted(panes, key=_instant), key=_instant)
    return tuple(pane for _, group in instants for pane in _sort_instant(list(group)))


def _instant(pane: Pane[object]) -> tuple[int, int]:
    return pane.processing_time, pane.watermark


def _key(element: object) -> tuple[object, ...]:
    return total_sort_key(element.key) if isinstance(element, KV) else ()


def _identity(pane: Pane[object]) -> tuple[object, ...]:
    return (pane.window, pane.index, total_sort_key(pane.element))


def _sort_instant(panes: list[Pane[A]]) -> list[Pane[A]]:
    """Sorts the panes of one instant. A retraction is sorted with the first window that contains its own."""
    value_windows = sorted({pane.window for pane in panes if pane.change is Change.VALUE})
    emitted = {_identity(pane) for pane in panes if pane.change is Change.VALUE}

    def order(pane: Pane[A]) -> tuple[object, ...]:
        window, key = pane.window, _key(pane.element)
        if pane.change is Change.VALUE:
            return (window, key, True, 2 * pane.index)
        containing = (
            other for other in value_windows if other.start <= window.start and window.end <= other.end
        )
        merged = next(containing, window)
        # A retraction of a pane of the same instant follows that pane; all other retractions come first.
        if _identity(pane) in emitted:
            return (merged, key, True, 2 * pane.index + 1)
        return (merged, key, False, pane.index)

    return sorted(panes, key=lambda pane: (*order(pane), pane.event_time, total_sort_key(pane.element)))


@frozen
class Output(HasView, Generic[A_co]):
    """An output of a pipeline: panes if a grouping emits it, otherwise elements.

    ``panes`` are in the order of SEMANTICS section 7: instant by instant, then by window and key. ``elements`` are
    ordered by processing time, event time and value.
    """

    panes: tuple[Pane[A_co], ...]
    elements: tuple[OutputElement[A_co], ...] = field(default=(), kw_only=True)

    def final_values(
        self, *, by: Callable[[A_co], Hashable] | None = None
    ) -> tuple[WindowedValue[A_co], ...]:
        """Returns the latest value of each key and window that is not retracted; see ``flowalg.final_values``.

        Interpreters agree on them: a batch and a stream that has ended and dropped nothing have equal final values
        (SEMANTICS section 11), under ACCUMULATING and RETRACTING. Raises ``UnsupportedError`` for elements that nothing
        has grouped, since none of them replaces another.
        """
        if self.elements:
            raise UnsupportedError(
                "final_values: the pipeline groups nothing, so its output is elements, which replace nothing; read "
                "run.elements, or end the pipeline with combine_per_key(...)"
            )
        return final_values(self.panes, by=by)


def joined(parts: Iterable[Output[A]]) -> Output[A]:
    """Returns what an output gives in successive parts of a run, as one output."""
    outputs = tuple(parts)
    return Output(
        tuple(pane for part in outputs for pane in part.panes),
        elements=sort_elements(element for part in outputs for element in part.elements),
    )
