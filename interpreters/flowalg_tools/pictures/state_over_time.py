"""The number of live windows of a run over processing time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

from attrs import define, field
from flowalg_reference import ReferenceRun, RunSpec
from flowalg_reference.operators import NodeFunction, Operators
from flowalg_reference.outputs import NodeOutput
from flowalg_reference.run import execute

from flowalg.data.time import MIN_TIME, EventTime
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, Node, Process, WithSide
from flowalg.runs.instants import PipelineInstant
from flowalg.runs.run import Run
from flowalg.windows.strategy import WindowingStrategy
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowsByValue, as_merging, assign_windows
from flowalg_tools.pictures.elements import ANY, RunElement

WindowCounts = Mapping[int, int]
"""The number of live windows of all groupings and keys after each processing time."""


def count_live_windows(run: Run[object], elements: tuple[RunElement, ...]) -> WindowCounts:
    """Counts the live windows after each processing time of a run; empty for a run of another interpreter.

    For a single grouping in windows that neither merge nor depend on values, they are counted from the elements. For
    any other pipeline the run is replayed, which takes as long as it did.
    """
    if not isinstance(run, ReferenceRun):
        return {}
    root = run.spec.pipeline.node
    groupings = {id(node): node for node in nodes_of(root) if isinstance(node, GroupingNode)}
    sides = any(isinstance(node, Process | WithSide) for node in nodes_of(root))
    for grouping in groupings.values():
        strategy = grouping.windowed_by.strategy
        special = as_merging(strategy.windows) is not None or isinstance(strategy.windows, WindowsByValue)
        if len(groupings) == 1 and not sides and not special:
            return _count_by_elements(run, elements, strategy)
    return count_by_replay(run.spec)


def _count_by_elements(
    run: ReferenceRun[object], elements: tuple[RunElement, ...], strategy: WindowingStrategy
) -> WindowCounts:
    """A window is live from its first element, unless that is dropped, until its allowed lateness has passed."""
    watermarks = {int(reading.processing_time): int(reading.input) for reading in run.watermarks}
    times, reached = list(watermarks), list(watermarks.values())
    first: dict[tuple[object, int], int] = {}
    for element in elements:
        for grouped in element.grouped_as:
            at = (grouped.key, grouped.event_time)
            first[at] = min(element.processing_time, first.get(at, element.processing_time))
    opened: dict[tuple[object, Window], int] = {}
    for (key, point), time in first.items():
        if key is not ANY:
            for window in assign_windows(strategy.windows, EventTime(point), key, None):
                opened[key, window] = min(time, opened.get((key, window), time))
    changes: Counter[int] = Counter()
    late = strategy.lateness_micros
    for (_, window), time in opened.items():
        opened_at = bisect_left(times, time)
        freed_at = len(times) if late is None else bisect_left(reached, window.end + late)
        if (reached[opened_at - 1] if opened_at else MIN_TIME) >= window.end + (
            late or 0
        ) and late is not None:
            continue
        changes[opened_at] += 1
        changes[max(freed_at, opened_at)] -= 1
    counts, total = {}, 0
    for number, time in enumerate(times):
        total += changes[number]
        counts[time] = total
    return counts


def count_by_replay(spec: RunSpec) -> WindowCounts:
    """Replays a run and counts the windows that the interpreter keeps."""
    operators = _Counting()
    execute({"": spec.pipeline}, spec.timelines, spec.mode, operators)
    return operators.kept


@define
class _Counting(Operators):
    """Operators that count their windows after each instant."""

    kept: dict[int, int] = field(factory=dict)

    def of(self, *roots: Node) -> tuple[NodeFunction, ...]:
        """Returns the operators of the pipelines, which also count the windows."""
        return tuple(map(self._count, super().of(*roots)))

    def _count(self, operator: NodeFunction) -> NodeFunction:
        def counting(now: PipelineInstant) -> NodeOutput:
            output = operator(now)
            windows = (
                windows_of_key
                for grouping in self.groupings.values()
                for windows_of_key in grouping.windows.values()
            )
            self.kept[int(now.processing_time)] = sum(map(len, windows))
            return output

        return counting
