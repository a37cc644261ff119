"""The trigger automaton: when a window's trigger is ready, and what becomes of it when it fires (section 6)."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from attrs import frozen

from flowalg.time import EventTime
from flowalg.triggers import AtWatermark, Repeat, Trigger
from flowalg.windows import Window


@frozen
class Waiting:
    """A once-trigger that has not fired since it was reset."""


@frozen
class Finished:
    """A trigger that will not fire again."""


@frozen
class Repeating:
    """A ``Repeat``, with the state of what it repeats."""

    inner: TriggerState


TriggerState: TypeAlias = Waiting | Finished | Repeating


def start(trigger: Trigger) -> TriggerState:
    """The state of a trigger that has seen nothing yet."""
    match trigger:
        case AtWatermark():
            return Waiting()
        case Repeat(trigger=inner):
            return Repeating(start(inner))
    assert_never(trigger)


def ready(trigger: Trigger, state: TriggerState, window: Window, watermark: EventTime) -> bool:
    """Whether the trigger fires if its window is evaluated now."""
    match trigger, state:
        case AtWatermark(), Waiting():
            return watermark >= window.end
        case Repeat(trigger=inner), Repeating(inner=inner_state):
            return ready(inner, inner_state, window, watermark)
        case _:
            return False


def fire(trigger: Trigger, state: TriggerState) -> TriggerState:
    """The state after firing."""
    match trigger, state:
        case Repeat(trigger=inner), Repeating(inner=inner_state):
            after = fire(inner, inner_state)
            return Repeating(start(inner) if isinstance(after, Finished) else after)
        case _:
            return Finished()


__all__ = ["Finished", "TriggerState", "fire", "ready", "start"]
