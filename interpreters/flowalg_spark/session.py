"""What a Spark session needs for flowalg: settings as data, and a local session that has them."""

from __future__ import annotations

import os
import sys
from typing import Final

from pyspark.sql import SparkSession

from flowalg.errors import UnsupportedError

STATE_STORE_KEY: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS: Final = {
    STATE_STORE_KEY: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""Settings of a session that streams: the state store that ``transformWithState`` needs, and larger batches."""


def local_session(app: str = "flowalg", *, cores: int = 2, memory: str = "4g") -> SparkSession:
    """A session on this machine whose workers run the same Python as the driver.

    ``cores`` is also the number of shuffle partitions, and so of state stores. Stop the session when done.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName(app)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.driver.memory", memory)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
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
