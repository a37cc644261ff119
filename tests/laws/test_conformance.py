"""The conformance suite: the reference passes it, it covers every feature, and its parts work as documented.

The tests catch faults of the suite itself; ``tests/spark`` runs it on Spark.
"""

from __future__ import annotations

import re
from typing import get_args

import pytest
from flowalg_laws import pipelines
from flowalg_laws.conformance import JOBS, Replay, check_interpreter, covering, describe_run, replays
from flowalg_laws.kit.sketches import distinct_counts
from flowalg_reference import Reference, ReferenceBatch
from hypothesis import find, given

from flowalg import (
    FOREVER,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Mode,
    PCollection,
    Repeat,
    SequenceOf,
    Sessions,
    Sum,
)
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import AREA_OF, AnyFeature, Feature, describe_feature, features_of
from flowalg.combiners import ApproximateDistinct
from flowalg.combiners.core import Together
from flowalg.elementwise.steps import Filter, Map, Step
from flowalg.errors import ArgumentError
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import Flatten
from flowalg.pipeline.side_inputs import LatestComplete, View
from flowalg.triggers import Trigger
from flowalg.windows import WindowFn

COMMON: frozenset[AnyFeature] = frozenset(
    {
        Feature.STREAMING,
        GlobalWindows,
        FixedWindows,
        AtWatermark,
        Repeat,
        Accumulation.ACCUMULATING,
        Feature.LIMITED_LATENESS,
        FOREVER,
        Map,
        Filter,
        Sum,
        Count,
        Max,
        Together,
        BoundedOutOfOrderness,
    }
)
"""The features that every job needs."""


def test_the_reference_conforms_in_micro_batches() -> None:
    """In micro-batches the reference passes every job (oracle, transcript, batch theorem) and generated pipelines."""
    report = check_interpreter(Reference(Mode.MICRO_BATCH), ordered=True, generated=100)
    assert set(report.ran) == {job.name for job in JOBS}


def test_the_reference_conforms_continuously() -> None:
    """The reference passes every job as a continuous engine, with the same transcripts."""
    check_interpreter(Reference(), ordered=True)


def test_concurrent_jobs_are_reported_in_order() -> None:
    """Jobs that run concurrently are reported in the order of the suite."""
    in_turn = check_interpreter(Reference(Mode.MICRO_BATCH), jobs=JOBS[:9])
    together = check_interpreter(Reference(Mode.MICRO_BATCH), jobs=JOBS[:9], at_once=3)
    assert together == in_turn
    with pytest.raises(ArgumentError, match=r"at_once must be an int of one or more; got 0 \(int\)"):
        check_interpreter(Reference(Mode.MICRO_BATCH), at_once=0)


@pytest.mark.long
def test_the_reference_conforms_as_a_batch() -> None:
    """The reference passes every job as a batch, where triggers, modes and policies have no effect."""
    report = check_interpreter(ReferenceBatch(), ordered=True, generated=100)
    assert set(report.ran) == {job.name for job in JOBS}


@pytest.mark.long
def test_every_feature_has_a_minimal_job() -> None:
    """Every feature has a job with no other features than the common ones, so every stale declaration is found.

    The exceptions are several sources, which only occur in a union, a co-group or a side input, and what only refines
    another feature: side inputs that change slowly, signals to keys, and joins that select.
    """
    minimal = {
        feature
        for feature in AREA_OF
        for job in JOBS
        if feature in job.features and job.features <= COMMON | {feature}
    }
    refinements = {LatestComplete, Feature.SIGNALS_TO_KEYS, *(kind for kind in JoinKind if kind.selects)}
    lacking = set() if distinct_counts() else {ApproximateDistinct}
    assert AREA_OF.keys() - minimal == {Feature.SEVERAL_SOURCES, *refinements, *lacking}
    assert any(Feature.SEVERAL_SOURCES in job.features for job in JOBS)


def test_each_job_has_a_unique_name() -> None:
    """Each job has a unique name and a statement."""
    assert len({job.name for job in JOBS}) == len(JOBS)
    assert all(job.statement for job in JOBS)


def test_a_declaration_names_a_feature_and_a_reason() -> None:
    """A declaration names a feature that matters to the engine, with a reason."""
    with pytest.raises(
        ArgumentError, match="a key of Capabilities.missing must be a feature, such as .*; got 'sessions'"
    ):
        Capabilities("mine", {"sessions": "not yet"})  # type: ignore[dict-item]  # the error under test
    with pytest.raises(
        ArgumentError,
        match=r"Capabilities.missing\[`Sessions`\] must be the reason, a non-empty str; got ''",
    ):
        Capabilities("mine", {Sessions: ""})
    with pytest.raises(
        ArgumentError,
        match=r"a key of Capabilities.missing must be a feature that matters to a batch, .*; got .*AtCount",
    ):
        Capabilities("mine", {Feature.STREAMING: "no", AtCount: "no"})
    with pytest.raises(ArgumentError, match="Capabilities.interpreter must be a non-empty str; got ''"):
        Capabilities("")


def test_each_class_of_a_union_is_a_feature() -> None:
    """A trigger, window function, step or view is a feature by its class, and named by it in tables."""
    assert AREA_OF.keys() >= {*get_args(Trigger), *get_args(WindowFn), *get_args(Step), *get_args(View)}
    assert describe_feature(AtCount) == "`AtCount`"
    assert len(set(map(describe_feature, AREA_OF))) == len(AREA_OF)


def test_features_are_those_of_the_nodes_and_policies() -> None:
    """The features of a pipeline are those of its nodes and of the policies of its sources."""
    by_name = {job.name: job.features for job in JOBS}
    assert by_name["sessions that retract"] >= {Sessions, Accumulation.RETRACTING, SequenceOf}
    assert Flatten not in by_name["a co group of two sources"]
    assert Feature.REGROUPING not in by_name["a map of the same source"]
    assert by_name["idle partitions"] >= {Feature.PARTITIONS, Feature.IDLE_AFTER}


@given(pipelines(), replays())
def test_a_generated_pipeline_is_described_in_few_lines(
    pipeline: PCollection[object], replay: Replay
) -> None:
    """The description of a generated run is short enough for one screen."""
    text = describe_run(pipeline, replay)
    assert text.startswith(("readings", "("))
    assert len(text.splitlines()) <= 12


@pytest.mark.long
def test_generated_pipelines_shrink_to_the_simplest() -> None:
    """Generated pipelines shrink to a sum of one reading in the global window."""
    text = describe_run(find(pipelines(), lambda _: True), find(replays(), lambda _: True))
    path, *rest = text.splitlines()
    assert re.sub(r"\(\w+ at [^)]*\)", "", path) == (
        "readings > key_by > map_values > window(one global window) > combine_per_key(Sum)"
    )
    assert rest == [
        "window: one global window, whenever the watermark passes, retracting, lateness unlimited, "
        "at the end of window, on time if changed",
        "watermark: the greatest event time observed, minus 0:00:00",
        "0: a=0 of 0, watermark 0",
        "0: nothing, watermark the end",
    ]


@pytest.mark.long
def test_few_jobs_cover_every_feature() -> None:
    """Half of the jobs cover every feature that the jobs use, for interpreters with expensive runs."""
    few = covering(JOBS)
    assert {feature for job in few for feature in job.features} == {
        feature for job in JOBS for feature in job.features
    }
    assert len(few) <= len(JOBS) // 2


def test_only_supported_features_are_generated() -> None:
    """Generated pipelines use supported features only, so they can test a limited interpreter."""
    limited = Capabilities("little", {feature: "not yet" for feature in AREA_OF if feature not in COMMON})

    @given(pipelines(limited), replays(limited))
    def check(pipeline: PCollection[object], replay: Replay) -> None:
        assert not limited.lacking(features_of(pipeline) | replay.features)

    check()
