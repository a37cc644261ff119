"""The jobs of the conformance suite, by topic. Between them they use every feature (a test says so)."""

from collections.abc import Sequence
from typing import Final

from flowalg_laws.conformance.jobs import (
    combiners,
    refinements,
    sales,
    transforms,
    triggers,
    watermarks,
    windows,
)
from flowalg_laws.conformance.jobs.job import Job

JOBS: Final[tuple[Job, ...]] = (
    *sales.JOBS,
    *windows.JOBS,
    *triggers.JOBS,
    *refinements.JOBS,
    *combiners.JOBS,
    *transforms.JOBS,
    *watermarks.JOBS,
)
"""Every job."""

BATCH_JOBS: Final[tuple[Job, ...]] = (
    *sales.JOBS,
    *windows.JOBS,
    *refinements.PANE_TIMES,
    *combiners.JOBS,
    *transforms.JOBS,
)
"""Those that differ as batches, for an interpreter to which a run is dear: the others are one batch over and over."""


def covering(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Some of the jobs that between them use every feature that all of them use, for an interpreter of dear runs.

    Greedy: each is the first of those that use the most of what is still unused.
    """
    left = {feature for job in jobs for feature in job.features}
    chosen: list[Job] = []
    while left:
        best = max(jobs, key=lambda job: len(job.features & left))
        chosen.append(best)
        left -= best.features
    return tuple(chosen)


__all__ = ["BATCH_JOBS", "JOBS", "covering"]
