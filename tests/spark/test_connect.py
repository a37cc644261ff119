"""Spark batch over Spark Connect, in a separate process: the conformance suite, and operations on compiled frames.

These tests catch a dependence on classic Spark: contexts, JVM handles and frames of its class.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support import visiting
from tests.support.over_connect import COMPARABLE, COVERING, GENERATED, STREAMED
from tests.support.programs import HOURS, SECONDS, run_program
from tests.support.sink_cases import current_panes

CHECKS = (
    "use_frame",
    "run_two_outputs",
    "raise_error",
    "conform",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The results of checks in a process with a local Connect server, by name."""
    return over_connect(tmp_path_factory.mktemp("connect"), *CHECKS)


def over_connect(folder: Path, *names: str, seconds: float = SECONDS) -> dict[str, str]:
    """Runs checks in a process with a local Connect server; returns their results by name, and its whole output."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Spark then chooses a free port.
        "SPARK_TESTING": "1",
    }
    command = [sys.executable, "-m", "tests.support.over_connect", str(folder), *names]
    process = run_program(command, env=environment, seconds=seconds)
    assert process.returncode == 0, f"{process.stdout[-3000:]}\n{process.stderr[-6000:]}"
    (folder / "printed").write_text(process.stdout)
    lines = dict(line.split(": ", 1) for line in process.stdout.splitlines() if ": " in line)
    return {**lines, "printed": process.stdout}


@pytest.mark.spark
def test_batch_conforms_over_connect(results: dict[str, str]) -> None:
    """Jobs with joins, side inputs, computations and sessions, and generated pipelines, have the reference's panes."""
    assert results["conform"] == f"{len(COVERING)} jobs of {len(COVERING)}, {GENERATED} generated"


@pytest.mark.thorough
@pytest.mark.spark
def test_batch_conforms_over_connect_in_all_jobs(tmp_path: Path) -> None:
    """Every batch job of the conformance suite without bad records has the panes of the reference."""
    results = over_connect(tmp_path, "conform_in_all_jobs", seconds=HOURS)
    assert (
        results["conform_in_all_jobs"]
        == f"{len(COMPARABLE)} jobs of {len(COMPARABLE)}, {GENERATED} generated"
    )


@pytest.mark.spark
def test_a_compiled_frame_supports_all_operations_over_connect(results: dict[str, str]) -> None:
    """A Connect frame is explained, written, read, joined and used as a view."""
    assert results["use_frame"] == "pyspark.sql.connect.dataframe"
    assert "key_by(<lambda> at tests/support/scores.py:" in results["printed"]
    assert "== Physical Plan ==" in results["printed"]


@pytest.mark.spark
def test_several_outputs_are_one_query_over_connect(results: dict[str, str]) -> None:
    """Two outputs have results of their types."""
    assert results["run_two_outputs"] == (
        "[KV(key='a', value=3), KV(key='b', value=4), KV(key='a', value=5)] and [4, 5]"
    )


@pytest.mark.spark
def test_errors_over_connect_have_the_message(results: dict[str, str]) -> None:
    """An error from the server has the source, the field and the remedy."""
    assert "source 'scores': at must be of type datetime; got null" in results["raise_error"]


@pytest.mark.thorough
@pytest.mark.spark
def test_streams_run_over_connect(tmp_path: Path) -> None:
    """Queries of several stages, one of them with a side input, agree with the reference."""
    results = over_connect(tmp_path, "run_streams")
    assert results["run_streams"] == f"{len(STREAMED)} jobs of {len(STREAMED)}"


@pytest.mark.thorough
@pytest.mark.spark
def test_a_sink_works_over_connect(tmp_path: Path) -> None:
    """A sink maintains its table from early, late and retracted panes, in the server's process for micro-batches."""
    results = over_connect(tmp_path, "write_table")
    assert results["write_table"] == f"{len(current_panes(visiting.RUN.panes))} rows"


@pytest.mark.thorough
@pytest.mark.spark
def test_a_listener_works_over_connect(tmp_path: Path) -> None:
    """An observer receives the start, each micro-batch with its metrics, and the end of a query."""
    results = over_connect(tmp_path, "observe_query")
    batches = len(visiting.TIMELINE.instants)
    assert results["observe_query"] == f"QueryStarted, {batches} micro-batches, QueryEnded"
