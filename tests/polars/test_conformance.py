"""The interpreters on Polars emit what the reference emits: named jobs, and generated pipelines.

These tests catch faults in the lowering of a node, in the order of panes, and in what a stage keeps between instants.
"""

from __future__ import annotations

import pytest
from flowalg_laws import check_interpreter
from flowalg_polars import Cluster, PolarsBatch, PolarsStreaming

from flowalg.analysis.capabilities import Mode


def test_batch_conforms() -> None:
    """A batch has the panes of the reference over one instant."""
    check_interpreter(PolarsBatch(), generated=20)


@pytest.mark.parametrize(
    "interpreter",
    [
        PolarsStreaming(),
        pytest.param(PolarsStreaming(Cluster(partitions=2, shards=3, restarts=True)), marks=pytest.mark.long),
        pytest.param(PolarsStreaming(generate_watermarks=True), marks=pytest.mark.long),
        pytest.param(PolarsStreaming(mode=Mode.CONTINUOUS), marks=pytest.mark.long),
    ],
    ids=["one shard", "divided and restarted", "generated watermarks", "continuous"],
)
def test_streaming_conforms(interpreter: PolarsStreaming) -> None:
    """A stream has the panes of the reference, in order, however it is divided."""
    check_interpreter(interpreter, ordered=True, generated=20)
