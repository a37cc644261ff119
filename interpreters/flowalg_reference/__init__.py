"""The reference interpreter: the semantics in executable form, in plain Python.

It is direct rather than fast, and every engine is held to it, pane by pane. Its runs can be asked why: ``explain_when``
of a pane, ``why_not`` of a window that has not come out.
"""

from flowalg_reference.capabilities import CAPABILITIES
from flowalg_reference.debugging.conditions import AwaitedCondition, Condition
from flowalg_reference.debugging.explain_when import Cause, Explanation, explain_when
from flowalg_reference.debugging.watermark_hold import WatermarkHold
from flowalg_reference.debugging.why_not import Reason, WhyNot, why_not
from flowalg_reference.run import Mode, Origin, Run, WatermarkReading, run, run_batch

__all__ = [
    "CAPABILITIES",
    "AwaitedCondition",
    "Cause",
    "Condition",
    "Explanation",
    "Mode",
    "Origin",
    "Reason",
    "Run",
    "WatermarkHold",
    "WatermarkReading",
    "WhyNot",
    "explain_when",
    "run",
    "run_batch",
    "why_not",
]
