"""The order of panes (SEMANTICS section 7), which Spark does not preserve, derived from the panes themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from flowalg.data.kv import KV
from flowalg.data.values import sort_key
from flowalg.runs.panes import Change, Pane

A = TypeVar("A")


def sort_panes(panes: Sequence[Pane[A]]) -> Iterator[Pane[A]]:
    """Yields panes sorted by instant, window and key, with each retraction before its replacement."""
    instants = sorted(panes, key=_instant)
    for _, group in groupby(instants, key=_instant):
        yield from _sort_instant(list(group))


def _instant(pane: Pane[object]) -> tuple[int, int]:
    return pane.processing_time, pane.watermark


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

    return sorted(panes, key=lambda pane: (*order(pane), sort_key(pane.element)))


def _identity(pane: Pane[object]) -> tuple[object, ...]:
    return (pane.window, pane.index, sort_key(pane.element))


def _key(element: object) -> tuple[object, ...]:
    return sort_key(element.key) if isinstance(element, KV) else ()


__all__ = ["sort_panes"]
