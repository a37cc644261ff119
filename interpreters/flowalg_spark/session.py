"""What a Spark session needs for flowalg: settings as data, and a local session that has them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from flowalg.data.errors import UnsupportedError

STATE_STORE_KEY: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS: Final = {
    STATE_STORE_KEY: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
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


def require_state_store(session: SparkSession) -> None:
    """Raises ``UnsupportedError`` when the session's state store is not the one that streaming needs."""
    found = session.conf.get(STATE_STORE_KEY, "")
    if found != ROCKSDB:
        raise UnsupportedError(
            f"streaming needs the RocksDB state store: set {STATE_STORE_KEY} to {ROCKSDB} (it is {found or 'unset'})"
        )


__all__ = ["ROCKSDB", "SETTINGS", "STATE_STORE_KEY", "local_session", "require_state_store"]
