"""The query that is killed: corrected sessions of late visits, from files to tables of Delta and Iceberg."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import flowalg_reference as reference
from attrs import evolve, frozen
from flowalg_spark import PaneFrame
from flowalg_spark.sinks import Delta, Iceberg, changelog, upsert
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from flowalg import Accumulation, AtCount, AtWatermark, PCollection, Sessions, Sum
from flowalg.data.time import ProcessingTime
from tests.components.spark_sinks import Write, run_to_sinks
from tests.faults.harness import finish
from tests.faults.on_spark import SparkQuery
from tests.faults.visits import BEGIN, MINUTE, VISITS, Visit
from tests.support.spark_replay import write_batches

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
        times = [ProcessingTime(now - lateness).datetime for lateness in late]
        yield [Visit(chance.randrange(6), chance.randrange(100), at, seen) for at in times]


def make_input(folder: Path) -> None:
    """Writes a file for each micro-batch, and a file that ends the input."""
    folder.mkdir()
    write_batches(folder / "in", Visit, list(visits()), ends=True)


@frozen
class LakehouseQuery(SparkQuery):
    """A run of the query over ``in``, in an environment that has the formats; it can compare its tables instead."""

    python: Path
    variables: Mapping[str, str]
    compares: bool = False

    @property
    def command(self) -> Sequence[str]:
        """The command that runs a stored subject."""
        return (str(self.python), "-m", "tests.faults.subject")

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of the command."""
        return self.variables

    @property
    def places(self) -> dict[str, Delta | Iceberg]:
        """The tables' places by the name of the format."""
        return {"Delta": Delta(self.folder / "tables"), "Iceberg": Iceberg(SCHEMA)}

    @property
    def pipeline(self) -> PCollection[object]:
        """The corrected sessions."""
        return TOTALS

    def write(self, panes: PaneFrame[object]) -> None:
        """Runs the query of some panes."""
        sinks: list[Write] = [
            sink
            for place in self.places.values()
            for sink in (upsert(TOTALS, place, table="totals"), changelog(TOTALS, place, table="log"))
        ]
        run_to_sinks(panes, sinks, self.checkpoint)

    def run(self) -> None:
        """Runs the query to the end of its input, or compares its tables."""
        if not self.compares:
            SparkQuery.run(self)
            return
        spark = self.session()
        counts, problems = compare(spark, self.places)
        spark.stop()
        (self.folder / "counts").write_text(counts)
        if problems:
            raise AssertionError("\n".join(problems))

    def content(self) -> list[str]:
        """Returns the counts of the tables, which must be the reference's, and what their history says."""
        finish(evolve(self, compares=True), (), random.Random(0))
        return (self.folder / "counts").read_text().splitlines()


Values = Counter[tuple[object, ...]]


def compare(spark: SparkSession, places: Mapping[str, Delta | Iceberg]) -> tuple[str, list[str]]:
    """Returns the counts of the tables, and their differences from the reference and from their own history."""
    records = [visit for batch in visits() for visit in batch]
    final = reference.run_batch(TOTALS, {VISITS: records}).panes
    expected: Values = Counter(
        (pane.key, pane.value, *_span(pane.window.start, pane.window.end)) for pane in final
    )
    problems: list[str] = []
    logs: dict[str, Values] = {}
    versions = corrections = 0
    for name, place in places.items():
        totals, log = place.identifier("totals"), spark.table(place.identifier("log"))
        rows = log.select("*", *_micros()).orderBy("batch", "position").collect()
        logs[name] = Counter((row.batch, row.change, *_value(row)) for row in rows)
        corrections += sum(row.change == "retraction" for row in rows)
        values = _values(spark.table(totals).select("*", *_micros()).collect())
        if values != expected:
            problems.append(
                f"{name}: the final table has {len(values)} rows; the reference has {len(expected)}"
            )
        for batch, version in _versions(spark, name, totals).items():
            said = _values(
                spark.sql(f"SELECT * FROM {totals} VERSION AS OF {version}").select("*", *_micros()).collect()
            )
            current: Values = Counter()
            for row in rows:
                if row.batch <= batch:
                    current[_value(row)] += 1 if row.change == "value" else -1
            if said != +current:
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
        versions = [
            (json.loads(metadata)["flowalg"]["batch"], version) for metadata, version in history if metadata
        ]
    else:
        query = f"SELECT summary['flowalg.batch'], snapshot_id FROM {table}.snapshots"
        versions = [(int(batch), version) for batch, version in spark.sql(query).collect()]
    if len(dict(versions)) != len(versions):
        raise AssertionError(f"{name}: a batch was committed twice: {versions}")
    return dict(versions)
