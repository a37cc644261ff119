"""Why a window has not come out: a run, gone through again as far as one likes, and asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum, unique
from typing import TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import EventTime, ProcessingTime, processing_time, show
from flowalg.elementwise.functions import require_keyed
from flowalg.pipeline.nodes import GroupingNode
from flowalg.pipeline.structure import last_groupings
from flowalg.runs.panes import Drop, Pane
from flowalg.triggers.syntax import AtWatermark
from flowalg.windows.window import Window, covers
from flowalg.windows.window_functions import merging
from flowalg_reference.debugging.conditions import Clause, Watched, told, watched
from flowalg_reference.debugging.watermark_hold import Holder, holder
from flowalg_reference.grouping import Grouping
from flowalg_reference.operators import Operators
from flowalg_reference.run import Origin, Run, driven, origin_of
from flowalg_reference.trace import Evaluation
from flowalg_reference.trigger_state import due

A = TypeVar("A")


@unique
class Reason(Enum):
    """Why there is no pane of a window, or no further one."""

    NOTHING_CAME = "no element of the key has come into the window"
    REFUSED = "all that came for it was refused"
    WAITING = "its trigger waits"
    SHOWN = "there is nothing in it that no pane has shown; its trigger waits"
    CLOSED = "its trigger has finished, and it takes nothing more"
    MERGED = "it has become part of a longer window"
    FREED = "it has expired and is freed"


@frozen
class WhyNot:
    """Why a window has not come out, or not again, at a point of processing time.

    ``watched`` is what its trigger waits for, ``due`` when it fires if nothing but the processing time goes on, and
    ``holder`` what holds the watermark, where it waits for that. ``panes`` and ``drops`` are those of the window so
    far, and ``open`` the windows of the key that are open.
    """

    grouping: str
    key: object
    window: Window
    processing_time: ProcessingTime
    watermark: EventTime
    reason: Reason
    panes: tuple[Pane[object], ...]
    drops: tuple[Drop, ...]
    watched: tuple[Watched, ...]
    due: ProcessingTime | None
    holder: Holder | None
    open: tuple[Window, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        now, mark = show(self.processing_time), show(self.watermark)
        yield f"{self.grouping}: {self.key!r} in {self.window}, at {now}, with the watermark at {mark}:"
        yield f"{self.reason.value}{':' if self.watched else '.'}"
        yield from told(self.watched)
        if self.panes:
            last = self.panes[-1].info
            yield f"Panes so far: {len(self.panes)}, the last at {show(last.processing_time)}."
        if self.drops:
            reasons = ", ".join(sorted({one.reason.value for one in self.drops}))
            last_drop = show(self.drops[-1].processing_time)
            yield f"Refused elements: {len(self.drops)} ({reasons}), the last at {last_drop}."
        if self.due is not None:
            yield f"By the processing time alone it fires at {show(self.due)}."
        if self.holder is not None:
            behind = timedelta(microseconds=self.window.end - self.watermark)
            yield f"The watermark is {behind} behind the end of the window. It is held by {self.holder}."
        if others := [str(one) for one in self.open if one != self.window]:
            yield f"Open windows of the key: {', '.join(others)}."


def why_not(run: Run[A], key: object, window: Window, *, at: datetime | None = None) -> WhyNot:
    """Why a key's window has not come out, or not again: after all of a run, or ``at`` a point of processing time.

    It is asked of the last grouping. Raises ``ArgumentError`` for a key that is not hashable, and for a point before
    the run's first instant.
    """
    if not isinstance(window, Window):
        raise ArgumentError("window", window, "a Window, such as Window.of(start, end)")
    try:
        hash(key)
    except TypeError as unhashable:
        raise ArgumentError("key", key, "a key, which is hashable") from unhashable
    origin = origin_of(run)
    until = None if at is None else processing_time(at, argument="at")
    evaluations: list[Evaluation] = []
    operators = Operators(evaluations.append)
    again = driven(origin, operators, until)
    if not again.watermarks:
        raise ArgumentError("at" if at else "run", at or run, "at or after an instant of the run")
    node = _asked(origin, operators, key, window)
    grouping = operators.groupings[id(node)]
    looks = [
        one for one in evaluations if one.rules is grouping.rules and (one.key, one.window) == (key, window)
    ]
    infos = {id(element.info) for one in looks for element in one.gave}
    drops = tuple(one for one in grouping.drops if _is_of(one, key, window, grouping.rules.label))
    reason = _reason(grouping, key, window, drops, seen=bool(looks))
    trigger, clocks = grouping.rules.strategy.trigger, grouping.clocks
    cell = grouping.cells.get(key, {}).get(window)
    waits = () if cell is None else tuple(watched(trigger, cell.trigger, window, clocks))
    held = any(_awaits_watermark(one.clause) for one in waits) and clocks.watermark < window.end
    return WhyNot(
        grouping.rules.label,
        key,
        window,
        clocks.processing_time,
        clocks.watermark,
        reason,
        tuple(pane for pane in again.panes if id(pane.info) in infos),
        drops,
        waits,
        None if cell is None else due(trigger, cell.trigger, window, clocks),
        None
        if not held
        else min(
            (holder(inner, origin, operators, clocks.processing_time) for inner in node.inputs),
            key=lambda one: one.at,
        ),
        tuple(sorted(grouping.cells.get(key, {}))),
    )


def _asked(origin: Origin, operators: Operators, key: object, window: Window) -> GroupingNode:
    """The grouping that a question is about: the one that has the window open, where panes of several are flattened."""
    last = last_groupings(origin.pipeline.node)
    return next((one for one in last if window in operators.groupings[id(one)].cells.get(key, {})), last[0])


def _is_of(drop: Drop, key: object, window: Window, label: str) -> bool:
    """Whether what was refused was of a key, for a window or a part of it."""
    return covers(window, drop.window) and require_keyed(drop.element, label).key == key


def _reason(
    grouping: Grouping, key: object, window: Window, drops: tuple[Drop, ...], *, seen: bool
) -> Reason:
    cells = grouping.cells.get(key, {})
    if window in cells:
        cell = cells[window]
        if cell.closed:
            return Reason.CLOSED
        return Reason.WAITING if cell.changed else Reason.SHOWN
    merges = grouping.fresh and merging(grouping.rules.strategy.windows) is not None
    if merges and any(covers(one, window) for one in cells):
        return Reason.MERGED
    if seen:
        return Reason.FREED
    return Reason.REFUSED if drops else Reason.NOTHING_CAME


def _awaits_watermark(clause: Clause) -> bool:
    """Whether some of what a clause waits for is the watermark."""
    if isinstance(clause.trigger, AtWatermark):
        return clause.trigger.percentile is None and not clause.holds
    return any(map(_awaits_watermark, clause.parts))


__all__ = ["Reason", "WhyNot", "why_not"]
