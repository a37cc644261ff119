"""What holds a watermark: a source, one of its partitions, or something that has not come out upstream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from attrs import frozen

from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime, show
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
)
from flowalg.pipeline.structure import element_inputs
from flowalg.windows.window import Window
from flowalg_reference.operators import Operators
from flowalg_reference.run import Origin


@frozen
class Holder:
    """What keeps a watermark at a point of event time, in words. ``source``, ``partition`` and ``window`` say which."""

    at: EventTime
    words: str
    source: str | None = None
    partition: str | None = None
    window: Window | None = None

    def __str__(self) -> str:
        return self.words


def holder(root: Node, origin: Origin, operators: Operators, until: ProcessingTime) -> Holder:
    """What holds the watermark behind a node, once operators have done all until a point of processing time."""
    nodes = nodes_of(root, inputs=element_inputs)
    return min(
        (one for node in nodes for one in _holders(node, origin, operators, until)), key=lambda one: one.at
    )


def _holders(node: Node, origin: Origin, operators: Operators, until: ProcessingTime) -> Iterator[Holder]:
    """What a node itself could hold the watermark by."""
    match node:
        case SourceNode(name=name):
            yield _source(name, origin, until)
        case Hole():
            raise node.refused()
        case ElementWise() | WindowInto() | Flatten():
            pass
        case CombinePerKey(label=label) | CoGroupByKey(label=label):
            unshown = operators.groupings[id(node)].unshown
            for place, point in unshown.items():
                what = f"{label}, where {place.key!r} in {place.window} has not shown all that came"
                yield Holder(point, f"{what}; its pane will be at {show(point)}", window=place.window)
        case WithSide():
            for window, element in operators.sides[id(node)].waiting:
                what = f"an element that waits for the side input's {window}"
                yield Holder(
                    element.event_time, f"{what}; it is at {show(element.event_time)}", window=window
                )
        case _:
            assert_never(node)


def _source(name: str, origin: Origin, until: ProcessingTime) -> Holder:
    last = [one for one in origin.timelines[name] if one.processing_time <= until][-1:]
    if not last:
        return Holder(MIN_TIME, f"source {name!r}, which has not begun", source=name)
    (instant,) = last
    words = f"source {name!r}, whose watermark is at {show(instant.watermark)}"
    if not instant.reached:
        return Holder(instant.watermark, words, source=name)
    partition, point = min(instant.reached.items(), key=lambda one: one[1])
    if len(instant.reached) > 1:
        words = f"{words}, and whose partition {partition!r} has come furthest behind, to {show(point)}"
    else:
        words = f"{words}, and whose greatest event time is {show(point)}"
    return Holder(instant.watermark, words, source=name, partition=partition)


__all__ = ["Holder", "holder"]
