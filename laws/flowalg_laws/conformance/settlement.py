"""What a stream comes to in the end: the theorem of SEMANTICS section 11, for any pipeline and any interpreter.

Where the input ends, nothing was dropped, and no merging window closed or expired, what stands is the batch result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from flowalg import FOREVER, KV, Accumulation, Change, Pane, PCollection, Window
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, Node
from flowalg.pipeline.structure import last_grouping
from flowalg.triggers.syntax import Repeat, SequenceOf, Trigger
from flowalg.windows.window_functions import as_merging
from flowalg_laws.conformance.drawing import shown

Bag: TypeAlias = Mapping[tuple[str, Window], int]
"""Elements as text with their windows, and how many there are of each."""


def settles(pipeline: PCollection[object]) -> bool:
    """Whether a run that ends and drops nothing comes to the batch result, whatever its timeline."""
    last = last_grouping(pipeline.node)
    return all(_settles(one, last) for one in nodes_of(pipeline.node) if isinstance(one, GroupingNode))


def _settles(node: GroupingNode, last: Node) -> bool:
    strategy = node.windowed_by.strategy
    if as_merging(strategy.windows) and (
        strategy.allowed_lateness not in (None, FOREVER) or not _goes_on(strategy.trigger)
    ):
        return False
    mode = strategy.accumulation
    return mode is Accumulation.RETRACTING or (node == last and mode is Accumulation.ACCUMULATING)


def _goes_on(trigger: Trigger) -> bool:
    """Whether a trigger never finishes."""
    match trigger:
        case Repeat():
            return True
        case SequenceOf(triggers=members):
            return any(map(_goes_on, members))
        case _:
            return False


def bag(elements: Iterable[tuple[object, Window]]) -> Bag:
    """Elements with their windows, as a bag."""
    return Counter((shown(element), window) for element, window in elements)


def standing(pipeline: PCollection[object], panes: Iterable[Pane[object]], batch: Bag) -> Bag | None:
    """What stands after all panes, in the windows of a batch result; ``None`` where panes do not tell."""
    known = list(panes)
    mode = last_grouping(pipeline.node).windowed_by.strategy.accumulation
    if mode is Accumulation.RETRACTING:
        total: Counter[tuple[str, Window]] = Counter()
        for pane in known:
            total[(shown(pane.element), pane.window)] += 1 if pane.change is Change.VALUE else -1
        return Counter({place: n for place, n in total.items() if n})
    if not all(isinstance(pane.element, KV) for pane in known):
        return None
    last: dict[tuple[str, Window], tuple[tuple[int, int], list[Pane[object]]]] = {}
    for pane in known:
        assert isinstance(pane.element, KV)
        place, rank = (shown(pane.element.key), pane.window), (pane.processing_time, pane.index)
        if _holds(batch, place):
            before, some = last.get(place, (rank, []))
            last[place] = (rank, [*some, pane] if rank == before else [pane])
    return bag((pane.element, pane.window) for _, some in last.values() for pane in some)


def _holds(batch: Bag, place: tuple[str, Window]) -> bool:
    """Whether a batch result has something of a key and window; those of sessions that have grown it has not."""
    key, window = place
    return any(one == window and text.startswith(f"{key}=") for text, one in batch)


__all__ = ["Bag", "bag", "settles", "standing"]
