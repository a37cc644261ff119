"""The elements of a run: their times, their keys in groupings, and whether they were late or dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, unique
from typing import Final

from attrs import field, frozen
from flowalg_reference import RunSpec, WatermarkReading

from flowalg.data.kv import KV
from flowalg.data.metadata import Metadata
from flowalg.data.time import MIN_TIME, EventTime, event_time
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
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.structure import sources_of
from flowalg.runs import DroppedElement
from flowalg.runs.micro_batches import GeneratedBy
from flowalg.runs.timeline import Instant


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
        """Returns whether the element has this key, or may have it."""
        return key is ANY or any(grouped.key is ANY or grouped.key == key for grouped in self.grouped_as)


_Drop = tuple[int, GroupedAs]
_Row = tuple[int, object, int]
_Rows = list[_Row | None]
"""The elements that a node reads: index, value and event time; ``None`` stands for elements that depend on the run."""


def elements_of(
    spec: RunSpec, readings: Sequence[WatermarkReading], drops: Sequence[DroppedElement]
) -> tuple[RunElement, ...]:
    """Returns the elements of all sources, and the dropped elements that come from an earlier grouping.

    Elements with the same event time and key that are observed in one instant are in the same windows, so they have the
    same status. An element that does not reach a grouping has no ``grouped_as``.
    """
    root = spec.pipeline.node
    dropped = {_drop(drop) for drop in drops}
    unmatched = set(dropped)
    before = _watermarks_before(readings)
    elements: list[RunElement] = []
    for source in sources_of(root):
        paths = _Paths.of(root, source)
        counts: dict[int, int] = {}
        timeline = spec.timelines[source.name]
        for instant in timeline:
            time = int(instant.processing_time)
            number = counts.get(time, 0)
            counts[time] = number + 1
            watermark = before.get((time, number), MIN_TIME)
            points = _event_times(source, instant, timeline.generated_by)
            for point, grouped_as in zip(points, paths.forms(instant.elements, points), strict=True):
                matching = {drop for grouped in grouped_as for drop in _matches(time, grouped, dropped)}
                unmatched -= matching
                late = ElementStatus.LATE if point < watermark else ElementStatus.ON_TIME
                status = ElementStatus.DROPPED if matching else late
                elements.append(RunElement(point, time, status, grouped_as))
    others = (drop for drop in dict.fromkeys(map(_drop, drops)) if drop in unmatched)
    return (*elements, *(_element_of(drop) for drop in others))


def hashable(key: object) -> bool:
    """Returns whether a value can be the key of a grouping."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def key_of(element: object) -> object:
    """Returns the key of a pair; ``ANY`` for another value."""
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
    """Returns the watermark before each instant, by its processing time and its number among the instants of
    that time.
    """
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


def _event_times(source: SourceNode, instant: Instant[object], generated_by: GeneratedBy | None) -> list[int]:
    if source.event_time is None:
        time = instant.processing_time
        return [
            int(generated_by.observe(element).event_time if generated_by else time)
            for element in instant.elements
        ]
    label = f"Source({source.name!r}).event_time"
    points = apply_all(source.event_time, instant.elements, label)
    # The run has rejected all values that are not times, so this only narrows the type.
    return [int(event_time(point, argument=label)) for point in points]  # type: ignore[arg-type]


@frozen
class _Paths:
    """The nodes between a source and the first groupings, inputs first, and those that a grouping or side input reads.

    Each node is visited once, however many paths lead through it.
    """

    nodes: tuple[Node, ...]
    read: tuple[Node, ...]

    @classmethod
    def of(cls, root: Node, source: SourceNode) -> _Paths:
        """Returns the paths from a source in a pipeline."""
        nodes: dict[int, Node] = {}
        read: list[Node] = []
        for node in nodes_of(root):
            if isinstance(node, GroupingNode):
                read += (inner for inner in node.inputs if id(inner) in nodes)
            if isinstance(node, WithSide) and id(node.side) in nodes:
                read.append(node.side)
            if _is_source(node, source) or any(id(inner) in nodes for inner in _ungrouped_inputs(node)):
                nodes[id(node)] = node
        return cls(tuple(nodes.values()), tuple(read))

    def forms(self, elements: Sequence[object], points: Sequence[int]) -> list[tuple[GroupedAs, ...]]:
        """Returns the forms of each element in the groupings."""
        rows: dict[int, _Rows] = {}
        for node in self.nodes:
            rows[id(node)] = _rows_of(node, rows, elements, points)
        forms: list[dict[GroupedAs, None]] = [{} for _ in elements]
        for node in self.read:
            for row in rows[id(node)]:
                if row is None:
                    for form, value, point in zip(forms, elements, points, strict=True):
                        form[GroupedAs(ANY, point, _value_of(value))] = None
                else:
                    i, value, point = row
                    forms[i][GroupedAs(key_of(value), point, _value_of(value))] = None
        return [tuple(form) for form in forms]


def _is_source(node: Node, source: SourceNode) -> bool:
    return isinstance(node, SourceNode) and node == source


def _ungrouped_inputs(node: Node) -> tuple[Node, ...]:
    """Returns the inputs whose elements a node passes on, changed or not, without grouping them."""
    match node:
        case (
            ElementWise(input=inner)
            | WithMetadata(input=inner)
            | WindowInto(input=inner)
            | WithSide(input=inner)
            | Process(input=inner)
        ):
            return (inner,)
        case Flatten(inputs=inputs):
            return inputs
        case SourceNode() | CombinePerKey() | CoGroupByKey() | Hole():
            return ()


def _rows_of(
    node: Node, rows: Mapping[int, _Rows], elements: Sequence[object], points: Sequence[int]
) -> _Rows:
    """Returns the rows of a node, from those of its inputs."""
    inputs = [row for inner in _ungrouped_inputs(node) for row in rows.get(id(inner), ())]
    match node:
        case ElementWise(steps=steps):
            return _apply_steps(steps, inputs)
        case Process() | WithSide() | WithMetadata(metadata=Metadata.WINDOW | Metadata.PANE):
            return [None]
        case WithMetadata():
            return [row and (row[0], (row[1], EventTime(row[2]).datetime), row[2]) for row in inputs]
        case SourceNode():
            return [(i, value, point) for i, (value, point) in enumerate(zip(elements, points, strict=True))]
        case _:
            return list(_without_repeated_none(inputs))


def _without_repeated_none(rows: _Rows) -> Iterator[_Row | None]:
    yielded_none = False
    for row in rows:
        if row is not None or not yielded_none:
            yield row
        yielded_none = yielded_none or row is None


def _value_of(element: object) -> object:
    return element.value if isinstance(element, KV) else element


def _apply_steps(steps: Sequence[Step], rows: _Rows) -> _Rows:
    at = next((i for i, row in enumerate(rows) if row is None), None)
    if at is not None:
        return [*_apply_steps(steps, rows[:at]), None, *_apply_steps(steps, rows[at + 1 :])]
    present = [row for row in rows if row is not None]
    for step in steps:
        present = _apply_step(step, present)
    return [*present]


def _apply_step(step: Step, rows: list[_Row]) -> list[_Row]:
    if isinstance(step, WithTimestamps):
        return [(i, value, int(assign_timestamp(step, value))) for i, value, _ in rows]
    if isinstance(step, Map):
        values = apply_all(step.function, [value for _, value, _ in rows], step.label)
        return [(i, after, point) for (i, _, point), after in zip(rows, values, strict=True)]
    return [(i, after, point) for i, value, point in rows for after in apply_step(step, value)]
