"""The conformance suite for interpreters: named jobs, each with plain Python that computes the expected result.

``check_interpreter`` runs the suite. ``JOBS`` are all jobs, and ``covering`` selects jobs that together use all
features. ``strategies.pipelines`` and ``replays`` generate further pipelines and inputs.
"""

from flowalg_laws.conformance.check import Report, check_interpreter, examine_interpreter
from flowalg_laws.conformance.drops import DropGroup, count_drops
from flowalg_laws.conformance.generated import describe_run, replays
from flowalg_laws.conformance.jobs import BATCH_JOBS, JOBS, covering
from flowalg_laws.conformance.jobs.job import Job
from flowalg_laws.kit.replay import Feed, Replay

__all__ = [
    "BATCH_JOBS",
    "JOBS",
    "DropGroup",
    "Feed",
    "Job",
    "Replay",
    "Report",
    "check_interpreter",
    "count_drops",
    "covering",
    "describe_run",
    "examine_interpreter",
    "replays",
]
