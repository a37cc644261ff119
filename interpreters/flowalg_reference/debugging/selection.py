"""The elements that an explanation depends on: those of some keys, in some windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from attrs import frozen

from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, EventTime
from flowalg.data.values import has_float
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    GroupingNode,
    Node,
    Process,
    SourceNode,
    WithSide,
)
from flowalg.pipeline.structure import sources_of
from flowalg.runs.elements import Element
from flowalg.windows.window import Window, clamp
from flowalg.windows.window_functions import FixedWindows, SlidingWindows, as_merging


class NotSeparableError(Exception):
    """The explanation depends on elements that were not selected, so it needs a replay of the whole run."""


@frozen
class Selection:
    """Elements by key and by event time; ``None`` selects all keys, or all event times.

    A replay of the selected elements evaluates the windows of a selected key as a replay of all elements does, if

    - the pipeline has one grouping, no computation and no side input, so that the input clocks of the grouping are
      those of the sources, which the selection leaves as they are (``separable_grouping``);
    - all elements of these windows are selected. With merging windows these are all elements of the key, otherwise
      those whose event time is in the window;
    - no window is ready again as soon as it has fired, and no part of the trigger depends on every instant (a
      percentile watermark, a user-defined trigger that depends on the clocks), if the trigger has deadlines and the
      engine is continuous. Such a window is evaluated in every instant, and a deadline of any key is an instant
      (SEMANTICS section 4). The replay raises ``NotSeparableError`` when it finds one.
    """

    keys: frozenset[object] | None = None
    spans: tuple[Window, ...] | None = None

    def selects_key(self, key: object) -> bool:
        """Returns whether elements with this key are selected; so are those with a key that the grouping rejects."""
        try:
            return self.keys is None or key in self.keys or has_float(key)
        except TypeError:  # the key is not hashable
            return True

    def selects_time(self, point: EventTime) -> bool:
        """Returns whether elements with this event time are selected."""
        return self.spans is None or any(point in span for span in self.spans)

    def selects(self, element: Element) -> bool:
        """Returns whether an element that reaches the grouping is selected; it is if it has no key, which is an error
        there.
        """
        if not isinstance(element.value, KV):
            return True
        return self.selects_time(element.event_time) and self.selects_key(element.value.key)


def separable_grouping(root: Node) -> GroupingNode | None:
    """Returns the only grouping of a pipeline, if its windows can be replayed one key at a time.

    Its input must be computed from the sources by element-wise steps and flattening alone, and its panes must not be
    flattened with elements that it has not emitted.
    """
    nodes = tuple(nodes_of(root))
    groupings = [node for node in nodes if isinstance(node, CombinePerKey | CoGroupByKey)]
    if len(groupings) != 1 or any(isinstance(node, Process | WithSide) for node in nodes):
        return None
    (grouping,) = groupings
    after = tuple(nodes_of(root, inputs=lambda node: () if node is grouping else node.inputs))
    if any(isinstance(node, SourceNode) for node in after) or len(sources_of(root)) != len(
        sources_of(grouping)
    ):
        return None
    return grouping if grouping.windowed_by.fresh else None


def require_separable(root: Node) -> GroupingNode:
    """Returns the grouping that ``separable_grouping`` returns; raises ``NotSeparableError`` if there is none."""
    grouping = separable_grouping(root)
    if grouping is None:
        raise NotSeparableError
    return grouping


def select_panes(grouping: GroupingNode, window: Window, key: object) -> Selection:
    """Selects the elements that affect the panes of a window of a key."""
    return Selection(frozenset([key]), None if _merges(grouping) else (window,))


def select_all_panes(
    grouping: GroupingNode, window: Window, keys: Callable[[], Iterable[object]]
) -> Selection:
    """Selects the elements that affect the panes of a window; ``keys`` returns those of the elements in it."""
    return Selection(frozenset(keys())) if _merges(grouping) else Selection(None, (window,))


def _merges(grouping: GroupingNode) -> bool:
    return as_merging(grouping.windowed_by.strategy.windows) is not None


def select_state(grouping: GroupingNode, window: Window, key: object, watermark: EventTime) -> Selection:
    """Selects the elements that affect a window of a key, or any window of the key that is open at a watermark."""
    strategy = grouping.windowed_by.strategy
    windows, lateness = strategy.windows, strategy.lateness_micros
    if lateness is None or not isinstance(windows, FixedWindows | SlidingWindows):
        return Selection(frozenset([key]))
    earliest = clamp(watermark - lateness - windows.size // timedelta(microseconds=1))
    return Selection(frozenset([key]), (window, Window(earliest, MAX_TIME)))
