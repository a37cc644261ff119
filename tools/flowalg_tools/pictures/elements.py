"""The elements of a run: when each was seen, under which key groupings know it, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique
from typing import Final

from attrs import frozen
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
    """The key of what has none that could be told."""

    ANY = "any key"


ANY: Final = AnyKey.ANY


@unique
class Fate(Enum):
    """What became of an element, and what a legend calls that."""

    ON_TIME = "element"
    """The watermark had not passed its event time when it was seen."""

    LATE = "late element, taken"
    """The watermark had passed its event time, that is: it lies to the left of it."""

    DROPPED = "element that a window dropped"
    """A window refused it; another one may have taken it."""


@frozen
class Heard:
    """How a grouping knows an element: by its key, and by its event time, which a ``with_timestamps`` may have set."""

    key: object
    event_time: int


@frozen
class Observation:
    """An element of a source, in both times, in microseconds; ``heard`` is how groupings know it."""

    event_time: int
    processing_time: int
    fate: Fate
    heard: tuple[Heard, ...]

    def is_of(self, key: object) -> bool:
        """Whether the element is, or may be, one of a key's."""
        return key is ANY or any(one.key is ANY or one.key == key for one in self.heard)


_Refusal = tuple[int, Heard]
_Row = tuple[int, object, int]
_Chain = tuple[Step, ...] | None
"""What is done to elements before they are grouped; ``None`` where only running it would tell."""


def observations(
    spec: RunSpec, readings: Sequence[WatermarkReading], drops: Sequence[DroppedElement]
) -> tuple[Observation, ...]:
    """The elements of all sources, and those drops that are no element of a source, but came out of a grouping.

    All elements with one event time and key that are seen in one instant are in the same windows, and so have one fate.
    An element that no grouping heard of is there too, with nothing ``heard``.
    """
    root = spec.pipeline.node
    refused = {_refusal(one) for one in drops}
    unmatched = set(refused)
    before = _watermarks_before(readings)
    found: list[Observation] = []
    for source in sources_of(root):
        chains = list(_chains(root, source))
        met: dict[int, int] = {}
        for instant in spec.timelines[source.name]:
            time = int(instant.processing_time)
            number = met.get(time, 0)
            met[time] = number + 1
            watermark = before.get((time, number), MIN_TIME)
            points = _event_times(source, instant.elements)
            for point, heard in zip(points, _heard(chains, instant.elements, points), strict=True):
                mine = {one for each in heard for one in _refusals(time, each, refused)} if refused else set()
                unmatched -= mine
                late = Fate.LATE if point < watermark else Fate.ON_TIME
                found.append(Observation(point, time, Fate.DROPPED if mine else late, heard))
    return (*found, *(_of_refusal(one) for one in _once(drops, unmatched)))


def hashable(key: object) -> bool:
    """Whether a key can be one of a grouping."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def key_of(element: object) -> object:
    """The key of a pair; ``ANY`` for what is none."""
    return element.key if isinstance(element, KV) and hashable(element.key) else ANY


def _refusal(drop: DroppedElement) -> _Refusal:
    return int(drop.processing_time), Heard(key_of(drop.element), int(drop.event_time))


def _refusals(time: int, heard: Heard, refused: set[_Refusal]) -> Iterator[_Refusal]:
    """The refusals that are of an element: those of its key, or of a window that knew none."""
    for key in {heard.key, ANY}:
        if (time, Heard(key, heard.event_time)) in refused:
            yield time, Heard(key, heard.event_time)


def _once(drops: Sequence[DroppedElement], chosen: set[_Refusal]) -> Iterator[_Refusal]:
    return (one for one in dict.fromkeys(map(_refusal, drops)) if one in chosen)


def _of_refusal(refusal: _Refusal) -> Observation:
    time, heard = refusal
    return Observation(heard.event_time, time, Fate.DROPPED, (heard,))


def _watermarks_before(readings: Sequence[WatermarkReading]) -> dict[tuple[int, int], int]:
    """The watermark before each instant, by its processing time and its number among those of that time."""
    before: dict[tuple[int, int], int] = {}
    met: dict[int, int] = {}
    watermark = int(MIN_TIME)
    for one in readings:
        time = int(one.processing_time)
        number = met.get(time, 0)
        met[time] = number + 1
        before[time, number] = watermark
        watermark = int(one.input)
    return before


def _event_times(source: SourceNode, elements: Sequence[object]) -> list[int]:
    label = f"Source({source.name!r}).event_time"
    points = apply_all(source.event_time, elements, label)
    # The run has refused all that gives no point in time, so this narrows the type alone.
    return [int(event_time(one, argument=label)) for one in points]  # type: ignore[arg-type]


def _chains(root: Node, source: SourceNode) -> Iterator[_Chain]:
    """What is done to a source's elements on each way to a first grouping, or to a side input."""
    for node in nodes_of(root):
        if isinstance(node, GroupingNode):
            for inner in node.inputs:
                yield from _ways(inner, source)
        if isinstance(node, WithSide):
            yield from _ways(node.side, source)


def _ways(node: Node, source: SourceNode) -> Iterator[_Chain]:
    match node:
        case SourceNode():
            if node == source:
                yield ()
        case ElementWise(input=inner, steps=steps):
            for way in _ways(inner, source):
                yield None if way is None else (*way, *steps)
        case WindowInto(input=inner):
            yield from _ways(inner, source)
        case Flatten(inputs=inputs):
            for inner in inputs:
                yield from _ways(inner, source)
        case WithSide(input=inner):
            yield from (None for _ in _ways(inner, source))
        case CombinePerKey() | CoGroupByKey() | Hole():
            return


def _heard(
    chains: Sequence[_Chain], elements: Sequence[object], points: Sequence[int]
) -> list[tuple[Heard, ...]]:
    """How groupings know each of some elements."""
    known: list[dict[Heard, None]] = [{} for _ in elements]
    for chain in chains:
        rows: list[_Row] = [
            (i, value, point) for i, (value, point) in enumerate(zip(elements, points, strict=True))
        ]
        for step in chain or ():
            rows = _stepped(step, rows)
        for i, value, point in rows:
            known[i][Heard(ANY if chain is None else key_of(value), point)] = None
    return [tuple(one) for one in known]


def _stepped(step: Step, rows: list[_Row]) -> list[_Row]:
    if isinstance(step, WithTimestamps):
        return [(i, value, int(assign_timestamp(step, value))) for i, value, _ in rows]
    if isinstance(step, Map):
        values = apply_all(step.function, [value for _, value, _ in rows], step.label)
        return [(i, after, point) for (i, _, point), after in zip(rows, values, strict=True)]
    return [(i, after, point) for i, value, point in rows for after in apply_step(step, value)]


__all__ = [
    "ANY",
    "AnyKey",
    "Fate",
    "Heard",
    "Observation",
    "hashable",
    "key_of",
    "observations",
]
