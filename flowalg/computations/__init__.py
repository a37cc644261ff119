"""Computations: user code per key, with state and timers (MillWheel, section 4; SEMANTICS section 17)."""

from flowalg.computations.computation import Computation, Late, Processor
from flowalg.computations.contents import KeyContents, WaitingElement
from flowalg.computations.transition import Clocks, EventTimer, Observed, ProcessingTimer, Timer, Transition

__all__ = [
    "Clocks",
    "Computation",
    "EventTimer",
    "KeyContents",
    "Late",
    "Observed",
    "ProcessingTimer",
    "Processor",
    "Timer",
    "Transition",
    "WaitingElement",
]
