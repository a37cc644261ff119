"""Kafka against the reference, with a real broker that is started for the check and stopped at its end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.components.broker import broker, missing
from tests.components.jars import missing_jars
from tests.components.memory import scratch_folder
from tests.faults.harness import LONGEST
from tests.faults.kafka.comparison import compare
from tests.faults.kafka.failures import LocalCase, SparkCase, SparkFailures, failures_of, waits_for_broker
from tests.faults.kafka.kills import compare_on_spark, kill_on_local
from tests.faults.kafka.moves import compare_moved
from tests.faults.kafka.outcome import Outcome


def check(runs: int = 3, kills: int = 8, spark_kills: int = 4, messages: int = 6_000) -> int:
    """Compares queries over Kafka with the reference, with faults.

    A query over a growing topic of several partitions, with late and malformed messages, is stopped and loses its
    broker, and must be what the reference computes (``comparison``). A query from Kafka to Kafka is killed, and must
    write the topics of one that is not; those on Spark, over JSON and Avro, are killed and lose their broker, and must
    write what the reference computes (``kills``), and so must one that moves from the local engine to Spark and back
    (``moves``). Topics that are deleted, lose messages or have a second writer must
    give errors that name them (``failures``). The last line is ``kafka: all held`` with the counts, or
    ``kafka: N problems`` with exit code 1.
    """
    lacking = missing() or missing_jars("spark-kafka")
    if lacking is not None:
        print(f"kafka: not checked: {lacking}")
        return 1
    problems: list[str] = []
    local, spark = Counter[str](), Counter[str]()

    def add(what: str, outcome: Outcome, total: Counter[str]) -> None:
        print(f"{what}: {outcome}", flush=True)
        problems.extend(f"{what}: {problem}" for problem in outcome.problems)
        total.update(outcome.counts)

    def judge(what: str, wrong: str | None) -> None:
        print(f"{what}: {wrong or 'as expected'}", flush=True)
        problems.extend(filter(None, [wrong]))

    with broker() as started, TemporaryDirectory(dir=scratch_folder()) as scratch:
        folder, servers = Path(scratch), started.servers
        for seed in range(runs):
            outcome = compare(started, folder / f"compare-{seed}", messages=messages, seed=seed)
            add(f"run {seed}", outcome, local)
        add("kills, from Kafka to Kafka", kill_on_local(started, folder, kills=kills, seed=1), local)
        for number, failure in enumerate(failures_of(LocalCase)):
            case = LocalCase(servers, folder, f"failure-{number}")
            judge(f"failure: {failure}", case.unexpected(failure))
        wait = waits_for_broker(started, LocalCase(servers, folder, "waits"))
        judge("wait: a broker that is away and comes back", wait)
        for format, count, faults in (("json", 1_200, spark_kills), ("avro", 600, spark_kills // 2)):
            run = folder / f"spark-{format}"
            outcome = compare_on_spark(started, run, messages=count, kills=faults, seed=1, format=format)
            add(f"Spark, {format}", outcome, spark)
        add("moved to Spark and back", compare_moved(started, folder / "moved"), Counter())
        failures = SparkFailures(folder / "spark-failures", servers)
        failed = failures.start().wait(LONGEST)
        print(failures.log, end="")
        if failed:
            problems.append("failures of topics on Spark are not as expected")
    for problem in problems:
        print(f"  {problem}")
    if problems:
        print(f"kafka: {len(problems)} problems")
        return 1
    print(
        f"kafka: all held: {runs} runs with {local['messages']:,} messages in {local['micro-batches']:,} "
        f"micro-batches, {local['restarts']} restarts and {local['outages']} outages equal to the reference; "
        f"{local['kills']} kills; {len(failures_of(LocalCase))} failures named; on Spark {spark['messages']:,} "
        f"messages in JSON and Avro in {spark['micro-batches']} micro-batches with {spark['kills']} kills and "
        f"{spark['outages']} outages equal to the reference; {len(failures_of(SparkCase))} failures named"
    )
    return 0
