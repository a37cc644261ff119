"""The reference interpreter: the semantics in executable form, in plain Python.

It is direct rather than fast, and every engine is held to it, pane by pane.
"""

from flowalg_reference.capabilities import CAPABILITIES
from flowalg_reference.run import Mode, Run, WatermarkReading, run, run_batch

__all__ = ["CAPABILITIES", "Mode", "Run", "WatermarkReading", "run", "run_batch"]
