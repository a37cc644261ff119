"""Whole pipelines through the shard step, without Spark, against the reference and by the conformance suite.

This family catches faults of the vectorised semantics in everything that a pipeline can be made of: every window,
trigger, mode and combiner, several groupings, several partitions and shards, clocks in band. ``make step-thorough``
tries far more. It cannot catch faults of an engine; ``test_spark.py`` does.
"""

from __future__ import annotations

import flowalg_reference
import pytest
from flowalg_laws.conformance import JOBS, check_interpreter
from flowalg_reference import Mode
from flowalg_shard.local import Cluster, Waking
from hypothesis import given, settings

from tests.shard_runs import stepping
from tests.step_pairs import Pair, pairs


@settings(max_examples=500)
@given(pairs())
def test_the_step_is_the_reference(pair: Pair) -> None:
    """Pane by pane, in order, and drop by drop."""
    assert pair.difference() == ""


@pytest.mark.parametrize("cluster", [Cluster(), Cluster(partitions=2, shards=3)], ids=str)
def test_the_step_conforms(cluster: Cluster) -> None:
    """Every job of the suite: oracle, transcript and reference. Nothing is missing."""
    report = check_interpreter(stepping(cluster), flowalg_reference.CAPABILITIES, ordered=True)
    assert set(report.ran) == {job.name for job in JOBS}


def test_the_step_conforms_when_it_wakes_at_deadlines() -> None:
    """As a continuous engine does."""
    woken = stepping(Cluster(), Waking.AT_DEADLINES)
    check_interpreter(woken, flowalg_reference.CAPABILITIES, mode=Mode.CONTINUOUS, ordered=True)
