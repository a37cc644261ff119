"""Why a window or a key has not emitted anything: replays the run up to a given time, and examines its state."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum, unique
from typing import TypeVar, overload

from attrs import frozen

from flowalg.analysis.capabilities import Mode
from flowalg.data.errors import ArgumentError, FlowalgError
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime, processing_time
from flowalg.data.views import HasView
from flowalg.pipeline.nodes import GroupingNode, Node
from flowalg.runs.panes import DroppedElement, Pane
from flowalg.triggers.syntax import AtWatermark
from flowalg.windows.window import Window, covers
from flowalg.windows.window_functions import as_merging
from flowalg_reference.debugging.conditions import (
    AwaitedCondition,
    Condition,
    awaited_conditions,
    format_conditions,
)
from flowalg_reference.debugging.deadlines import find_last_deadline
from flowalg_reference.debugging.explain_waiting import KeyExplanation, explain_waiting
from flowalg_reference.debugging.history import History
from flowalg_reference.debugging.recorded_runs import history_of
from flowalg_reference.debugging.recording import Recording, record, record_selected
from flowalg_reference.debugging.selection import (
    NotSeparableError,
    require_separable,
    select_state,
)
from flowalg_reference.debugging.stages import last_computations, last_groupings
from flowalg_reference.debugging.watermark_hold import WatermarkHold, watermark_hold
from flowalg_reference.grouping import Grouping
from flowalg_reference.operators import Operators
from flowalg_reference.run import ReferenceRun, spec_of
from flowalg_reference.trigger_state import next_deadline

A = TypeVar("A")


@unique
class Reason(Enum):
    """Why a window has no pane, or no further one."""

    NO_ELEMENTS = "no element of the key has arrived for the window"
    DROPPED = "all elements for it were dropped"
    WAITING = "its trigger is waiting"
    NO_CHANGES = "it has no unemitted changes; its trigger is waiting"
    CLOSED = "its trigger has finished, so it accepts no more elements"
    MERGED = "it has been merged into a longer window"
    EXPIRED = "it has expired and its state is freed"


@frozen
class WhyNot(HasView):
    """Why a window has emitted no pane, or no further one, at a processing time.

    ``conditions`` are those that its trigger waits for. ``next_deadline`` is when it fires without new elements, and
    ``None`` if it has nothing to emit. ``hold`` is what holds the watermark, where the trigger waits for that.
    ``panes`` and ``drops`` are those of the window so far, and ``open_windows`` the open windows of the key.
    """

    grouping: str
    key: object
    window: Window
    processing_time: ProcessingTime
    watermark: EventTime
    reason: Reason
    panes: tuple[Pane[object], ...]
    drops: tuple[DroppedElement, ...]
    conditions: tuple[AwaitedCondition, ...]
    next_deadline: ProcessingTime | None
    hold: WatermarkHold | None
    open_windows: tuple[Window, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        clocks = f"at {self.processing_time}, with the watermark at {self.watermark}"
        yield f"{self.grouping}: {self.key!r} in {self.window}, {clocks}:"
        yield f"{self.reason.value}{':' if self.conditions else '.'}"
        yield from format_conditions(self.conditions)
        if self.panes:
            last = self.panes[-1].info
            yield f"Panes so far: {len(self.panes)}, the last at {last.processing_time}."
        if self.drops:
            reasons = ", ".join(sorted({drop.reason.value for drop in self.drops}))
            last_drop = self.drops[-1].processing_time
            yield f"Dropped elements: {len(self.drops)} ({reasons}), the last at {last_drop}."
        if self.next_deadline is not None:
            yield f"Without new elements it fires at {self.next_deadline}."
        if self.hold is not None:
            behind = timedelta(microseconds=self.window.end - self.watermark)
            yield f"The watermark is {behind} behind the end of the window. It is held by {self.hold}."
        if others := [str(window) for window in self.open_windows if window != self.window]:
            yield f"Open windows of the key: {', '.join(others)}."


@overload
def why_not(run: ReferenceRun[A], key: object, window: Window, *, at: datetime | None = None) -> WhyNot: ...
@overload
def why_not(run: ReferenceRun[A], key: object, *, at: datetime | None = None) -> KeyExplanation: ...
def why_not(
    run: ReferenceRun[A], key: object, window: Window | None = None, *, at: datetime | None = None
) -> WhyNot | KeyExplanation:
    """Explain why a window of a key has emitted no pane, or no further one, by the end of a run.

    Without ``window``, explain what the key of a computation is waiting for. With ``at`` the explanation is for that
    processing time. It concerns the last grouping of the pipeline, or its last computation.

    Raises ``ArgumentError`` for a key that is not hashable, for a time before the first instant of the run, for a
    window if the pipeline has no grouping, and for none if it has no computation.
    """
    if window is not None and not isinstance(window, Window):
        raise ArgumentError("window", window, "a Window, such as Window(start, end)")
    require_hashable(key)
    spec = spec_of(run)
    until = None if at is None else processing_time(at, argument="at")
    root, mode, history = spec.pipeline.node, spec.mode, history_of(spec)
    if window is None:
        computations = last_computations(root)
        if not computations:
            raise ArgumentError("window", None, "a Window, since the pipeline has no computation")
        recording = _required(record(root, mode, history, until), run, at)
        return explain_waiting(history, recording, computations, key)
    if not last_groupings(root):
        raise ArgumentError("window", window, "omitted, since the pipeline has no grouping")
    try:
        recording = record_key(root, mode, history, key, window, until)
    except (FlowalgError, NotSeparableError):
        recording = record(root, mode, history, until)
    return explain_missing(root, history, _required(recording, run, at), key, window)


def _required(recording: Recording, run: ReferenceRun[object], at: datetime | None) -> Recording:
    """Returns the recording, if it has an instant."""
    if recording.last is None:
        raise ArgumentError("at" if at else "run", at or run, "at or after an instant of the run")
    return recording


def require_hashable(key: object) -> None:
    """Raises ``ArgumentError`` for a key that is not hashable."""
    try:
        hash(key)
    except TypeError as unhashable:
        raise ArgumentError("key", key, "hashable") from unhashable


def record_key(
    root: Node, mode: Mode, history: History, key: object, window: Window, until: ProcessingTime | None
) -> Recording:
    """Records what ``explain_missing`` needs of a run with one grouping.

    Raises ``NotSeparableError`` for a pipeline whose keys cannot be replayed one by one (see ``Selection``).
    """
    grouping = require_separable(root)
    last_deadline = None if until is None else find_last_deadline(root, grouping, mode, history, until)
    end = len(history.times) if until is None else bisect_right(history.times, until)
    watermark = EventTime(history.watermarks[end - 1]) if end else MIN_TIME
    selection = select_state(grouping, window, key, watermark)
    return record_selected(root, grouping, mode, history, selection, until, last_deadline=last_deadline)


def explain_missing(
    root: Node, history: History, recording: Recording, key: object, window: Window
) -> WhyNot:
    """Explains why a window of a key has no pane, or no further one, at the end of a recording with an instant."""
    operators = recording.operators
    node = _grouping_with(root, operators, key, window)
    grouping = operators.groupings[id(node)]
    spec, clocks = grouping.spec, grouping.clocks
    evaluations = [
        evaluation
        for evaluation in recording.evaluations
        if evaluation.spec is spec and (evaluation.key, evaluation.window) == (key, window)
    ]
    infos = {id(element.info) for evaluation in evaluations for element in evaluation.panes}
    drops = tuple(drop for drop in grouping.drops if _is_of(drop, key, window))
    trigger, state = spec.strategy.trigger, grouping.windows.get(key, {}).get(window)
    conditions = () if state is None else tuple(awaited_conditions(trigger, state.trigger, window, clocks))
    awaits_watermark = any(_awaits_watermark(awaited.condition) for awaited in conditions)
    held = awaits_watermark and clocks.watermark < window.end
    return WhyNot(
        spec.label,
        key,
        window,
        clocks.processing_time,
        clocks.watermark,
        _reason(grouping, key, window, drops, evaluated=bool(evaluations)),
        tuple(pane for pane in recording.panes if id(pane.info) in infos),
        drops,
        conditions,
        None if state is None or not state.changed else next_deadline(trigger, state.trigger, window, clocks),
        watermark_hold(node.inputs, history, operators, clocks.processing_time) if held else None,
        tuple(sorted(grouping.windows.get(key, {}))),
    )


def _grouping_with(root: Node, operators: Operators, key: object, window: Window) -> GroupingNode:
    """Returns the last grouping; where panes of several are flattened, the one in which the window is open."""
    nodes = last_groupings(root)
    having = (node for node in nodes if window in operators.groupings[id(node)].windows.get(key, {}))
    return next(having, nodes[0])


def _is_of(drop: DroppedElement, key: object, window: Window) -> bool:
    """Returns whether a dropped element was of a key, and for a window or a part of it."""
    return covers(window, drop.window) and drop.key == key


def _reason(
    grouping: Grouping, key: object, window: Window, drops: tuple[DroppedElement, ...], *, evaluated: bool
) -> Reason:
    windows = grouping.windows.get(key, {})
    if window in windows:
        state = windows[window]
        if state.closed:
            return Reason.CLOSED
        return Reason.WAITING if state.changed else Reason.NO_CHANGES
    merges = grouping.fresh and as_merging(grouping.spec.strategy.windows) is not None
    if merges and any(covers(other, window) for other in windows):
        return Reason.MERGED
    if evaluated:
        return Reason.EXPIRED
    return Reason.DROPPED if drops else Reason.NO_ELEMENTS


def _awaits_watermark(condition: Condition) -> bool:
    """Returns whether a condition, or a part of it, waits for the watermark."""
    if isinstance(condition.trigger, AtWatermark):
        return condition.trigger.percentile is None and not condition.satisfied
    return any(map(_awaits_watermark, condition.parts))
