"""Times upserts to Delta against a merge that is written by hand: ``make bench-lakehouse``.

Each micro-batch has new panes, and retractions with new values of the panes before. Its frame is stored, so only the
writing is timed. The merge by hand does what Delta's documentation recommends: the last pane of each key and window,
``MERGE`` and an application transaction for each micro-batch. The two write in turns, each to a table of its own. The
tables must be equal at the end. It runs in an environment of ``tests.faults.lakehouse``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen
from flowalg_spark import local_session
from flowalg_spark.sinks import Delta, upsert
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from flowalg import Accumulation, FixedWindows, Source, Sum
from tests.faults.lakehouse.environment import ROOT, python_of, variables

VERSION: Final = "4.2"
ROUNDS: Final = 12
WARM_UP: Final = 2
KEYS: Final = 50_000


@frozen
class Score:
    """A score of a player."""

    player: int
    points: int
    at: datetime


TOTALS: Final = (
    Source("scores", Score, event_time=lambda score: score.at)
    .key_by(lambda score: score.player)
    .map_values(lambda score: score.points)
    .window(FixedWindows(timedelta(hours=1)), accumulation=Accumulation.RETRACTING)
    .combine_per_key(Sum())
)
COLUMNS: Final = {
    "window_start": "window.start",
    "window_end": "window.end",
    "event_time": "event_time",
    **{
        f"pane_{name}": f"pane.{name}"
        for name in ("timing", "index", "is_first", "is_last", "processing_time", "watermark")
    },
}


def panes(spark: SparkSession, batch: int) -> DataFrame:
    """Returns the panes of a micro-batch: first ones of its hour, and second ones of the hour before."""
    first = _panes(spark, batch, batch, index=0, change="value")
    if batch == 0:
        return first
    old = _panes(spark, batch - 1, batch, index=0, change="retraction")
    return first.union(old).union(_panes(spark, batch - 1, batch, index=1, change="value"))


def _panes(spark: SparkSession, hour: int, batch: int, *, index: int, change: str) -> DataFrame:
    start = F.timestamp_seconds(F.lit(3600 * hour))
    end = F.timestamp_seconds(F.lit(3600 * (hour + 1)))
    now = F.timestamp_seconds(F.lit(3600 * (batch + 1)))
    pane = F.struct(
        F.lit("late" if index else "on_time").alias("timing"),
        F.lit(index).cast("bigint").alias("index"),
        F.lit(index == 0).alias("is_first"),
        F.lit(False).alias("is_last"),
        now.alias("processing_time"),
        now.alias("watermark"),
    )
    return spark.range(KEYS).select(
        F.col("id").alias("key"),
        (F.col("id") * F.lit(3) + F.lit(index)).alias("value"),
        F.struct(start.alias("start"), end.alias("end")).alias("window"),
        (end - F.expr("INTERVAL '0.000001' SECOND")).alias("event_time"),
        F.lit(change).alias("change"),
        pane.alias("pane"),
    )


def merge_by_hand(table: str) -> Callable[[DataFrame, int], None]:
    """Returns a function for ``foreachBatch`` that merges the last panes into a table."""

    def write(frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        by_index = Window.partitionBy("key", "window").orderBy(
            F.desc("pane.index"), F.asc(F.col("change") == "value")
        )
        last = frame.withColumn("number", F.row_number().over(by_index)).filter("number = 1")
        flat = [F.col(path).alias(name) for name, path in COLUMNS.items()]
        last.select("key", "value", *flat, "change").createOrReplaceTempView("last_panes")
        names = ["key", "value", *COLUMNS]
        spark.conf.set("spark.databricks.delta.write.txnAppId", "by-hand")
        spark.conf.set("spark.databricks.delta.write.txnVersion", str(batch))
        spark.sql(
            f"MERGE INTO {table} t USING last_panes s "
            "ON t.key = s.key AND t.window_start = s.window_start AND t.window_end = s.window_end "
            "WHEN MATCHED AND s.change = 'retraction' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in names)} "
            f"WHEN NOT MATCHED AND s.change = 'value' THEN INSERT ({', '.join(names)}) "
            f"VALUES ({', '.join(f's.{name}' for name in names)})"
        )
        spark.conf.unset("spark.databricks.delta.write.txnAppId")
        spark.conf.unset("spark.databricks.delta.write.txnVersion")

    return write


def measure(spark: SparkSession, folder: Path, rounds: int) -> None:
    """Prints the median times of both, and their ratio."""
    place = Delta(folder)
    own = upsert(TOTALS, place, table="own", query="benchmark")
    # The table by hand has the same columns.
    upsert(TOTALS, place, table="by_hand", query="benchmark")(panes(spark, 0).limit(0), 0)
    sinks: dict[str, Callable[[DataFrame, int], None]] = {
        "flowalg": own,
        "by hand": merge_by_hand(place.identifier("by_hand")),
    }
    seconds: dict[str, list[float]] = {name: [] for name in sinks}
    for batch in range(rounds + WARM_UP):
        path = str(folder / "panes" / str(batch))
        panes(spark, batch).write.parquet(path)
        frame = spark.read.parquet(path)
        for name in list(sinks)[:: 1 if batch % 2 else -1]:
            start = time.perf_counter()
            sinks[name](frame, batch)
            if batch >= WARM_UP:
                seconds[name].append(time.perf_counter() - start)
    rows = [spark.table(place.identifier(name)) for name in ("own", "by_hand")]
    if rows[0].exceptAll(rows[1]).count() or rows[1].exceptAll(rows[0]).count():
        raise SystemExit("the tables differ")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        spread = f"{min(seconds[name]):.2f} to {max(seconds[name]):.2f}"
        print(f"{name}: median {median:.2f} s of {rounds} micro-batches ({spread})")
    print(f"ratio of medians: {medians['flowalg'] / medians['by hand']:.2f}")


def main(arguments: list[str]) -> int:
    """Measures in this process if its session has Delta; else starts itself in an environment that does."""
    rounds = int(arguments[1]) if len(arguments) > 1 else ROUNDS
    with TemporaryDirectory() as scratch:
        if arguments[:1] != ["here"]:
            command = [str(python_of(VERSION)), "-m", "docs.benchmarks.lakehouse", "here", *arguments]
            environment = variables(VERSION, Path(scratch))
            return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode
        spark = local_session("flowalg bench", memory="4g", log=Path(scratch) / "spark.log")
        try:
            measure(spark, Path(scratch) / "tables", rounds)
        finally:
            spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
