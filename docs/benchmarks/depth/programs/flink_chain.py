"""Counts in windows of a second, through chained groupings of Flink's SQL: ``flink_chain.py LOAD``, which is JSON.

It prints a row of Flink for each pane: its key, value, the end of its window, and the time at which it was emitted.
Flink prints them itself, since a client in Python would read them more slowly than they are emitted.
"""

from __future__ import annotations

import json
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

KEYS = 1_000


def query(depth: int) -> str:
    """Returns the query of a chain: windows of windows, by other keys each time."""
    window = "TUMBLE(TABLE {}, DESCRIPTOR({}), INTERVAL '1' SECOND)"
    grouped = "window_start, window_end, window_time, key"
    inner = (
        f"SELECT window_start, window_end, window_time, key, COUNT(*) AS n "
        f"FROM {window.format('records', 'happened')} GROUP BY {grouped}"
    )
    for _ in range(depth - 1):
        inner = (
            f"SELECT window_start, window_end, window_time, key, SUM(n) AS n "
            f"FROM (SELECT window_start, window_end, window_time, MOD(7 * key + 1, {KEYS}) AS key, n FROM ({inner})) "
            f"GROUP BY {grouped}"
        )
    return (
        "SELECT key, n, CAST(window_end AS STRING), CAST(CAST(PROCTIME() AS TIMESTAMP(3)) AS STRING) "
        f"FROM ({inner})"
    )


def main(depth: int, parallelism: int, folder: str, checkpoints: str | None) -> None:
    """Runs the chain over the files of a folder, and prints its panes."""
    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        "parallelism.default": str(parallelism),
        "table.local-time-zone": "UTC",
        # The defaults of 100 and 200 milliseconds would be much of the latency.
        "execution.buffer-timeout.interval": "1 ms",
        "pipeline.auto-watermark-interval": "1 ms",
    }
    if checkpoints is not None:
        settings |= {"execution.checkpointing.interval": "1 s", "execution.checkpointing.dir": checkpoints}
    for name, value in settings.items():
        table.get_config().set(name, value)
    table.execute_sql(
        f"""CREATE TABLE records (
            number BIGINT, micros BIGINT, key AS MOD(number, {KEYS}), happened AS TO_TIMESTAMP_LTZ(micros / 1000, 3),
            WATERMARK FOR happened AS happened - INTERVAL '0.001' SECOND
        ) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv',
            'source.monitor-interval' = '10 ms')"""
    )
    table.execute_sql(
        "CREATE TABLE panes (key BIGINT, n BIGINT, window_end STRING, emitted STRING) WITH ('connector' = 'print')"
    )
    table.execute_sql(f"INSERT INTO panes {query(depth)}").wait()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
