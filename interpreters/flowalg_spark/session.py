"""Spark sessions for streaming: settings, a local session, and the state store."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from flowalg.data.errors import ArgumentError, UnsupportedError

_LOG: Final = logging.getLogger("flowalg_spark")

STATE_STORE_KEY: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG_KEY: Final = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"

SETTINGS: Final = {
    STATE_STORE_KEY: ROCKSDB,
    _CHANGELOG_KEY: "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""Settings for streaming: the state store that ``transformWithState`` requires, and large Arrow batches.

Batches are limited by rows only: with a limit in bytes, Spark sums the bytes of the batch again for each row that it
adds, which is the most expensive part. This value means no limit. A column of a batch must be below 2 GB, so set fewer
rows if rows exceed 10 kB.
"""


def local_session(
    app: str = "flowalg", *, cores: int = 2, memory: str = "4g", log: Path | None = None
) -> SparkSession:
    """Starts a session on this machine, whose workers use the Python and the modules of the driver.

    ``cores`` is also the number of shuffle partitions, and so of state stores. The output of the JVM and the workers is
    written to the file ``log``, if given, instead of the terminal. Stop the session when done.
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
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.memory": memory,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    conf.setAll([*local.items(), *SETTINGS.items()])
    if log is not None and SparkContext._gateway is None:
        # The workers print to the output of the JVM, which no setting suppresses.
        with log.open("w") as stream:
            gateway = launch_gateway(conf, {"stdout": stream, "stderr": stream})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


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
    if session.conf.get(_CHANGELOG_KEY, "") == "":
        session.conf.set(_CHANGELOG_KEY, "true")


__all__ = ["ROCKSDB", "SETTINGS", "STATE_STORE_KEY", "ensure_state_store", "local_session", "require_session"]
