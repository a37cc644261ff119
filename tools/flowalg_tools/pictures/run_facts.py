"""What there is to draw of a run: its elements, its panes with their keys, and its watermark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import frozen
from flowalg_reference import ReferenceRun, WatermarkReading

from flowalg.data.errors import ArgumentError
from flowalg.elementwise.functions import OnValue
from flowalg.elementwise.steps import Filter
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import ElementWise, GroupingNode, Node, SourceNode, WithSide
from flowalg.pipeline.structure import last_groupings, nodes_after_groupings
from flowalg.runs.panes import Pane
from flowalg.runs.run import Run
from flowalg.windows.window_functions import as_merging
from flowalg_tools.pictures.elements import ANY, Observation, key_of, observations

_HEADING: Final = "panes"


@frozen
class Keyed:
    """A pane with its key; ``ANY`` where what comes after the grouping does not keep it."""

    key: object
    pane: Pane[object]


@frozen
class Facts:
    """What there is to draw of a run.

    ``merges`` says that windows merge, so that a pane takes the place of those of the windows inside its own.
    ``unheard`` counts the elements that came to no grouping, and ``tells_keys`` says whether the keys of elements are
    those of panes: otherwise an element may be of any of them.
    """

    heading: str
    observations: tuple[Observation, ...]
    panes: tuple[Keyed, ...]
    readings: tuple[WatermarkReading, ...]
    merges: bool = False
    tells_keys: bool = True
    unheard: int = 0

    def keys(self) -> tuple[object, ...]:
        """The keys, those with most elements first, and of those with as many, those with most panes."""
        panes: dict[object, int] = {}
        for one in self.panes:
            panes[one.key] = panes.get(one.key, 0) + 1
        if panes.keys() <= {ANY}:
            return (ANY,)
        elements: dict[object, int] = {}
        for observation in self.observations if self.tells_keys else ():
            for key in {one.key for one in observation.heard}:
                elements[key] = elements.get(key, 0) + 1
        known = dict.fromkeys((*panes, *elements))
        known.pop(ANY, None)
        return tuple(sorted(known, key=lambda key: (-elements.get(key, 0), -panes.get(key, 0))))


def facts_of(run: Run[object]) -> Facts:
    """What there is to draw of a run; raises ``ArgumentError`` for a value that is not a run.

    A run of the reference knows its elements. The run of another interpreter has its panes only, and the watermark as
    far as these tell it.
    """
    if not isinstance(run, Run):
        raise ArgumentError("run", run, "a Run, as an interpreter's run(...) returns it")
    keyed = all(key_of(one.element) is not ANY for one in run.panes)
    if not isinstance(run, ReferenceRun):
        return Facts(_HEADING, (), _with_keys(run, keyed), _watermarks_in(run.panes))
    root = run.spec.pipeline.node
    keyed = keyed and _keeps_keys(root)
    found = observations(run.spec, run.watermarks, run.dropped)
    last = list(last_groupings(root))
    effective = last[0].windowed_by
    return Facts(
        f"{last[0].label}, in {effective.strategy.windows}",
        tuple(one for one in found if one.heard),
        _with_keys(run, keyed),
        run.watermarks,
        effective.fresh and as_merging(effective.strategy.windows) is not None,
        keyed and all(_is_first(inner) for one in last for inner in one.inputs),
        sum(not one.heard for one in found),
    )


def _watermarks_in(panes: Iterable[Pane[object]]) -> tuple[WatermarkReading, ...]:
    """The watermark whenever panes were emitted; that of the output is not known to be another."""
    readings = sorted({(pane.processing_time, pane.watermark) for pane in panes})
    return tuple(WatermarkReading(time, watermark, watermark) for time, watermark in readings)


def _with_keys(run: Run[object], keyed: bool) -> tuple[Keyed, ...]:
    return tuple(Keyed(key_of(one.element) if keyed else ANY, one) for one in run.panes)


def _keeps_keys(root: Node) -> bool:
    """Whether what follows the last grouping leaves the keys as they are."""
    return all(map(_keeps_key, nodes_after_groupings(root)))


def _keeps_key(node: Node) -> bool:
    match node:
        case ElementWise(steps=steps):
            return all(isinstance(step, Filter) or isinstance(step.function, OnValue) for step in steps)
        case SourceNode() | WithSide():
            return False
        case _:
            return True


def _is_first(root: Node) -> bool:
    """Whether nothing is grouped before a node, and no side input read."""
    return not any(isinstance(node, GroupingNode | WithSide) for node in nodes_of(root))


__all__ = ["Facts", "Keyed", "facts_of"]
