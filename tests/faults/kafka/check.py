"""Kafka against the reference, with a real broker: ``make kafka-check``.

It starts a broker, and stops it at the end. A query over a growing topic of several partitions, with late and malformed
messages, is stopped and loses its broker, and must be what the reference computes (``comparison``). A query from Kafka
to Kafka is killed, and must write the topics of one that is not (``kills``). Topics that are deleted, lose messages or
have a second writer must give errors that name them (``failures``). Queries on Spark, over JSON and Avro, are killed
and lose their broker, and must write what the reference computes (``on_spark``), and their topics fail alike
(``spark_failures``). The last line is ``kafka: all held`` with the counts, or ``kafka: N problems`` with exit code 1.
``python -m tests.faults.kafka.check [RUNS [KILLS [SPARK_KILLS]]]``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.components.broker import broker, missing, scratch_folder
from tests.components.jars import missing_jars
from tests.faults.kafka.comparison import compare
from tests.faults.kafka.failures import FAILURES, Case, unexpected, waits_for_broker
from tests.faults.kafka.kills import killed
from tests.faults.kafka.on_spark import compare_on_spark
from tests.faults.kafka.spark_failures import SPARK_FAILURES


def main(runs: int = 3, kills: int = 8, spark_kills: int = 4, messages: int = 6_000) -> int:
    """Runs all checks and prints a summary."""
    lacking = missing() or missing_jars("spark-kafka")
    if lacking is not None:
        print(f"kafka: not checked: {lacking}")
        return 1
    problems: list[str] = []
    total = batches = restarts = outages = 0
    with broker() as started, TemporaryDirectory(dir=scratch_folder()) as scratch:
        folder = Path(scratch)
        for seed in range(runs):
            counts = compare(started, folder / f"compare-{seed}", messages=messages, seed=seed)
            print(f"run {seed}: {counts}", flush=True)
            problems += [f"run {seed}: {problem}" for problem in counts.problems]
            total, batches = total + counts.messages, batches + counts.batches
            restarts, outages = restarts + counts.restarts, outages + counts.outages
        done, different = killed(started, folder / "kills", kills=kills, seed=1)
        print(f"kills: {done} of a query from Kafka to Kafka", flush=True)
        problems += different
        for number, failure in enumerate(FAILURES):
            wrong = unexpected(Case(started, folder, f"failure-{number}"), failure)
            print(f"failure: {failure}: {'as expected' if wrong is None else wrong}", flush=True)
            problems += [] if wrong is None else [wrong]
        wrong = waits_for_broker(Case(started, folder, "waits"))
        print(f"wait: a broker that is away and comes back: {'as expected' if wrong is None else wrong}")
        problems += [] if wrong is None else [wrong]
        on_spark = []
        for format, count, faults in (("json", 1_200, spark_kills), ("avro", 600, spark_kills // 2)):
            found = compare_on_spark(
                started, folder / f"spark-{format}", messages=count, kills=faults, seed=1, format=format
            )
            print(f"Spark, {format}: {found}", flush=True)
            problems += found.problems
            on_spark.append(found)
        module = "tests.faults.kafka.spark_failures"
        command = [sys.executable, "-m", module, started.servers, str(folder / "spark-failures")]
        if subprocess.run(command, check=False).returncode:
            problems.append("failures of topics on Spark are not as expected")
    for problem in problems:
        print(f"  {problem}")
    if problems:
        print(f"kafka: {len(problems)} problems")
        return 1
    print(
        f"kafka: all held: {runs} runs with {total:,} messages in {batches:,} micro-batches, {restarts} restarts and "
        f"{outages} outages equal to the reference; {done} kills; {len(FAILURES)} failures named; on Spark "
        f"{sum(each.messages for each in on_spark):,} messages in JSON and Avro in "
        f"{sum(each.batches for each in on_spark)} micro-batches with {sum(each.kills for each in on_spark)} kills and "
        f"{sum(each.outages for each in on_spark)} outages equal to the reference; {len(SPARK_FAILURES)} failures named"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
