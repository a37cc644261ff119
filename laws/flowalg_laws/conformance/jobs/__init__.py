"""The jobs of the conformance suite, by topic. Together they use every feature, which a test checks."""

from collections.abc import Collection, Sequence
from typing import Final

from flowalg.analysis.features import AREA_OF, AnyFeature
from flowalg_laws.conformance.jobs import (
    combiners,
    computations,
    corrections,
    dead_letters,
    joins,
    metadata,
    outputs,
    refinements,
    sales,
    sums,
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
    *corrections.JOBS,
    *combiners.JOBS,
    *transforms.JOBS,
    *sums.JOBS,
    *joins.JOBS,
    *computations.JOBS,
    *metadata.JOBS,
    *watermarks.JOBS,
    *outputs.JOBS,
    *dead_letters.JOBS,
)
"""All jobs."""

BATCH_JOBS: Final[tuple[Job, ...]] = (
    *sales.JOBS,
    *windows.JOBS,
    *refinements.PANE_TIMES,
    *combiners.JOBS,
    *transforms.JOBS,
    *sums.JOBS,
    *joins.JOBS,
    *computations.JOBS,
    *metadata.JOBS,
    *outputs.JOBS,
    *dead_letters.JOBS,
)
"""The jobs that differ as batches, for interpreters with expensive runs; as batches the other jobs are identical."""


def covering(jobs: Sequence[Job], features: Collection[AnyFeature] = tuple(AREA_OF)) -> tuple[Job, ...]:
    """Returns jobs that together use every feature that all jobs use, for interpreters with expensive runs.

    Only the given ``features`` count. The choice is greedy: each is the first of the jobs that use the most features
    not used yet.
    """
    counted = {id(job): job.features.intersection(features) for job in jobs}
    left = set[AnyFeature]().union(*counted.values())
    chosen: list[Job] = []
    while left:
        best = max(jobs, key=lambda job: len(counted[id(job)] & left))
        chosen.append(best)
        left -= counted[id(best)]
    return tuple(chosen)


__all__ = ["BATCH_JOBS", "JOBS", "covering"]
