"""The benchmark of topics runs on few messages: rivals write the same messages, and every case has a result.

The tests catch a rival that does less, and cases that fail. They state no times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from flowalg_development.components.broker import Broker
from flowalg_development.components.jars import missing_jars

from docs.benchmarks.kafka import local

pytestmark = pytest.mark.long


@pytest.mark.long
def test_the_local_engine_is_divided_into_its_parts(kafka: Broker, tmp_path: Path) -> None:
    """A run over a topic gives the times of fetching, of decoding and of the query."""
    result = local.measure(kafka.servers, tmp_path, rows=500, batches=4, rounds=2)
    assert {"fetch_s", "fetch_and_decode_s", "query_s", "decoder_share", "messages_per_s"} <= set(result)


@pytest.mark.thorough
@pytest.mark.spark
def test_rivals_on_spark_write_the_same_messages(tmp_path: Path) -> None:
    """The run, which compares the topics of the rivals, ends, and has a result with the ratios to Spark's operators."""
    lacking = missing_jars("spark-kafka")
    if lacking is not None:
        pytest.skip(lacking)
    output = tmp_path / "results.json"
    options = ["--rows", "400", "--rounds", "1", "--only", "Spark", "--output", str(output)]
    subprocess.run([sys.executable, "-m", "docs.benchmarks.kafka", *options], check=True)
    (result,) = json.loads(output.read_text())
    assert {"vs_native", "exactly_once_vs_native", "messages_per_s"} <= set(result)
