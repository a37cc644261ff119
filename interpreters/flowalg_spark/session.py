"""Spark sessions: a local session, the settings that matter for speed, and the state store of streams."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from weakref import WeakSet

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg.data.errors import ArgumentError, UnsupportedError

_LOG: Final = logging.getLogger("flowalg_spark")

STATE_STORE_KEY: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG_KEY: Final = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"

SETTINGS: Final = {
    STATE_STORE_KEY: ROCKSDB,
    CHANGELOG_KEY: "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""The settings of ``configure``: the state store that ``transformWithState`` requires, and large Arrow batches.

Batches are limited by rows only: with a limit in bytes, Spark sums the bytes of the batch again for each row that it
adds, which is the most expensive part. This value means no limit. A column of a batch must be below 2 GB, so set fewer
rows if rows exceed 10 kB.
"""

PARTITIONS_KEY: Final = "spark.sql.shuffle.partitions"
_MOST_PARTITIONS_PER_CORE: Final = 4
_WARNED: Final[WeakSet[SparkSession]] = WeakSet()


def local_session(
    app: str = "flowalg",
    *,
    cores: int = 2,
    memory: str = "4g",
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Starts a session on this machine, whose workers use the Python and the modules of the driver.

    ``cores`` is also the number of shuffle partitions, and so of state stores. The output of the JVM and the workers is
    written to the file ``log``, if given, instead of the terminal. ``settings`` are further settings of Spark, such as
    ``spark.jars``, and replace those of this function. The files that Spark writes, such as checkpoints, are for their
    owner alone. Stop the session when done. Raises ``UnsupportedError`` if Java is missing.
    """
    # Imported here, since a client of Spark Connect has neither.
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf().setMaster(f"local[{cores}]").setAppName(app)
    local = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        PARTITIONS_KEY: str(cores),
        "spark.driver.memory": memory,
        # Checkpoints, and what else Spark writes, are for their owner alone.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "spark.python.daemon.module": "flowalg_spark.daemon",
    }
    conf.setAll([*local.items(), *SETTINGS.items(), *(settings or {}).items()])
    with _require_java():
        if log is not None and SparkContext._gateway is None:
            # The workers print to the output of the JVM, which no setting suppresses.
            with log.open("w") as stream:
                gateway = launch_gateway(conf, {"stdout": stream, "stderr": stream})  # type: ignore[no-untyped-call]
            SparkContext(conf=conf, gateway=gateway)
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def _require_java() -> Iterator[None]:
    """Raises ``UnsupportedError`` if the JVM of a session does not start."""
    try:
        yield
    except PySparkException as failure:
        if failure.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise UnsupportedError(
            "Spark does not start here: it needs Java 17 or later, by JAVA_HOME or on the PATH, and memory for it; "
            "the local engine needs no Java"
        ) from failure


def active_or_local_session() -> SparkSession:
    """Returns the active session, or starts a local one."""
    return SparkSession.getActiveSession() or local_session()


def configure(session: SparkSession, *, partitions: int | None = None) -> SparkSession:
    """Applies the settings that matter for the speed of flowalg to a running session, and returns the session.

    Call it before compiling. It sets ``SETTINGS`` and the number of shuffle partitions, by default one for each core of
    the cluster. That is the number of tasks and state stores of each stage of a stream: with Spark's default of 200, a
    micro-batch on two cores takes 5 to 17 times as long. A checkpoint fixes the number, and only ``reshard`` changes
    it. The settings also apply to other queries that the session starts later. Works over Spark Connect.

    Example::

        spark = flowalg_spark.configure(SparkSession.builder.getOrCreate())
    """
    require_session("session", session)
    if partitions is not None and (
        not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 1
    ):
        raise ArgumentError("partitions", partitions, "a positive int, or None for one for each core")
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    session.conf.set(PARTITIONS_KEY, str(partitions or _count_cores(session)))
    return session


@contextmanager
def replace_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Replaces settings of a session within a ``with`` block, and restores them at its end."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)


def warn_of_partitions(session: SparkSession) -> None:
    """Logs a warning, once for each session, if it has many more shuffle partitions than cores."""
    if session in _WARNED:
        return
    _WARNED.add(session)
    partitions, cores = shuffle_partitions(session), _count_cores(session)
    if partitions > _MOST_PARTITIONS_PER_CORE * cores:
        _LOG.warning(
            "this Spark session has %d shuffle partitions and %d cores: each stage of each micro-batch starts %d "
            "tasks, each with a state store; for one partition for each core, run: flowalg_spark.configure(spark)",
            partitions,
            cores,
            partitions,
        )


def shuffle_partitions(session: SparkSession) -> int:
    """Returns the number of shuffle partitions of a session."""
    return int(session.conf.get(PARTITIONS_KEY, "200") or "200")


def _count_cores(session: SparkSession) -> int:
    """Returns the default parallelism, the cores of the cluster. A client of Spark Connect can only observe it."""
    return session.range(1_000_000).select(F.spark_partition_id()).distinct().count()


def require_session(argument: str, session: object) -> None:
    """Raises ``ArgumentError`` unless the value is a Spark session, classic or over Connect."""
    if not callable(getattr(session, "createDataFrame", None)):
        raise ArgumentError(argument, session, "a SparkSession, such as local_session()")


def ensure_state_store(session: SparkSession) -> None:
    """Sets RocksDB as the state store of queries that the session starts later.

    If the state store of the session is unset, it is set at run time and a warning is logged, once for each session.
    Raises ``UnsupportedError``, with the line that sets it, if the session has another state store or does not allow
    setting it.
    """
    provider = session.conf.get(STATE_STORE_KEY, "")
    if provider == ROCKSDB:
        return
    line = f'spark.conf.set("{STATE_STORE_KEY}", "{ROCKSDB}")'
    if provider:
        raise UnsupportedError(
            f"streaming: {STATE_STORE_KEY} must be {ROCKSDB}; got {provider}; to replace it, run: {line}"
        )
    try:
        session.conf.set(STATE_STORE_KEY, ROCKSDB)
    except PySparkException as cause:
        raise UnsupportedError(
            f"streaming: {STATE_STORE_KEY} must be {ROCKSDB}, and this session does not allow setting it "
            f"({cause.getCondition()}); ask its administrator to add this line to spark-defaults.conf: "
            f"{STATE_STORE_KEY} {ROCKSDB}"
        ) from cause
    _LOG.warning(
        "flowalg has set RocksDB as the state store of this Spark session, since streaming requires it; to avoid this "
        "warning, run: %s",
        line,
    )
    if session.conf.get(CHANGELOG_KEY, "") == "":
        session.conf.set(CHANGELOG_KEY, "true")
