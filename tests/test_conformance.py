"""The conformance suite: the reference passes it, it covers every feature, and it bites.

This family catches faults of the suite itself; what it says of Spark is in ``test_spark.py``.
"""

from __future__ import annotations

import flowalg_reference
from flowalg_laws.conformance import JOBS, check_interpreter
from flowalg_reference import Mode

from flowalg.features import Feature
from tests.conformance_runs import BATCHES_ONLY, batch, continuous, micro_batches

COMMON = frozenset(
    {
        Feature.STREAMING,
        Feature.GLOBAL_WINDOWS,
        Feature.FIXED_WINDOWS,
        Feature.AT_WATERMARK,
        Feature.REPEAT,
        Feature.ACCUMULATING,
        Feature.LIMITED_LATENESS,
        Feature.LATENESS_FOREVER,
        Feature.ELEMENT_WISE,
        Feature.SUM,
        Feature.COUNT,
        Feature.MAX,
        Feature.TOGETHER,
        Feature.BOUNDED_DISORDER,
    }
)
"""What an interpreter has before it has anything else."""


def test_the_reference_conforms_by_micro_batches() -> None:
    """Every job: oracle, transcript and batch theorem; and generated pipelines by the theorem."""
    report = check_interpreter(micro_batches, flowalg_reference.CAPABILITIES, ordered=True, generated=100)
    assert set(report.ran) == {job.name for job in JOBS}


def test_the_reference_conforms_continuously() -> None:
    """Where a trigger waits for the clock there is a micro-batch, so that the transcripts hold for both."""
    check_interpreter(continuous, flowalg_reference.CAPABILITIES, mode=Mode.CONTINUOUS, ordered=True)


def test_the_reference_conforms_as_a_batch() -> None:
    """Every job, its triggers, modes and policies without effect."""
    report = check_interpreter(batch, BATCHES_ONLY, ordered=True, generated=100)
    assert set(report.ran) == {job.name for job in JOBS}


def test_every_feature_has_a_job_of_its_own() -> None:
    """A job that uses it beside what everybody has: so no stale declaration hides behind another one.

    Several sources only ever meet in a union, a co-group or a side input.
    """
    alone = {one for one in Feature for job in JOBS if one in job.features and job.features <= COMMON | {one}}
    assert set(Feature) - alone == {Feature.SEVERAL_SOURCES}
    assert any(Feature.SEVERAL_SOURCES in job.features for job in JOBS)


def test_each_job_has_a_name_of_its_own() -> None:
    """And says what it is about."""
    assert len({job.name for job in JOBS}) == len(JOBS)
    assert all(job.statement for job in JOBS)
