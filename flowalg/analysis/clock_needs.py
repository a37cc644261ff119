"""What in a pipeline waits for processing time, so that an engine must advance its clock without data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flowalg.computations.library import built_in
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CoGroupByKey, CombinePerKey, Node, Process
from flowalg.triggers.syntax import leaves
from flowalg.watermarks import WatermarkPolicy


def clock_needs(roots: Iterable[Node], policies: Mapping[str, WatermarkPolicy]) -> Iterator[str]:
    """Yields what waits for processing time: triggers, computations with timers, and policies of sources by name.

    A function of a user may wait for it and need not: a computation whose timers are all of event time, for example.
    """
    for node in nodes_of(*roots):
        match node:
            case CombinePerKey(label=label) | CoGroupByKey(label=label):
                waiting = [leaf for leaf in leaves(node.windowed_by.strategy.trigger) if leaf.follows_clock]
                if waiting:
                    yield f"{label}, whose trigger fires by processing time"
            case Process(computation=computation, label=label):
                if computation.on_timer is not None and built_in(computation) is None:
                    yield f"{label}, whose timers may be of processing time"
            case _:
                pass
    for name, policy in policies.items():
        if policy.follows_clock:
            yield f"source {name!r}, whose watermark may advance by processing time: {policy}"


def ticks_off(roots: Iterable[Node], policies: Mapping[str, WatermarkPolicy]) -> str | None:
    """Returns a warning for a query without ticks of what waits for processing time; ``None`` if nothing does."""
    needs = "; ".join(clock_needs(roots, policies))
    if not needs:
        return None
    return f"ticks are off, so without data no time passes for what waits for processing time: {needs}"
