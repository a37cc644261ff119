"""The cluster of ``make cluster-check``: its processes, without a query."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.components.cluster import StandaloneCluster
from tests.components.processes import children_of


@pytest.mark.thorough
@pytest.mark.spark
def test_a_cluster_has_workers_that_can_be_killed_and_started_again(tmp_path: Path) -> None:
    """The master knows a worker after it was killed and started again, and no process is left at the end."""
    with StandaloneCluster(tmp_path, hosts=("127.0.0.2",)) as cluster:
        (worker,) = cluster.workers
        cluster.kill_worker(worker)
        assert worker.process.poll() is not None
        cluster.start_worker(worker.host)
        (again,) = cluster.workers
        assert again.process.poll() is None
        assert cluster.executors() == []
        left = [psutil.Process(again.process.pid), *children_of(again.process)]
    assert not any(process.is_running() for process in left)
