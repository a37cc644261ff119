"""``make agree`` finds an engine that differs, shrinks the case and keeps it; the cases that were kept agree."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest
from attrs import evolve, frozen
from flowalg_reference import Reference
from pyspark.sql import SparkSession

from flowalg import FixedWindows, Mode, Outputs, PCollection, Run
from flowalg.analysis import Capabilities
from tests.differential.case import Case, Compared, kept_cases
from tests.differential.settings import comparer_of, engines_on, local_engines
from tests.support.engines import Collections, Engine, Timelines

MICRO_BATCHES = Reference(Mode.MICRO_BATCH)
REFERENCE = Compared("the reference", MICRO_BATCHES, ordered=True)


@frozen
class Losing(Engine):
    """The reference, which loses the last pane of windows that emit several, and declares what it is given."""

    capabilities: Capabilities = MICRO_BATCHES.capabilities

    def execute(self, outputs: PCollection[object] | Collections, inputs: Timelines) -> Run[object] | Outputs:
        """Runs a pipeline without the last pane, if it is not the first of its window."""
        if not isinstance(outputs, PCollection):
            return MICRO_BATCHES.run(outputs, inputs)
        run = MICRO_BATCHES.run(outputs, inputs)
        lost = bool(run.panes) and run.panes[-1].info.index > 0
        return evolve(run, panes=run.panes[:-1]) if lost else run


@pytest.mark.long
def test_a_case_that_differs_is_shrunk_and_kept(tmp_path: Path) -> None:
    """An engine that loses panes differs; its smallest case has few records, and its file repeats the difference."""
    losing = Compared("losing", Losing(), ordered=True)

    result = comparer_of([REFERENCE, losing]).compare_generated(200, seed=2)
    (difference,) = result.differences
    assert isinstance(difference.case, Case)
    difference.case.save(tmp_path)

    assert result.cases > 0
    assert difference.text.startswith("losing differs")
    assert len(difference.case.replay.feeds[0].records) <= 2, str(difference)
    assert kept_cases(tmp_path) == [difference.case]
    assert comparer_of([losing], tmp_path).compare_kept().differences == (difference,)
    assert comparer_of([REFERENCE], tmp_path).compare_kept().differences == ()


def test_an_engine_that_runs_what_it_declares_missing_differs() -> None:
    """A declaration that is not kept is a difference."""
    declared = Capabilities("declared", {FixedWindows: "a test"})

    running = Compared("running", Losing(declared), ordered=True)
    result = comparer_of([running]).compare_generated(200, seed=1)

    assert "it ran, but lacks" in result.differences[0].text


@pytest.mark.long
def test_nothing_is_compared_after_the_time() -> None:
    """The time ends a comparison."""
    assert comparer_of([REFERENCE]).compare_generated(200, 1, monotonic() - 1).cases == 0


def test_the_local_engine_agrees_on_the_kept_cases() -> None:
    """What once differed does not differ again."""
    assert not comparer_of(local_engines()).compare_kept().differences


def test_spark_agrees_on_the_kept_cases(spark: SparkSession) -> None:
    """What once differed does not differ again on Spark."""
    assert not comparer_of(engines_on(spark)).compare_kept().differences
