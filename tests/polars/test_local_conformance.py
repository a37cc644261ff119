"""The interpreters on Polars emit what the reference emits: named jobs, and generated pipelines.

These tests catch faults in the lowering of a node, in the order of panes, and in what a stage keeps between instants.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from flowalg_laws import check_interpreter
from flowalg_laws.conformance import JOBS, Job, covering
from flowalg_laws.kit.readings import READINGS
from flowalg_polars import Cluster, PolarsBatch, PolarsStreaming, batch

from flowalg import Sum
from flowalg.analysis.capabilities import Mode
from flowalg.analysis.features import AREA_OF


def test_batch_conforms() -> None:
    """A batch has the panes of the reference over one instant."""
    check_interpreter(PolarsBatch(), generated=20)


@pytest.mark.parametrize(
    ("interpreter", "jobs"),
    [
        pytest.param(PolarsStreaming(), JOBS, marks=pytest.mark.thorough),
        pytest.param(
            PolarsStreaming(Cluster(partitions=2, shards=3, restarts=True)), JOBS, marks=pytest.mark.thorough
        ),
        pytest.param(PolarsStreaming(generate_watermarks=True), JOBS, marks=pytest.mark.thorough),
        pytest.param(PolarsStreaming(mode=Mode.CONTINUOUS), JOBS, marks=pytest.mark.thorough),
        pytest.param(
            PolarsStreaming(mode=Mode.CONTINUOUS), covering(JOBS, {*AREA_OF}), marks=pytest.mark.long
        ),
    ],
    ids=["one shard", "divided and restarted", "generated watermarks", "continuous", "each feature"],
)
def test_streaming_conforms(interpreter: PolarsStreaming, jobs: Sequence[Job]) -> None:
    """A stream has the panes of the reference, in order, however it is divided; ``tests/shard`` has all jobs."""
    check_interpreter(interpreter, jobs=jobs, ordered=True, generated=len(jobs) // 10)


def test_explain_says_how_functions_run() -> None:
    """``explain`` of a batch names each function and how it runs, before Polars' plan."""
    pairs = READINGS.key_by(lambda reading: reading.key).map_values(
        lambda reading: hash(reading.value), result=int
    )
    point = pl.Datetime("us", "UTC")
    schema = {"key": pl.String(), "value": pl.Int64(), "at": point, "seen": point}
    frame = batch.compile(pairs.combine_per_key(Sum()), {READINGS: pl.DataFrame(schema=schema)})
    text = frame.explain()
    assert text.startswith("== Functions ==\n")
    assert [str(note) for note in frame.lifting] == text.split("\n\n")[0].splitlines()[1:]
    assert any("in Python" in str(note) for note in frame.lifting)
    assert "key_by" in text
