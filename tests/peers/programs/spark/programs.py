"""Programs with Spark: one value for batch and stream, types, laws, restart, SQL, processes, and the package itself."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import feed
import pandas as pd
import pyspark
from feed import (
    BUNDLES,
    MANY,
    STREAM,
    UNORDERED,
    WINDOW,
    as_elements,
    at_least,
    print_cells,
    refused,
    release,
    reported_mistakes,
)
from pyspark.sql import functions as F
from queries import read_files, run, seconds, spark, write_files

MINUTE = f"{WINDOW} seconds"


def sums(frame):
    """Returns the sums by minute."""
    return frame.groupBy(F.window("at", MINUTE)).agg(F.sum("points").alias("points"))


def with_starts(rows) -> list:
    """Returns the starts and sums of the minutes."""
    return sorted([seconds(row.window.start), row.points] for row in rows if seconds(row.window.start) < 120)


def one_value() -> object:
    """The final values of one function of a frame, of a batch and of a stream."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, as_elements(UNORDERED))
        frame = spark.read.schema("player string, points long, at long").json(folder)
        batch = with_starts(sums(frame.withColumn("at", F.timestamp_seconds("at"))).collect())
    stream = run(lambda frame: sums(frame.withWatermark("at", MINUTE)), UNORDERED, "append")
    return {"batch": batch, "stream": with_starts(stream)}


def types() -> object:
    """The mistakes that mypy reports, and those that are found when the query is built."""
    frame = spark.createDataFrame([("ann", 5)], "player string, points long")
    built = refused(
        misspelt_field=lambda: frame.groupBy("playr").count().schema,
        sum_of_text=lambda: frame.groupBy("player").agg(F.sum("player")).schema,
    )
    mistakes = reported_mistakes("""
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
scores = spark.createDataFrame([("ann", 5)], "player string, points long")
keyed = scores.groupBy("playr")  # mistake: misspelt field
total = scores.groupBy("player").agg(F.sum("player"))  # mistake: sum of text
""")
    return {"mypy": mistakes, "when built": built}


def laws() -> object:
    """What an aggregate gives whose result depends on the order."""

    def averages(values: pd.Series) -> float:
        middle = values.iloc[0]
        for value in values.iloc[1:]:
            middle = (middle + value) / 2
        return middle

    aggregate = F.pandas_udf(averages, "double")
    values = [value for bundle in BUNDLES for value in bundle]
    frames = (
        spark.createDataFrame([(value,) for value in order], "v double") for order in (values, values[::-1])
    )
    return [frame.coalesce(1).agg(aggregate("v")).first()[0] for frame in frames]


def query(folder: str) -> None:
    """Runs the query that is killed."""
    write_files(f"{folder}/in", [("all", value, 0) for value in STREAM])
    checked = F.udf(lambda value: feed.die_once(value, folder), "long")

    def write(frame, number: int) -> None:
        with Path(folder, "output").open("a") as file:
            file.writelines(f"{row.total}\n" for row in frame.collect())

    total = read_files(f"{folder}/in").agg(F.sum(checked("points")).alias("total"))
    writer = total.writeStream.outputMode("update").trigger(availableNow=True)
    writer.option("checkpointLocation", f"{folder}/checkpoint").foreachBatch(write).start().awaitTermination()


def restart() -> object:
    """What is written, with a kill in between."""
    return feed.restart(__file__)


def sql() -> object:
    """The sums by minute, as text of SQL over a stream."""

    def build(frame):
        frame.withWatermark("at", MINUTE).createOrReplaceTempView("scores")
        minute = f"window(at, '{MINUTE}')"
        return spark.sql(f"SELECT {minute} AS window, sum(points) AS points FROM scores GROUP BY {minute}")

    return with_starts(run(build, UNORDERED, "append"))


def connectors() -> object:
    """The number of data sources that the jars register."""
    names: set[str] = set()
    for jar in Path(pyspark.__file__).parent.glob("jars/spark-*.jar"):
        with zipfile.ZipFile(jar) as files:
            entry = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
            if entry in files.namelist():
                names |= {line for line in files.read(entry).decode().split() if line.startswith("org.")}
    return at_least(MANY, len(names))


def processes() -> object:
    """The number of processes in which a function is called."""
    pids = spark.sparkContext.parallelize(range(4), 4).map(lambda value: os.getpid()).collect()
    return at_least(2, len({os.getpid(), *pids}))


def status() -> object:
    """The version."""
    return release(pyspark.__version__)


if __name__ == "__main__":
    print_cells(one_value, types, laws, restart, sql, connectors, processes, status, query=query)
