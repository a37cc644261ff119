"""The content of a picture of a run: its elements, its panes with their keys, and its watermark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import frozen
from flowalg_reference import ReferenceRun, WatermarkReading

from flowalg.data.errors import ArgumentError
from flowalg.elementwise.functions import OnValue
from flowalg.elementwise.steps import Filter
from flowalg.pipeline.nodes import (
    ElementWise,
    Node,
    SourceNode,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.structure import has_stages, last_groupings, nodes_after_groupings
from flowalg.runs.panes import Pane
from flowalg.runs.run import Run
from flowalg_tools.pictures.elements import ANY, RunElement, elements_of, key_of

_HEADING: Final = "panes"


@frozen
class KeyedPane:
    """A pane with its key; ``ANY`` if a later step changes the key."""

    key: object
    pane: Pane[object]


@frozen
class RunFacts:
    """The content of a picture of a run.

    If windows merge (``merges``), a pane replaces the panes of all windows inside its own. ``ungrouped`` is the number
    of elements that did not reach a grouping. If ``keys_known``, the keys of elements are those of panes; otherwise an
    element may have any of them.
    """

    heading: str
    elements: tuple[RunElement, ...]
    panes: tuple[KeyedPane, ...]
    readings: tuple[WatermarkReading, ...]
    merges: bool = False
    keys_known: bool = True
    ungrouped: int = 0

    def keys(self) -> tuple[object, ...]:
        """Returns the keys in decreasing order of their elements, then of their panes."""
        panes: dict[object, int] = {}
        for keyed in self.panes:
            panes[keyed.key] = panes.get(keyed.key, 0) + 1
        if panes.keys() <= {ANY}:
            return (ANY,)
        elements: dict[object, int] = {}
        for element in self.elements if self.keys_known else ():
            for key in {grouped.key for grouped in element.grouped_as}:
                elements[key] = elements.get(key, 0) + 1
        keys = dict.fromkeys((*panes, *elements))
        keys.pop(ANY, None)
        return tuple(sorted(keys, key=lambda key: (-elements.get(key, 0), -panes.get(key, 0))))


def run_facts(run: Run[object]) -> RunFacts:
    """Returns the content of a picture of a run; raises ``ArgumentError`` for a value that is not a run.

    A run of the reference interpreter knows its elements. For a run of another interpreter there are only its panes,
    and the watermarks of these.
    """
    if not isinstance(run, Run):
        raise ArgumentError("run", run, "a Run, as an interpreter's run(...) returns it")
    keyed = all(key_of(pane.element) is not ANY for pane in run.panes)
    if not isinstance(run, ReferenceRun):
        return RunFacts(_HEADING, (), _with_keys(run, keyed), _watermarks_in(run.panes))
    root = run.spec.pipeline.node
    keyed = keyed and _keeps_keys(root)
    elements = elements_of(run.spec, run.watermarks, run.dropped)
    last = list(last_groupings(root))
    effective = last[0].windowed_by
    return RunFacts(
        f"{last[0].label}, in {effective.strategy.windows}",
        tuple(element for element in elements if element.grouped_as),
        _with_keys(run, keyed),
        run.watermarks,
        effective.merges,
        keyed and all(_is_first(inner) for grouping in last for inner in grouping.inputs),
        sum(not element.grouped_as for element in elements),
    )


def _watermarks_in(panes: Iterable[Pane[object]]) -> tuple[WatermarkReading, ...]:
    """Returns the watermarks when panes were emitted; that of the output is assumed to be equal."""
    readings = sorted({(pane.processing_time, pane.watermark) for pane in panes})
    return tuple(WatermarkReading(time, watermark, watermark) for time, watermark in readings)


def _with_keys(run: Run[object], keyed: bool) -> tuple[KeyedPane, ...]:
    return tuple(KeyedPane(key_of(pane.element) if keyed else ANY, pane) for pane in run.panes)


def _keeps_keys(root: Node) -> bool:
    """Returns whether the steps after the last grouping keep the keys."""
    return all(map(_keeps_key, nodes_after_groupings(root)))


def _keeps_key(node: Node) -> bool:
    match node:
        case ElementWise(steps=steps):
            return all(isinstance(step, Filter) or isinstance(step.function, OnValue) for step in steps)
        case SourceNode() | WithMetadata() | WithSide():
            return False
        case _:
            return True


def _is_first(root: Node) -> bool:
    """Returns whether only sources and element-wise steps come before a node."""
    return not has_stages(root)
