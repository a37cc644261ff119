"""``make agree`` finds an engine that differs, shrinks the case and keeps it; the cases that were kept agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import TypeVar

import pytest
from attrs import evolve, frozen
from flowalg_reference import Reference
from pyspark.sql import SparkSession

from flowalg import Capabilities, Mode, Outputs, PCollection, Run, Timeline
from flowalg.analysis.features import Feature
from flowalg.runs.inputs import AnySource
from tests.differential.agree.case import CORPUS, read_case
from tests.differential.agree.comparing import Compared, compare_generated, compare_kept, difference_of
from tests.differential.agree.engines import engines_on, local

A = TypeVar("A")
MICRO_BATCHES = Reference(Mode.MICRO_BATCH)
REFERENCE = Compared("the reference", MICRO_BATCHES, ordered=True)


@frozen
class Losing:
    """The reference, which loses the last pane of windows that emit several, and declares what it is given."""

    capabilities: Capabilities = MICRO_BATCHES.capabilities

    def run(self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> Run[A]:
        """Runs without the last pane, if it is not the first of its window."""
        run = MICRO_BATCHES.run(pipeline, inputs)
        lost = bool(run.panes) and run.panes[-1].info.index > 0
        return evolve(run, panes=run.panes[:-1]) if lost else run

    def run_all(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> Outputs:
        """Runs as the reference."""
        return MICRO_BATCHES.run_all(outputs, inputs)


@pytest.mark.long
def test_a_case_that_differs_is_shrunk_and_kept(tmp_path: Path) -> None:
    """An engine that loses panes differs; its smallest case has few records, and its file repeats the difference."""
    losing = Compared("losing", Losing(), ordered=True)

    result = compare_generated([REFERENCE, losing], monotonic() + 600, seed=2)
    (difference,) = result.differences
    kept = difference.case.save(tmp_path)

    assert result.cases > 0
    assert difference.engine == "losing"
    assert len(difference.case.replay.feeds[0].records) <= 2, str(difference)
    assert read_case(kept) == difference.case
    assert difference_of(read_case(kept), [losing]) == difference
    assert difference_of(read_case(kept), [REFERENCE]) is None
    assert compare_kept([losing], tmp_path).differences == (difference,)


def test_an_engine_that_runs_what_it_declares_missing_differs() -> None:
    """A declaration that is not kept is a difference."""
    declared = Capabilities("declared", {Feature.FIXED_WINDOWS: "a test"})

    running = Compared("running", Losing(declared), ordered=True)
    result = compare_generated([running], monotonic() + 600, seed=1)

    assert "it ran, but lacks" in result.differences[0].text


@pytest.mark.long
def test_nothing_is_compared_after_the_time() -> None:
    """The time ends a comparison."""
    assert compare_generated([REFERENCE], monotonic() - 1, seed=1).cases == 0


def test_the_local_engine_agrees_on_the_kept_cases() -> None:
    """What once differed does not differ again."""
    for engines in local():
        assert not compare_kept(engines, CORPUS).differences


def test_spark_agrees_on_the_kept_cases(spark: SparkSession) -> None:
    """What once differed does not differ again on Spark."""
    assert not compare_kept(engines_on(spark), CORPUS).differences
