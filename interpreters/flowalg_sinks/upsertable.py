"""Validation of upsert pipelines: the latest pane of each key and window must be its current value."""

from __future__ import annotations

from flowalg.data.errors import UnsupportedError
from flowalg.elementwise.functions import OnValue
from flowalg.elementwise.steps import Filter, FlatMap, Map
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.graph import Fold, fold
from flowalg.pipeline.nodes import GroupingNode, Node, WithMetadata, WithSide
from flowalg.pipeline.structure import (
    element_inputs,
    last_groupings,
    nodes_after_groupings,
    steps_after_groupings,
)
from flowalg.windows.strategy import Accumulation, emits_one_pane
from flowalg.windows.window_functions import as_merging


def require_upsertable(node: Node) -> None:
    """Raises ``UnsupportedError`` unless the latest pane of each key and window is its current value.

    A single grouping must emit the panes of a key and window. If it can emit several, the last one must contain
    everything, and panes that are no longer current must be retracted.
    """
    node = resolve_accumulation(node)
    groupings = list(last_groupings(node))
    if not groupings:
        raise UnsupportedError(
            "upsert: the pipeline groups nothing, so no element replaces another; use changelog(...), or end the "
            "pipeline with combine_per_key(...)"
        )
    if len(groupings) > 1:
        labels = ", ".join(grouping.label for grouping in groupings)
        raise UnsupportedError(
            f"upsert: one grouping must emit all panes; got {labels}: a key and window would have several latest "
            "values; write each collection to its own table, or use changelog(...)"
        )
    (grouping,) = groupings
    if _times_emitted(node) > 1:
        raise UnsupportedError(
            f"upsert: flatten(...) emits the panes of {grouping.label} several times: a key and window would have "
            "several latest values; write each collection to its own table, or use changelog(...)"
        )
    strategy = grouping.windowed_by.strategy
    if emits_one_pane(strategy) or strategy.mode is Accumulation.RETRACTING:
        return
    if strategy.mode is Accumulation.DISCARDING:
        why = (
            "is DISCARDING, and a window can have several panes: the last one contains only the last elements"
        )
        remedy = "make it ACCUMULATING, or RETRACTING"
    elif grouping.receives_retractions:
        why = "is ACCUMULATING, and its values can be retracted: the last pane of a window without values would remain"
        remedy = "leave accumulation unset, or make it RETRACTING"
    elif as_merging(strategy.windows) is not None:
        why = "is ACCUMULATING, and its windows merge: panes that were emitted before a merge would remain"
        remedy = "make it RETRACTING"
    elif any(isinstance(step, Filter | FlatMap) for step in steps_after_groupings(node)):
        why = (
            "is ACCUMULATING, and a filter(...) or flat_map(...) follows it: if that drops a pane, the previous pane "
            "would remain"
        )
        remedy = "make it RETRACTING"
    else:
        return
    raise UnsupportedError(f"upsert: {grouping.label} {why}; {remedy}, or use changelog(...)")


def _times_emitted(root: Node) -> int:
    """Returns the number of paths from the last groupings to the root: how often each pane is emitted."""

    def count_paths(node: Node, paths: Fold[Node, int]) -> int:
        return 1 if isinstance(node, GroupingNode) else sum(map(paths, element_inputs(node)))

    return fold(root, count_paths)


def preserves_keys(node: Node) -> bool:
    """Returns whether all elements have the key of the grouping that emitted their pane. Sufficient, not necessary."""
    return all(
        isinstance(step, Filter) or (isinstance(step, Map) and isinstance(step.function, OnValue))
        for step in steps_after_groupings(node)
    ) and not _pairs_elements(node)


def _pairs_elements(node: Node) -> bool:
    """Returns whether elements are paired with side values or metadata after the last grouping."""
    return any(isinstance(following, WithSide | WithMetadata) for following in nodes_after_groupings(node))
