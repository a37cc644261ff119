"""What holds a watermark back: a source, one of its partitions, or pending elements upstream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.data.views import HasView
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.structure import element_inputs
from flowalg.runs.timeline import Instant
from flowalg.windows.window import Window
from flowalg_reference.debugging.history import History
from flowalg_reference.operators import Operators


@frozen
class WatermarkHold(HasView):
    """What holds a watermark at an event time, described as text; with its source and partition, or its window."""

    event_time: EventTime
    description: str
    source: str | None = None
    partition: str | None = None
    window: Window | None = None

    def __str__(self) -> str:
        return self.description


def watermark_hold(
    roots: Iterable[Node], history: History, operators: Operators, until: ProcessingTime
) -> WatermarkHold:
    """Returns what holds the watermark behind some nodes, after the operators have processed everything up to
    ``until``.

    Where several hold the same event time, the first of them upstream is the cause. Idle sources hold nothing: they
    follow those that are not idle. If all sources of the pipeline are idle, it is the most advanced of them.
    """
    nodes = [node for root in roots for node in nodes_of(root, inputs=element_inputs)]
    holds = [hold for node in nodes for hold in _holds_of(node, history, operators, until)]
    names = [node.name for node in nodes if isinstance(node, SourceNode)]
    if any(_is_idle(history.latest(name, until), until) for name in names):
        running = [
            name
            for name in dict.fromkeys((*names, *history.sources))
            if (last := history.latest(name, until)) is None or last.watermark < MAX_TIME
        ]
        active = [name for name in running if not _is_idle(history.latest(name, until), until)]
        holds += [_source(name, history, until) for name in active if name not in names]
        if not active:
            idle = [_source(name, history, until) for name in running or names]
            holds.append(max(idle, key=lambda hold: hold.event_time))
    return min(holds, key=lambda hold: hold.event_time)


def _holds_of(
    node: Node, history: History, operators: Operators, until: ProcessingTime
) -> Iterator[WatermarkHold]:
    """What a node itself holds back."""
    match node:
        case SourceNode(name=name):
            if not _is_idle(history.latest(name, until), until):
                yield _source(name, history, until)
        case Hole():
            raise node.refused()
        case ElementWise() | WithMetadata() | WindowInto() | Flatten():
            pass
        case CombinePerKey(label=label) | CoGroupByKey(label=label):
            for keyed_window, point in operators.groupings[id(node)].holds.items():
                window = keyed_window.window
                pending = f"{label}: {keyed_window.key!r} in {window} has pending changes"
                description = f"{pending}; the event time of its next pane is {point}"
                yield WatermarkHold(point, description, window=window)
        case WithSide():
            for window, element in operators.sides[id(node)].waiting:
                point = element.event_time
                waiting = f"an element that waits for the window {window} of the side input"
                yield WatermarkHold(point, f"{waiting}; its event time is {point}", window=window)
        case Process(label=label):
            computing = operators.computations[id(node)]
            for key, key_state in computing.keys.items():
                if key_state.hold is not None and computing.clocks.watermark < MAX_TIME:
                    yield WatermarkHold(
                        key_state.hold, f"{label}: {key!r} has set a hold at {key_state.hold}"
                    )
        case _:
            assert_never(node)


def _is_idle(last: Instant[object] | None, until: ProcessingTime) -> bool:
    return last is not None and last.idle_at is not None and last.idle_at <= until


def _source(name: str, history: History, until: ProcessingTime) -> WatermarkHold:
    last = history.latest(name, until)
    if last is None:
        return WatermarkHold(MIN_TIME, f"source {name!r}, which has not started", source=name)
    idle = "which is idle, as all others are, and " if _is_idle(last, until) else ""
    description = f"source {name!r}, {idle}whose watermark is at {last.watermark}"
    if last.awaited:
        names = sorted(last.awaited)
        few = (
            f"partition {names[0]!r} has"
            if len(names) == 1
            else f"partitions {', '.join(map(repr, names))} have"
        )
        description = f"source {name!r}, whose declared {few} sent nothing"
        return WatermarkHold(last.watermark, description, source=name, partition=names[0])
    if not last.reached:
        return WatermarkHold(last.watermark, description, source=name)
    partition, point = min(last.reached.items(), key=lambda pair: pair[1])
    if len(last.reached) > 1:
        description += f"; its slowest partition is {partition!r}, which has reached {point}"
    else:
        description += f"; its greatest event time is {point}"
    return WatermarkHold(last.watermark, description, source=name, partition=partition)
