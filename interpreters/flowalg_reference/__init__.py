"""The reference interpreter: the semantics in executable form, in plain Python.

It is direct rather than fast, and every engine is held to it, pane by pane. ``Reference`` is the interpreter, and
``run`` its short form. Its runs explain themselves: ``explain_when`` an output was emitted, and ``why_not``.
"""

from flowalg_reference.capabilities import CAPABILITIES
from flowalg_reference.debugging.conditions import AwaitedCondition, Condition
from flowalg_reference.debugging.events import ArrivedElement, SetTimer
from flowalg_reference.debugging.explain_output import OutputExplanation
from flowalg_reference.debugging.explain_waiting import KeyExplanation, KeyStatus
from flowalg_reference.debugging.explain_when import Cause, Explanation, explain_when
from flowalg_reference.debugging.watermark_hold import WatermarkHold
from flowalg_reference.debugging.why_not import Reason, WhyNot, why_not
from flowalg_reference.run import (
    Reference,
    ReferenceBatch,
    ReferenceRun,
    RunSpec,
    WatermarkReading,
    run,
    run_batch,
)

__all__ = [
    "CAPABILITIES",
    "ArrivedElement",
    "AwaitedCondition",
    "Cause",
    "Condition",
    "Explanation",
    "KeyExplanation",
    "KeyStatus",
    "OutputExplanation",
    "Reason",
    "Reference",
    "ReferenceBatch",
    "ReferenceRun",
    "RunSpec",
    "SetTimer",
    "WatermarkHold",
    "WatermarkReading",
    "WhyNot",
    "explain_when",
    "run",
    "run_batch",
    "why_not",
]
