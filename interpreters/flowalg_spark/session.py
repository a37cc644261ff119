"""The settings of a Spark session that streams, a local session that has them, and the one that any session needs."""

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
"""Settings of a session that streams: the state store that ``transformWithState`` needs, and batches of Arrow for it.

They are larger ones, and limited by their rows alone: with a limit in bytes, of which this value is none, Spark adds up
the bytes of a batch again for each row that it adds, which takes longer than all else that it does with the row. Where
rows come to more than 10 kB on their way to Python, say fewer rows: a batch holds less than 2 GB of a column.
"""


def local_session(
    app: str = "flowalg", *, cores: int = 2, memory: str = "4g", log: Path | None = None
) -> SparkSession:
    """A session on this machine whose workers run the same Python, with the same modules, as the driver.

    ``cores`` is also the number of shuffle partitions, and so of state stores. What the JVM and the workers print
    goes to the file ``log``, if one is given, instead of to the terminal. Stop the session when done.
    """
    # Not at the top: a client of Spark Connect has neither.
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
        # The workers print to the JVM's own output, which no setting silences.
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
    """Makes RocksDB the state store of the queries that the session starts from now on.

    Where the session says nothing of its state store, the settings are set at run time and a warning is logged, which
    happens once in the life of a session. Raises ``UnsupportedError`` where the session names another state store, or
    does not let it be set; the message has the line that sets it.
    """
    found = session.conf.get(STATE_STORE_KEY, "")
    if found == ROCKSDB:
        return
    line = f'spark.conf.set("{STATE_STORE_KEY}", "{ROCKSDB}")'
    if found:
        raise UnsupportedError(
            f"streaming needs the state store RocksDB, and {STATE_STORE_KEY} of this session is {found}; to replace "
            f"it, run: {line}"
        )
    try:
        session.conf.set(STATE_STORE_KEY, ROCKSDB)
    except PySparkException as cause:
        raise UnsupportedError(
            f"streaming needs the state store RocksDB, and this session does not let {STATE_STORE_KEY} be set "
            f"({cause.getCondition()}); have its administrator add this line to spark-defaults.conf: "
            f"{STATE_STORE_KEY} {ROCKSDB}"
        ) from cause
    _LOG.warning(
        "flowalg has made RocksDB the state store of this Spark session, as streaming needs it; to do so yourself, "
        "which silences this warning, run: %s",
        line,
    )
    if session.conf.get(_CHANGELOG_KEY, "") == "":
        session.conf.set(_CHANGELOG_KEY, "true")


__all__ = ["ROCKSDB", "SETTINGS", "STATE_STORE_KEY", "ensure_state_store", "local_session", "require_session"]
