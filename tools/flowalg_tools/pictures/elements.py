"""The elements of a run: their times, their keys in groupings, and whether they were late or dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique
from typing import Final

from attrs import field, frozen
from flowalg_reference import DroppedElement, RunSpec, WatermarkReading

from flowalg.data.kv import KV
from flowalg.data.time import MIN_TIME, event_time
from flowalg.elementwise.functions import apply_all
from flowalg.elementwise.steps import Map, Step, WithTimestamps, apply_step, assign_timestamp
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingNode,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
)
from flowalg.pipeline.structure import sources_of


@unique
class AnyKey(Enum):
    """The key of an element or pane whose key is unknown; it may belong to any key."""

    ANY = "any key"


ANY: Final = AnyKey.ANY


@unique
class ElementStatus(Enum):
    """Whether an element was late or dropped; the value is the text of the legend."""

    ON_TIME = "element"
    """The watermark had not passed its event time when it was observed."""

    LATE = "late element"
    """The watermark had passed its event time, so it is to the left of the watermark."""

    DROPPED = "dropped element"
    """A window dropped it; another window may have accepted it."""


@frozen
class GroupedAs:
    """The key, event time and value of an element in a grouping; ``with_timestamps`` may have set the event time."""

    key: object
    event_time: int
    value: object = field(default=None, eq=False)


@frozen
class RunElement:
    """An element of a source, with both times in microseconds, and its form in each grouping."""

    event_time: int
    processing_time: int
    status: ElementStatus
    grouped_as: tuple[GroupedAs, ...]

    def may_have(self, key: object) -> bool:
        """Whether the element has this key, or may have it."""
        return key is ANY or any(grouped.key is ANY or grouped.key == key for grouped in self.grouped_as)


_Drop = tuple[int, GroupedAs]
_Row = tuple[int, object, int]
_Chain = tuple[Step, ...] | None
"""The steps between a source and a grouping; ``None`` if the elements of the grouping depend on a run."""


def elements_of(
    spec: RunSpec, readings: Sequence[WatermarkReading], drops: Sequence[DroppedElement]
) -> tuple[RunElement, ...]:
    """The elements of all sources, and the dropped elements that come from an earlier grouping.

    Elements with the same event time and key that are observed in one instant are in the same windows, so they have the
    same status. An element that does not reach a grouping has no ``grouped_as``.
    """
    root = spec.pipeline.node
    dropped = {_drop(drop) for drop in drops}
    unmatched = set(dropped)
    before = _watermarks_before(readings)
    elements: list[RunElement] = []
    for source in sources_of(root):
        chains = list(_chains(root, source))
        counts: dict[int, int] = {}
        for instant in spec.timelines[source.name]:
            time = int(instant.processing_time)
            number = counts.get(time, 0)
            counts[time] = number + 1
            watermark = before.get((time, number), MIN_TIME)
            points = _event_times(source, instant.elements)
            for point, grouped_as in zip(points, _grouped(chains, instant.elements, points), strict=True):
                matching = {drop for grouped in grouped_as for drop in _matches(time, grouped, dropped)}
                unmatched -= matching
                late = ElementStatus.LATE if point < watermark else ElementStatus.ON_TIME
                status = ElementStatus.DROPPED if matching else late
                elements.append(RunElement(point, time, status, grouped_as))
    others = (drop for drop in dict.fromkeys(map(_drop, drops)) if drop in unmatched)
    return (*elements, *(_element_of(drop) for drop in others))


def hashable(key: object) -> bool:
    """Whether a value can be the key of a grouping."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def key_of(element: object) -> object:
    """The key of a pair; ``ANY`` for another value."""
    return element.key if isinstance(element, KV) and hashable(element.key) else ANY


def _drop(drop: DroppedElement) -> _Drop:
    return int(drop.processing_time), GroupedAs(key_of(drop.element), int(drop.event_time))


def _matches(time: int, grouped: GroupedAs, dropped: set[_Drop]) -> Iterator[_Drop]:
    """The drops that may be of an element: those with its key, and those whose key is unknown."""
    for key in {grouped.key, ANY}:
        if (time, GroupedAs(key, grouped.event_time)) in dropped:
            yield time, GroupedAs(key, grouped.event_time)


def _element_of(drop: _Drop) -> RunElement:
    time, grouped = drop
    return RunElement(grouped.event_time, time, ElementStatus.DROPPED, (grouped,))


def _watermarks_before(readings: Sequence[WatermarkReading]) -> dict[tuple[int, int], int]:
    """The watermark before each instant, by its processing time and its number among the instants of that time."""
    before: dict[tuple[int, int], int] = {}
    counts: dict[int, int] = {}
    watermark = int(MIN_TIME)
    for reading in readings:
        time = int(reading.processing_time)
        number = counts.get(time, 0)
        counts[time] = number + 1
        before[time, number] = watermark
        watermark = int(reading.input)
    return before


def _event_times(source: SourceNode, elements: Sequence[object]) -> list[int]:
    label = f"Source({source.name!r}).event_time"
    points = apply_all(source.event_time, elements, label)
    # The run has rejected all values that are not times, so this only narrows the type.
    return [int(event_time(point, argument=label)) for point in points]  # type: ignore[arg-type]


def _chains(root: Node, source: SourceNode) -> Iterator[_Chain]:
    """The steps on each path from a source to a first grouping or a side input."""
    for node in nodes_of(root):
        if isinstance(node, GroupingNode):
            for inner in node.inputs:
                yield from _paths(inner, source)
        if isinstance(node, WithSide):
            yield from _paths(node.side, source)


def _paths(node: Node, source: SourceNode) -> Iterator[_Chain]:
    match node:
        case SourceNode():
            if node == source:
                yield ()
        case ElementWise(input=inner, steps=steps):
            for path in _paths(inner, source):
                yield None if path is None else (*path, *steps)
        case WindowInto(input=inner):
            yield from _paths(inner, source)
        case Flatten(inputs=inputs):
            for inner in inputs:
                yield from _paths(inner, source)
        case WithSide(input=inner):
            yield from (None for _ in _paths(inner, source))
        case CombinePerKey() | CoGroupByKey() | Hole():
            return


def _grouped(
    chains: Sequence[_Chain], elements: Sequence[object], points: Sequence[int]
) -> list[tuple[GroupedAs, ...]]:
    """The forms of each element in the groupings."""
    forms: list[dict[GroupedAs, None]] = [{} for _ in elements]
    for chain in chains:
        rows: list[_Row] = [
            (i, value, point) for i, (value, point) in enumerate(zip(elements, points, strict=True))
        ]
        for step in chain or ():
            rows = _apply_step(step, rows)
        for i, value, point in rows:
            grouped = value.value if isinstance(value, KV) else value
            forms[i][GroupedAs(ANY if chain is None else key_of(value), point, grouped)] = None
    return [tuple(grouped_as) for grouped_as in forms]


def _apply_step(step: Step, rows: list[_Row]) -> list[_Row]:
    if isinstance(step, WithTimestamps):
        return [(i, value, int(assign_timestamp(step, value))) for i, value, _ in rows]
    if isinstance(step, Map):
        values = apply_all(step.function, [value for _, value, _ in rows], step.label)
        return [(i, after, point) for (i, _, point), after in zip(rows, values, strict=True)]
    return [(i, after, point) for i, value, point in rows for after in apply_step(step, value)]


__all__ = [
    "ANY",
    "AnyKey",
    "ElementStatus",
    "GroupedAs",
    "RunElement",
    "elements_of",
    "hashable",
    "key_of",
]
