"""How many windows a run kept at each point: what its state was made of."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

from attrs import define, field
from flowalg_reference import ReferenceRun, RunSpec
from flowalg_reference.elements import Arrivals, Now
from flowalg_reference.operators import Operator, Operators
from flowalg_reference.run import execute

from flowalg.data.time import MIN_TIME, EventTime
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, Node, WithSide
from flowalg.runs.run import Run
from flowalg.windows.strategy import WindowingStrategy
from flowalg.windows.window import Window
from flowalg.windows.window_functions import as_merging
from flowalg_tools.pictures.elements import ANY, Observation

Kept = Mapping[int, int]
"""By processing time, the number of windows of all groupings and keys for which there was state after it."""


def kept_windows(run: Run[object], seen: tuple[Observation, ...]) -> Kept:
    """How many windows were kept after each processing time of a run; nothing for the run of another interpreter.

    One grouping of windows that do not merge is counted from the elements; for any other pipeline the run is gone
    through again, which takes as long as it took.
    """
    if not isinstance(run, ReferenceRun):
        return {}
    root = run.spec.pipeline.node
    groupings = {id(one): one for one in nodes_of(root) if isinstance(one, GroupingNode)}
    sides = any(isinstance(one, WithSide) for one in nodes_of(root))
    for grouping in groupings.values():
        strategy = grouping.windowed_by.strategy
        if len(groupings) == 1 and not sides and as_merging(strategy.windows) is None:
            return _counted(run, seen, strategy)
    return replayed(run.spec)


def _counted(run: ReferenceRun[object], seen: tuple[Observation, ...], strategy: WindowingStrategy) -> Kept:
    """A window is kept from its first element, if that is in time, until the watermark passes all of its lateness."""
    watermarks = {int(one.processing_time): int(one.input) for one in run.watermarks}
    times, reached = list(watermarks), list(watermarks.values())
    first: dict[tuple[object, int], int] = {}
    for observation in seen:
        for one in observation.heard:
            at = (one.key, one.event_time)
            first[at] = min(observation.processing_time, first.get(at, observation.processing_time))
    opened: dict[tuple[object, Window], int] = {}
    for (key, point), time in first.items():
        if key is not ANY:
            for window in strategy.windows.assign(EventTime(point), key):
                opened[key, window] = min(time, opened.get((key, window), time))
    changes: Counter[int] = Counter()
    late = strategy.lateness_micros
    for (_, window), time in opened.items():
        here = bisect_left(times, time)
        gone = len(times) if late is None else bisect_left(reached, window.end + late)
        if (reached[here - 1] if here else MIN_TIME) >= window.end + (late or 0) and late is not None:
            continue
        changes[here] += 1
        changes[max(gone, here)] -= 1
    kept, total = {}, 0
    for number, time in enumerate(times):
        total += changes[number]
        kept[time] = total
    return kept


def replayed(spec: RunSpec) -> Kept:
    """The count of what the interpreter itself keeps, as it goes through a run again."""
    operators = _Counting(root=spec.pipeline.node)
    execute(spec, operators)
    return operators.kept


@define
class _Counting(Operators):
    """Operators that count the windows that they keep, after each instant."""

    root: Node | None = None
    kept: dict[int, int] = field(factory=dict)

    def of(self, node: Node) -> Operator:
        """The operator of a node; the root's counts when it has done its part."""
        operator = super().of(node)
        if node is not self.root:
            return operator

        def counting(now: Now) -> Arrivals:
            arrivals = operator(now)
            windows = (each for grouping in self.groupings.values() for each in grouping.windows.values())
            self.kept[int(now.processing_time)] = sum(map(len, windows))
            return arrivals

        return counting


__all__ = ["Kept", "kept_windows", "replayed"]
