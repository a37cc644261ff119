"""Which pipelines a table of latest values can follow, and which would leave numbers in it that are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import get_args

from flowalg.data.errors import UnsupportedError
from flowalg.elementwise.functions import OnValue
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step
from flowalg.pipeline.graph import Fold, fold
from flowalg.pipeline.nodes import ElementWise, GroupingNode, Node, WithSide
from flowalg.pipeline.structure import element_inputs, last_groupings, nodes_after_groupings
from flowalg.triggers.normal_form import normalise
from flowalg.triggers.syntax import AtWatermark, OnceTrigger, Repeat
from flowalg.windows.strategy import Accumulation, OnTimeBehavior, WindowingStrategy
from flowalg.windows.window_functions import as_merging


def require_upsertable(node: Node) -> None:
    """Raises ``UnsupportedError`` where the latest value of a key and window is not what holds for it.

    A key and window has one sequence of panes, so one grouping must make them. If there can be several of them, the
    last must hold everything, and whatever no longer holds must be taken back.
    """
    groupings = list(last_groupings(node))
    if not groupings:
        raise UnsupportedError(
            "the pipeline groups nothing, so it has no panes; end it with combine_per_key(...)"
        )
    if len(groupings) > 1:
        labels = ", ".join(one.label for one in groupings)
        raise UnsupportedError(
            f"upsert: several groupings make the panes ({labels}), so that a key and window has several latest "
            "values; write each to a table of its own, or use changelog(...)"
        )
    (grouping,) = groupings
    if _times_emitted(node) > 1:
        raise UnsupportedError(
            f"upsert: flatten(...) repeats the panes of {grouping.label}, so that a key and window has several latest "
            "values; write each collection to a table of its own, or use changelog(...)"
        )
    strategy = grouping.windowed_by.strategy
    if gives_one_pane(strategy) or strategy.accumulation is Accumulation.RETRACTING:
        return
    if strategy.accumulation is Accumulation.DISCARDING:
        why = "is DISCARDING, and its windows can have several panes: the last one holds only what came last"
        remedy = "make it ACCUMULATING, or RETRACTING"
    elif as_merging(strategy.windows) is not None:
        why = "is ACCUMULATING, and its windows can have panes before they merge: those would stand beside the whole"
        remedy = "make it RETRACTING"
    elif any(isinstance(step, Filter | FlatMap) for step in steps_after(node)):
        why = (
            "is ACCUMULATING, and a filter(...) or flat_map(...) follows it: of a pane that it leaves out, the one "
            "before would stay"
        )
        remedy = "make it RETRACTING"
    else:
        return
    raise UnsupportedError(f"upsert: {grouping.label} {why}; {remedy}, or use changelog(...)")


def _times_emitted(root: Node) -> int:
    """The number of ways from the last groupings to the root: how many times each of their panes is emitted."""

    def ways(node: Node, known: Fold[Node, int]) -> int:
        return 1 if isinstance(node, GroupingNode) else sum(map(known, element_inputs(node)))

    return fold(root, ways)


def gives_one_pane(strategy: WindowingStrategy) -> bool:
    """Whether a window surely has no more than one pane: a sufficient condition, not a necessary one.

    Its trigger finishes when it first fires, which closes the window; or the watermark alone fires it, and with that
    frees it.
    """
    trigger = normalise(strategy.trigger)
    if isinstance(trigger, get_args(OnceTrigger)):
        return strategy.on_time_behavior is OnTimeBehavior.IF_CHANGED
    return trigger == Repeat(AtWatermark()) and strategy.allowed_lateness == timedelta(0)


def keeps_keys(node: Node) -> bool:
    """Whether the key of an element is surely that of the grouping that made its pane."""
    return all(
        isinstance(step, Filter) or (isinstance(step, Map) and isinstance(step.function, OnValue))
        for step in steps_after(node)
    ) and not _reads_sides(node)


def steps_after(node: Node) -> Iterator[Step]:
    """Yields the steps that follow the last grouping."""
    for after in nodes_after_groupings(node):
        if isinstance(after, ElementWise):
            yield from after.steps


def _reads_sides(node: Node) -> bool:
    """Whether a side input is read after the last grouping: elements are then pairs with what they read."""
    return any(isinstance(after, WithSide) for after in nodes_after_groupings(node))


__all__ = ["gives_one_pane", "keeps_keys", "require_upsertable", "steps_after"]
