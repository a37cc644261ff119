"""The accumulation mode of groupings for which it is unset (SEMANTICS section 19)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import get_args

from attrs import evolve

from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, Node, WithSide
from flowalg.pipeline.structure import last_groupings, rebuild
from flowalg.triggers.normal_form import normalise
from flowalg.triggers.syntax import AtWatermark, OnceTrigger, Repeat
from flowalg.windows.strategy import Accumulation, OnTimeBehavior, WindowingStrategy


def resolve_accumulation(root: Node) -> Node:
    """Returns the pipeline with the accumulation mode of each grouping determined.

    An unset mode is RETRACTING if another grouping or a side input reads the panes, and a window can emit more than
    one (Dataflow Model, section 2.3: the panes that serial groupings need). Otherwise it is ACCUMULATING.
    """
    read = {id(grouping) for grouping in groupings_read(root)}

    def resolved(node: Node, original: Node) -> Node:
        if not isinstance(node, GroupingNode) or id(original) not in read:
            return node
        strategy = node.windowed_by.strategy
        if strategy.accumulation is not None or emits_one_pane(strategy):
            return node
        return evolve(node, resolved=Accumulation.RETRACTING)

    return rebuild(root, resolved)


def groupings_read(root: Node) -> Iterator[GroupingNode]:
    """Yields the groupings whose panes another grouping or a side input of the pipeline reads, each once."""
    inputs = [
        inner
        for node in nodes_of(root)
        if isinstance(node, GroupingNode | WithSide)
        for inner in ((node.side,) if isinstance(node, WithSide) else node.inputs)
    ]
    return iter(last_groupings(*inputs))


def emits_one_pane(strategy: WindowingStrategy) -> bool:
    """Whether every window emits at most one pane. The condition is sufficient, not necessary.

    Either the trigger finishes with its first firing, which closes the window; or only the watermark fires it, and the
    allowed lateness is zero, so the window expires at the same time.
    """
    trigger = normalise(strategy.trigger)
    if isinstance(trigger, get_args(OnceTrigger)):
        return strategy.on_time_behavior is OnTimeBehavior.IF_CHANGED
    return trigger == Repeat(AtWatermark()) and strategy.allowed_lateness == timedelta(0)


__all__ = ["emits_one_pane", "groupings_read", "resolve_accumulation"]
