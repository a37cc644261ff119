"""The jobs of the conformance suite, by topic. Between them they use every feature (a test says so)."""

from typing import Final

from flowalg_laws.conformance.job import Job
from flowalg_laws.conformance.jobs import (
    combiners,
    refinements,
    sales,
    transforms,
    triggers,
    watermarks,
    windows,
)

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

__all__ = ["BATCH_JOBS", "JOBS"]
