"""The record of each evaluation of a window and of each call of a computation, from which debugging explains a run."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from flowalg.computations.calls import Calls, Effect, FailedTransition, PendingTimer
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element
from flowalg.windows.window import Window
from flowalg_reference.trigger_state import TriggerState
from flowalg_reference.window_state import GroupingSpec


@frozen
class Evaluation:
    """One evaluation of a window: the state of its trigger just before, the clocks, and the panes that it emitted.

    ``vacant`` says that the window holds nothing any more, since it has come apart.
    """

    spec: GroupingSpec
    key: object
    window: Window
    trigger_state: TriggerState
    clocks: Clocks
    panes: tuple[Element, ...]
    vacant: bool = False


@frozen(eq=False)
class Receipt:
    """An element that a computation has received, and the processing time of that instant."""

    element: Element
    time: ProcessingTime


@frozen(eq=False)
class Call:
    """One call of a function of a computation: its arguments, and its effect, or how it failed.

    ``event`` is the element that it observes or the timer that fires, and ``clocks`` are the processing time and the
    watermark that it receives.
    """

    calls: Calls
    key: object
    event: Element | PendingTimer
    clocks: tuple[ProcessingTime, EventTime]
    state: object
    effect: Effect | FailedTransition


Traced: TypeAlias = Evaluation | Receipt | Call
"""What a replay records."""
