"""The record of each evaluation of a window, from which debugging explains a run."""

from __future__ import annotations

from attrs import frozen

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


__all__ = ["Evaluation"]
