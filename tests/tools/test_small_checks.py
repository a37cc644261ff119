"""The checks that pages cite hold for few cases, kills and seconds, and end with their line.

Those that are not here have a test of their own: crash points, figures, generated pages, mutants, peers, and the soak.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.components import broker
from tests.components.jars import missing_jars
from tests.support.programs import HOURS, SECONDS, run_program

ROOT = Path(__file__).parents[2]
CHECKS = {
    "differential chains --cases 20": r"chains: 20 of 20 converge",
    "differential step --cases 20": r"step: 20 of 20 equal",
    "differential local --cases 20": r"local: 20 of 20 equal",
    "faults local --kills 2": r"faults on the local engine: (\d+) survived of \1",
}
"""The checks that need no Spark, with few cases or kills, and their last lines."""

ON_SPARK = {
    "differential streaming --generated 2 --only fixed": r"streaming: (\d+) of \1 equal",
    "differential agree --minutes 0.2 --processes 1": r"agree: .*; all equal",
    "differential replay": r"replay: equal",
    "faults spark --kills 1": r"faults: (\d+) survived of \1",
    "faults cluster --executors 1 --workers 1 --drivers 1": r"cluster: all held, .*",
}
"""The checks that start Spark; those of faults have a number of other kills too, and take minutes."""


def run_check(check: str, last: str, seconds: float = HOURS) -> None:
    """Runs a check, which must end well, with a last line."""
    command = [sys.executable, "-m", *f"tests.{check}".split()]
    finished = run_program(command, cwd=ROOT, seconds=seconds)
    assert finished.returncode == 0, finished.stdout + finished.stderr[-4_000:]
    assert re.fullmatch(last, finished.stdout.splitlines()[-1])


@pytest.mark.thorough
@pytest.mark.parametrize("check", CHECKS)
def test_a_check_without_spark_holds_for_few_cases(check: str) -> None:
    """The check ends with the line that pages cite."""
    run_check(check, CHECKS[check])


@pytest.mark.thorough
@pytest.mark.spark
@pytest.mark.parametrize("check", ON_SPARK)
def test_a_check_on_spark_holds_for_few_cases(check: str) -> None:
    """The check ends with the line that pages cite."""
    run_check(check, ON_SPARK[check])


@pytest.mark.thorough
@pytest.mark.spark
def test_the_check_of_topics_holds_for_few_messages() -> None:
    """One run, one kill on each engine, and every failure."""
    lacking = broker.missing() or missing_jars("spark-kafka")
    if lacking is not None:
        pytest.skip(lacking)
    run_check("faults kafka --runs 1 --kills 1 --spark-kills 2 --messages 600", r"kafka: all held: .*")


@pytest.mark.thorough
@pytest.mark.spark
def test_the_check_of_lakehouses_holds_for_one_kill() -> None:
    """One kill, the page, and the tests."""
    if not (ROOT / "build" / "lakehouse" / "4.1" / "ready").exists():
        pytest.skip("make lakehouse-check makes the environments")
    run_check("faults lakehouse --kills 1", r"lakehouse: all held: .*")


@pytest.mark.thorough
@pytest.mark.spark
def test_the_figures_are_those_of_real_queries() -> None:
    """All figures, on the local engine and on Spark."""
    command = [sys.executable, "-m", "figures.streaming"]
    finished = run_program(command, cwd=ROOT, seconds=HOURS)
    assert finished.returncode == 0, finished.stdout + finished.stderr[-4_000:]


@pytest.mark.long
def test_the_step_agrees_on_five_cases() -> None:
    """The cheapest check of generated cases ends with its line."""
    run_check("differential step --cases 5 --seed 1 --processes 1", "step: 5 of 5 equal", SECONDS)
