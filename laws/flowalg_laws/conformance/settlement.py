"""The final result of a stream: the theorem of SEMANTICS section 11, for any pipeline and any interpreter.

If the input ends, nothing was dropped, and no merging window closed or expired, the current panes are the batch result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from flowalg import FOREVER, KV, Accumulation, EventTime, Pane, PCollection, Window
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, Node, Process
from flowalg.pipeline.structure import last_grouping, last_groupings, sources_of
from flowalg.runs import Change
from flowalg.runs.current import current_by
from flowalg.triggers.normal_form import never_finishes
from flowalg.windows.strategy import emits_one_pane
from flowalg.windows.window_functions import as_merging
from flowalg_laws.conformance.drawing import format_element

Place: TypeAlias = Window | EventTime
"""Where an element is in event time: in the window of its pane, or at its own time if nothing has grouped it."""

Bag: TypeAlias = Mapping[tuple[str, Place], int]
"""Elements as text with their places, and their counts."""


def reaches_batch_result(pipeline: PCollection[object]) -> bool:
    """Returns whether every run that ends without drops has the batch result as its final result, for all timelines.

    A result that depends on panes does not: in a batch, all panes are on time. Nor does that of a computation that
    observes elements as they arrive, or one of ingress times, since all elements of a batch arrive together.
    """
    root = resolve_accumulation(pipeline.node)
    nodes = tuple(nodes_of(root))
    if any(node.shows_panes or (isinstance(node, Process) and not node.in_order) for node in nodes):
        return False
    if any(source.event_time is None for source in sources_of(root)):
        return False
    last = next(iter(last_groupings(root)), None)
    return all(_reaches_batch_result(node, last) for node in nodes if isinstance(node, GroupingNode))


def _reaches_batch_result(node: GroupingNode, last: Node | None) -> bool:
    strategy = node.windowed_by.strategy
    if as_merging(strategy.windows) and (
        strategy.allowed_lateness not in (None, FOREVER) or not never_finishes(strategy.trigger)
    ):
        return False
    if node == last:
        return strategy.mode is not Accumulation.DISCARDING
    return strategy.mode is Accumulation.RETRACTING or emits_one_pane(strategy)


def bag(elements: Iterable[tuple[object, Place]]) -> Bag:
    """Returns elements with their places as a bag."""
    return Counter((format_element(element), place) for element, place in elements)


def final_elements(pipeline: PCollection[object], panes: Iterable[Pane[object]], batch: Bag) -> Bag | None:
    """Returns the current elements after all panes, in the windows of a batch; ``None`` if they are unknown."""
    all_panes = list(panes)
    mode = last_grouping(resolve_accumulation(pipeline.node)).windowed_by.strategy.mode
    if mode is Accumulation.RETRACTING:
        total: Counter[tuple[str, Place]] = Counter()
        for pane in all_panes:
            total[(format_element(pane.element), pane.window)] += 1 if pane.change is Change.VALUE else -1
        return Counter({place: n for place, n in total.items() if n})
    if not all(isinstance(pane.element, KV) for pane in all_panes):
        return None

    def place(pane: Pane[object]) -> tuple[str, Window]:
        assert isinstance(pane.element, KV)
        return format_element(pane.element.key), pane.window

    current = current_by(all_panes, place)
    return bag(
        (pane.element, pane.window)
        for at, panes in current.items()
        if _contains(batch, at)
        for pane in panes.panes
    )


def _contains(batch: Bag, place: tuple[str, Window]) -> bool:
    """Returns whether a batch result contains a key and window; it does not contain sessions that have grown since."""
    key, window = place
    return any(other == window and text.startswith(f"{key}=") for text, other in batch)
