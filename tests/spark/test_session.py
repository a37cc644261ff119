"""Streaming on sessions that were not configured for flowalg: the settings that it makes, and those that it rejects.

These tests detect a dependence on a setting of ``local_session``, and a state store that is replaced.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import psutil
import pyarrow as pa
import pytest
from flowalg_spark.session import (
    PARTITIONS_KEY,
    ROCKSDB,
    SETTINGS,
    STATE_STORE_KEY,
    configure,
    ensure_state_store,
    warn_of_partitions,
)
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from flowalg.errors import ArgumentError, UnsupportedError
from tests.support.ordinary_session import NAMES, ordinary_environment
from tests.support.programs import HOURS, run_program

OTHER = "org.example.Other"


@pytest.mark.spark
@pytest.mark.thorough
def test_streaming_runs_on_an_ordinary_session(tmp_path: Path) -> None:
    """A default session in a time zone other than UTC has the panes of the reference, and logs one warning."""
    command = [sys.executable, "-m", "tests.support.ordinary_session", str(tmp_path)]
    environment = ordinary_environment(tmp_path)
    done = run_program(command, cwd=tmp_path, env=environment, seconds=HOURS)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    assert done.stdout.splitlines()[-1] == f"{len(NAMES)} jobs"
    assert done.stderr.count("flowalg has set RocksDB as the state store") == 1


@pytest.fixture
def unset(spark: SparkSession) -> Iterator[SparkSession]:
    """The shared session without its setting of the state store."""
    spark.conf.unset(STATE_STORE_KEY)
    yield spark
    spark.conf.set(STATE_STORE_KEY, ROCKSDB)


def test_an_unset_state_store_is_set_with_one_warning(
    unset: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """The warning has the line that sets the state store; a second call logs nothing."""
    with caplog.at_level(logging.WARNING, "flowalg_spark"):
        ensure_state_store(unset)
        ensure_state_store(unset)
    assert unset.conf.get(STATE_STORE_KEY) == ROCKSDB
    (line,) = caplog.messages
    assert line.endswith(f'run: spark.conf.set("{STATE_STORE_KEY}", "{ROCKSDB}")')


def test_another_state_store_is_rejected(unset: SparkSession) -> None:
    """The message has the setting, its value, and the line that replaces it; nothing is set."""
    unset.conf.set(STATE_STORE_KEY, OTHER)
    with pytest.raises(UnsupportedError) as caught:
        ensure_state_store(unset)
    assert str(caught.value) == (
        f"streaming: {STATE_STORE_KEY} must be {ROCKSDB}; got {OTHER}; to replace it, "
        f'run: spark.conf.set("{STATE_STORE_KEY}", "{ROCKSDB}")'
    )
    assert unset.conf.get(STATE_STORE_KEY) == OTHER


@pytest.fixture
def default(spark: SparkSession) -> SparkSession:
    """Another session of the same application, with Spark's defaults for the settings of ``configure``."""
    session = spark.newSession()
    for name in (*SETTINGS, PARTITIONS_KEY):
        session.conf.unset(name)
    session.conf.set(PARTITIONS_KEY, "200")
    return session


def test_configure_applies_the_settings(default: SparkSession) -> None:
    """The session has all settings and, unless another number is given, a partition for each of its two cores."""
    assert configure(default) is default
    assert {name: default.conf.get(name) for name in SETTINGS} == SETTINGS
    assert default.conf.get(PARTITIONS_KEY) == "2"
    assert configure(default, partitions=7).conf.get(PARTITIONS_KEY) == "7"


@pytest.mark.parametrize("value", [0, -1, True, "2"])
def test_configure_rejects_other_numbers_of_partitions(default: SparkSession, value: int) -> None:
    """The number of partitions is a positive int; nothing is set otherwise."""
    with pytest.raises(ArgumentError, match=r"partitions must be a positive int, or None"):
        configure(default, partitions=value)
    assert default.conf.get(PARTITIONS_KEY) == "200"


def test_many_partitions_are_reported_once(default: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """Compiling a stream warns of more than four partitions for each core, with the remedy, once for each session."""
    with caplog.at_level(logging.WARNING, "flowalg_spark"):
        warn_of_partitions(default)
        warn_of_partitions(default)
        warn_of_partitions(configure(default.newSession(), partitions=8))
    (line,) = caplog.messages
    assert line.startswith("this Spark session has 200 shuffle partitions and 2 cores")
    assert line.endswith("run: flowalg_spark.configure(spark)")


def parent_of_worker(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the command of the process that forked this worker."""
    for _ in batches:
        yield pa.RecordBatch.from_pylist([{"command": " ".join(psutil.Process(os.getppid()).cmdline())}])


def test_workers_start_with_the_libraries_imported(spark: SparkSession) -> None:
    """Each worker of a local session is a fork of a daemon that has imported flowalg."""
    rows = spark.range(1, numPartitions=1).mapInArrow(parent_of_worker, "command string").collect()
    assert ["flowalg_spark.daemon" in row["command"] for row in rows] == [True]


class _Locked:
    """A session that rejects all settings."""

    @property
    def conf(self) -> _Locked:
        return self

    def get(self, key: str, default: str) -> str:
        return default

    def set(self, key: str, value: str) -> None:
        raise AnalysisException(f"[CANNOT_MODIFY_CONFIG] {key}", errorClass="CANNOT_MODIFY_CONFIG")


def test_a_state_store_that_cannot_be_set_is_rejected() -> None:
    """The message has Spark's condition, and the line for the configuration of the cluster."""
    with pytest.raises(UnsupportedError) as caught:
        ensure_state_store(cast("SparkSession", _Locked()))
    assert "(CANNOT_MODIFY_CONFIG); " in str(caught.value)
    assert str(caught.value).endswith(f"to spark-defaults.conf: {STATE_STORE_KEY} {ROCKSDB}")


def test_a_machine_without_java_is_an_error_that_says_so(tmp_path: Path) -> None:
    """The error names what Spark needs, instead of a gateway that exited."""
    log = str(tmp_path / "log")
    start = (
        f"from pathlib import Path\nfrom flowalg_spark import local_session\nlocal_session(log=Path({log!r}))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", start],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert "UnsupportedError: Spark does not start here: it needs Java 17 or later" in finished.stderr
