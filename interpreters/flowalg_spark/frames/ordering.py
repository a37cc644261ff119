"""The order of panes that come back from Spark, which keeps none: SEMANTICS section 7, as far as panes tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from flowalg.data.kv import KV
from flowalg.data.values import sort_key
from flowalg.runs.panes import Change, Pane

A = TypeVar("A")


def sort_panes(panes: Sequence[Pane[A]]) -> Iterator[Pane[A]]:
    """The panes instant by instant; in each by window and key, and what a pane takes the place of before it."""
    instants = sorted(panes, key=_instant)
    for _, together in groupby(instants, key=_instant):
        yield from _of_instant(list(together))


def _instant(pane: Pane[object]) -> tuple[int, int]:
    return pane.processing_time, pane.watermark


def _of_instant(panes: list[Pane[A]]) -> list[Pane[A]]:
    """One instant's panes in order: a retraction is among those of the first window that has its own inside."""
    values = sorted({one.window for one in panes if one.change is Change.VALUE})
    new = {_which(one) for one in panes if one.change is Change.VALUE}

    def order(pane: Pane[A]) -> tuple[object, ...]:
        window, key = pane.window, _key(pane.element)
        if pane.change is Change.VALUE:
            return (window, key, True, 2 * pane.index)
        around = (one for one in values if one.start <= window.start and window.end <= one.end)
        turn = next(around, window)
        # What is taken back in the instant that it was emitted in follows it; everything else goes first.
        return (
            (turn, key, True, 2 * pane.index + 1) if _which(pane) in new else (turn, key, False, pane.index)
        )

    return sorted(panes, key=lambda pane: (*order(pane), sort_key(pane.element)))


def _which(pane: Pane[object]) -> tuple[object, ...]:
    return (pane.window, pane.index, sort_key(pane.element))


def _key(element: object) -> tuple[object, ...]:
    return sort_key(element.key) if isinstance(element, KV) else ()


__all__ = ["sort_panes"]
