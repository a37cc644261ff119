"""The conformance suite for interpreters: named jobs, each beside plain Python that says what it must give.

``check_interpreter`` is the one call. ``JOBS`` are the jobs, of which ``covering`` takes some; ``strategies.pipelines``
and ``replays`` generate others.
"""

from flowalg_laws.conformance.check import Report, check_interpreter, examine_interpreter
from flowalg_laws.conformance.generated import described, replays
from flowalg_laws.conformance.jobs import BATCH_JOBS, JOBS, covering
from flowalg_laws.conformance.jobs.job import Job
from flowalg_laws.conformance.jobs.replay import Feed, Replay
from flowalg_laws.conformance.outcome import Outcome, Refused, Runner, counted

__all__ = [
    "BATCH_JOBS",
    "JOBS",
    "Feed",
    "Job",
    "Outcome",
    "Refused",
    "Replay",
    "Report",
    "Runner",
    "check_interpreter",
    "counted",
    "covering",
    "described",
    "examine_interpreter",
    "replays",
]
