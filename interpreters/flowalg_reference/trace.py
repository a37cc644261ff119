"""What happened each time that a window was looked at: what explanations are made of."""

from __future__ import annotations

from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.windows.window import Window
from flowalg_reference.elements import Clocks, Element
from flowalg_reference.trigger_state import TriggerState
from flowalg_reference.window_state import Rules


@frozen
class Evaluation:
    """One window of one key in one instant: its state as the trigger was asked, the clocks, and what it gave.

    ``watermark`` is where it was before the instant.
    """

    rules: Rules
    key: object
    window: Window
    state: TriggerState
    changed: bool
    watermark: EventTime
    clocks: Clocks
    gave: tuple[Element, ...]


__all__ = ["Evaluation"]
