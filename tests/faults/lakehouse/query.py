"""The query that is killed: corrected sessions of late visits, from files to tables of Delta and Iceberg.

``python -m tests.faults.lakehouse.query FOLDER`` runs it over ``FOLDER/in`` from its checkpoint to the end of
its input. ``python -m tests.faults.lakehouse.query FOLDER compare`` compares its tables with the reference and
with their own history, and prints the counts, or exits with 1 and the differences.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import flowalg_reference as reference
from flowalg_spark import local_session, streaming
from flowalg_spark.sinks import Delta, Iceberg, changelog, upsert
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from flowalg import Accumulation, AtCount, AtWatermark, BoundedOutOfOrderness, Sessions, Sum
from flowalg.data.time import ProcessingTime
from tests.components.spark_sinks import write_all
from tests.faults.visits import BEGIN, MINUTE, VISITS, Visit
from tests.support.spark_replay import stream_of, write_batches

BATCHES: Final = 8
ROWS: Final = 12
SCHEMA: Final = "lake.panes"
TOTALS: Final = (
    VISITS.key_by(lambda visit: visit.visitor)
    .map_values(lambda visit: visit.value)
    .window(
        Sessions(timedelta(minutes=2)),
        trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=timedelta(days=1),
    )
    .combine_per_key(Sum())
)
"""No visit is so late that it is dropped, so the final values do not depend on the division into micro-batches."""


def visits() -> Iterator[list[Visit]]:
    """Yields the visits of each micro-batch, many of them late."""
    chance = random.Random(5)
    for number in range(BATCHES):
        now = BEGIN + number * MINUTE
        seen = ProcessingTime(now).datetime
        late = [int(chance.expovariate(0.3) * MINUTE) for _ in range(ROWS)]
        times = [ProcessingTime(now - each).datetime for each in late]
        yield [Visit(chance.randrange(6), chance.randrange(100), at, seen) for at in times]


def make_input(folder: Path) -> None:
    """Writes a file for each micro-batch, and a file that ends the input."""
    write_batches(folder / "in", Visit, list(visits()), ends=True)


def places(folder: Path) -> dict[str, Delta | Iceberg]:
    """Returns the tables' places by the name of the format."""
    return {"Delta": Delta(folder / "tables"), "Iceberg": Iceberg(SCHEMA)}


def run(spark: SparkSession, folder: Path) -> None:
    """Runs the query to the end of its input."""
    sinks = [
        sink
        for place in places(folder).values()
        for sink in (upsert(TOTALS, place, table="totals"), changelog(TOTALS, place, table="log"))
    ]

    source = stream_of(spark, folder / "in", BoundedOutOfOrderness(timedelta(minutes=1)))
    query = (
        streaming.compile(TOTALS, {VISITS: source})
        .writeStream.foreachBatch(write_all(sinks))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


Values = Counter[tuple[object, ...]]


def compare(spark: SparkSession, folder: Path) -> tuple[str, list[str]]:
    """Returns the counts of the tables, and their differences from the reference and from their own history."""
    records = [visit for batch in visits() for visit in batch]
    final = reference.run_batch(TOTALS, {VISITS: records}).panes
    expected: Values = Counter(
        (pane.key, pane.value, *_span(pane.window.start, pane.window.end)) for pane in final
    )
    problems: list[str] = []
    logs: dict[str, Values] = {}
    versions = corrections = 0
    for name, place in places(folder).items():
        totals, log = place.identifier("totals"), spark.table(place.identifier("log"))
        rows = log.select("*", *_micros()).orderBy("batch", "position").collect()
        logs[name] = Counter((row.batch, row.change, *_value(row)) for row in rows)
        corrections += sum(row.change == "retraction" for row in rows)
        found = _values(spark.table(totals).select("*", *_micros()).collect())
        if found != expected:
            problems.append(
                f"{name}: the final table has {len(found)} rows; the reference has {len(expected)}"
            )
        for batch, version in _versions(spark, name, totals).items():
            said = _values(
                spark.sql(f"SELECT * FROM {totals} VERSION AS OF {version}").select("*", *_micros()).collect()
            )
            known: Values = Counter()
            for row in rows:
                if row.batch <= batch:
                    known[_value(row)] += 1 if row.change == "value" else -1
            if said != +known:
                problems.append(
                    f"{name}: version {version} differs from what the query said in batch {batch}"
                )
            versions += 1
    if logs["Delta"] != logs["Iceberg"]:
        problems.append("the changelogs of Delta and Iceberg differ")
    if not corrections:
        problems.append("the history has no corrections")
    counts = f"{len(expected)} final rows, {versions} versions read back, {corrections} corrections"
    return counts, problems


def _micros() -> tuple[object, ...]:
    return tuple(F.unix_micros(F.col(f"window_{end}")).alias(end) for end in ("start", "end"))


def _span(*times: int) -> tuple[int, ...]:
    return tuple(map(int, times))


def _value(row: Row) -> tuple[object, ...]:
    return row.key, row.value, row.start, row.end


def _values(rows: Iterable[Row]) -> Values:
    return Counter(map(_value, rows))


def _versions(spark: SparkSession, name: str, table: str) -> dict[int, int]:
    """Returns the version of each batch in the history of a table. A batch that has two fails."""
    if name == "Delta":
        history = spark.sql(f"DESCRIBE HISTORY {table}").select("userMetadata", "version").collect()
        found = [(json.loads(each)["flowalg"]["batch"], version) for each, version in history if each]
    else:
        query = f"SELECT summary['flowalg.batch'], snapshot_id FROM {table}.snapshots"
        found = [(int(batch), version) for batch, version in spark.sql(query).collect()]
    if len(dict(found)) != len(found):
        raise AssertionError(f"{name}: a batch was committed twice: {found}")
    return dict(found)


def main(folder: Path, compares: bool) -> int:
    """Runs the query, or compares its tables."""
    spark = local_session("flowalg lakehouse", memory="1g", log=folder / "spark.log")
    try:
        if not compares:
            run(spark, folder)
            return 0
        counts, problems = compare(spark, folder)
        print(*(problems or [counts]), sep="\n")
        return 1 if problems else 0
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:] == ["compare"]))
