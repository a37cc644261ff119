"""Spark batch over Spark Connect: the same corpus, and the same ordinary frames, in one process of its own.

This family catches what only classic Spark can do: contexts, JVM handles, frames of another class.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from flowalg_laws.conformance import BATCH_JOBS

from tests.support import visiting
from tests.support.over_connect import COVERING, GENERATED, STREAMED
from tests.support.sink_cases import standing

DAILY = ("is_ordinary", "runs_several", "says_what_is_wrong", "streams", "writes_tables", "conforms")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a process with a local Connect server has shown, by name."""
    return over_connect(tmp_path_factory.mktemp("connect"), *DAILY)


def over_connect(folder: Path, *names: str) -> dict[str, str]:
    """What a process with a local Connect server prints for some names, and all that it prints."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The port is then any that is free.
        "SPARK_TESTING": "1",
    }
    command = [sys.executable, "-m", "tests.support.over_connect", str(folder), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    (folder / "printed").write_text(done.stdout)
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    return {**found, "printed": done.stdout}


@pytest.mark.spark
def test_batch_conforms_over_connect(shown: dict[str, str]) -> None:
    """Jobs that use every feature, and some generated pipelines, give the panes of the reference."""
    assert shown["conforms"] == f"{len(COVERING)} jobs of {len(COVERING)}, {GENERATED} generated"


@pytest.mark.thorough
@pytest.mark.spark
def test_batch_conforms_over_connect_in_all(tmp_path: Path) -> None:
    """Every job of the corpus gives the panes of the reference."""
    shown = over_connect(tmp_path, "conforms_in_all")
    assert shown["conforms_in_all"] == f"{len(BATCH_JOBS)} jobs of {len(BATCH_JOBS)}, {GENERATED} generated"


@pytest.mark.spark
def test_the_frame_is_an_ordinary_one_over_connect(shown: dict[str, str]) -> None:
    """It is a Connect frame; it was written, read back, joined, a view, and explained with its functions."""
    assert shown["is_ordinary"] == "pyspark.sql.connect.dataframe"
    assert "key_by(<lambda> at tests/support/scores.py:" in shown["printed"]
    assert "== Physical Plan ==" in shown["printed"]


@pytest.mark.spark
def test_several_outputs_are_one_query_over_connect(shown: dict[str, str]) -> None:
    """Both results, each with its own type."""
    assert shown["runs_several"] == (
        "[KV(key='a', value=3), KV(key='b', value=4), KV(key='a', value=5)] and [4, 5]"
    )


@pytest.mark.spark
def test_errors_come_through_connect(shown: dict[str, str]) -> None:
    """With the source, the field and the remedy."""
    assert (
        "source 'scores': a row has null in at, which must be of type datetime" in shown["says_what_is_wrong"]
    )


@pytest.mark.spark
def test_streams_run_over_connect(shown: dict[str, str]) -> None:
    """Queries of one and of several stages, a join and a side input among them."""
    assert shown["streams"] == f"{len(STREAMED)} jobs of {len(STREAMED)}"


@pytest.mark.spark
def test_a_sink_is_written_to_over_connect(shown: dict[str, str]) -> None:
    """Through the server's process for batches, from early, late and retracting panes."""
    assert shown["writes_tables"] == f"{len(standing(visiting.RUN.panes))} rows"
