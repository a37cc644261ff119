"""Faults of queries on Spark, from files to files and tables, and from Kafka to Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from random import Random
from signal import SIGKILL
from tempfile import TemporaryDirectory
from typing import Final

import psutil
import psycopg

from tests.components import postgresql
from tests.components.broker import broker, missing
from tests.components.processes import children_of, command_of
from tests.faults.damage import DAMAGES, checkpoint_error
from tests.faults.files import QUERIES, RAISED, FileQuery, make_input
from tests.faults.harness import Fault, Moment, QueryFailed, Tally, finish, kill
from tests.faults.on_spark import SparkFiles, SparkTables
from tests.faults.subject import Process, Subject
from tests.faults.trials import Trials

FAILURES: Final = 5
"""How often a query may fail after a fault that Spark may survive by itself."""


def python_workers(query: Process) -> list[psutil.Process]:
    """Returns the Python workers of a query."""
    workers = [process for process in children_of(query) if "daemon pyspark.worker" in command_of(process)]
    # The first process only starts the others.
    return workers[1:]


def _kill_worker(subject: Subject, process: Process, chance: Random) -> bool:
    """Kills a worker some time after the first one started."""
    while process.poll() is None and not python_workers(process):
        time.sleep(0.05)
    time.sleep(chance.uniform(0, 4))
    while process.poll() is None:
        try:
            chance.choice(python_workers(process)).kill()
        except (IndexError, psutil.NoSuchProcess):
            time.sleep(0.05)
        else:
            return True
    return False


def _raise(subject: Subject, process: Process, chance: Random) -> bool:
    """Makes a function of the query raise, once."""
    time.sleep(chance.uniform(0, 9))
    (subject.folder / "fail").touch()
    return process.poll() is None


def _die(subject: Subject, process: Process, chance: Random) -> bool:
    """Lets the process kill itself after a number of transactions."""
    assert isinstance(subject, SparkTables)
    # The process reads the file when its session has started.
    subject.die.write_text(str(chance.randrange(1, 40)))
    died = process.wait() == -SIGKILL and not subject.die.exists()
    subject.die.unlink(missing_ok=True)
    return died


KILL: Final = kill("SIGKILL of the whole process", Moment((0, 4), (0, 2)))
KILL_WRITING: Final = kill("SIGKILL of the whole process while it writes to tables", Moment(seconds=(6, 20)))
DIE: Final = Fault("SIGKILL between a table's commit and Spark's", _die)
KILL_WORKER: Final = Fault("SIGKILL of a Python worker", _kill_worker, failures=FAILURES)
RAISE: Final = Fault(
    "a function that raises in the middle of a batch", _raise, reason=RAISED, failures=FAILURES
)


def kill_tables(tally: Tally, root: Path, files: Path, kills: int, deaths: int, chance: Random) -> None:
    """Kills queries to tables at random times, and right after transactions."""
    with ExitStack() as stack:
        server = None
        if postgresql.missing() is None:
            server = stack.enter_context(postgresql.cluster())
        faults = [DIE] * deaths + [KILL_WRITING] * kills
        Trials(root, files, _tables_in(server)).disturb(tally, faults, chance)


def _tables_in(server: str | None) -> Callable[[Path], FileQuery]:
    """Returns a function that makes runs to tables of their own."""

    def create(folder: Path) -> FileQuery:
        if server is None:
            return SparkTables(folder, None)
        schema = folder.name.replace("-", "_")
        with psycopg.connect(server) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return SparkTables(folder, f"{server} options='-c search_path={schema}'")

    return create


def kill_on_kafka(tally: Tally, root: Path, kills: int, chance: Random) -> None:
    """Kills a query from a topic to topics while it runs, and compares the topics with the reference."""
    from tests.faults.kafka.kills import compare_on_spark

    lacking = missing()
    if lacking is not None:
        print(f"Kafka is not among the sources and sinks: {lacking}")
        return
    with broker() as started:
        outcome = compare_on_spark(started, root, messages=3_000, kills=kills, seed=chance.randrange(2**32))
    for problem in outcome.problems:
        print(problem)
    fault = "SIGKILL of the whole process, from Kafka to Kafka"
    tally.record([fault] * max(outcome.counts["kills"], 1), survived=not outcome.problems)


def damage_checkpoints(tally: Tally, trials: Trials, count: int, chance: Random) -> None:
    """Kills runs after some batches, and damages their checkpoints; each must fail with an error that names it."""
    after_eight = kill("", Moment((9, 9)))
    for (name, damage), query in zip(list(DAMAGES.items())[:count], cycle(QUERIES), strict=False):
        run = trials.run_of(query)
        process = run.start()
        after_eight.strike(run, process, chance)
        damage(run.checkpoint)
        (run.folder / "log").unlink()
        try:
            finish(run, (), chance)
        except QueryFailed:
            error = checkpoint_error(run.log)
            print(f"    error: {error}")
            tally.record([name], survived=error is not None)
        else:
            print("    the damaged part was not needed")
            tally.record([name], survived=trials.matches(run))


def check(
    kills: int = 30,
    table_kills: int = 12,
    deaths: int = 6,
    kafka_kills: int = 6,
    workers: int = 3,
    failures: int = 3,
    damages: int = len(DAMAGES),
    seed: int = 0,
) -> int:
    """Injects faults into streaming queries on Spark, from files to files: a chain of groupings, and computations.

    The whole process is killed at random times, a Python worker is killed in the middle of a task, or a user-defined
    function raises in the middle of a batch. After each fault the query restarts from its checkpoint. Its sorted output
    must equal that of an undisturbed run whose micro-batches read the same files. Queries to tables are killed while
    they write, and between the commit of a table and Spark's (``deaths``), and those from Kafka to Kafka while they
    run. A damaged checkpoint must raise an error. The last line is ``faults: K survived of K``.
    """
    chance, tally = Random(seed), Tally()
    with TemporaryDirectory() as scratch:
        root = Path(scratch)
        files = root / "in"
        make_input(files)
        trials = Trials(root / "files", files, SparkFiles)
        trials.disturb(tally, [KILL] * kills, chance)
        kill_tables(tally, root / "tables", files, table_kills, deaths, chance)
        if kafka_kills:
            kill_on_kafka(tally, root / "kafka", kafka_kills, chance)
        trials.disturb(tally, [KILL_WORKER] * workers, chance, most=1)
        trials.disturb(tally, [RAISE] * failures, chance, most=1)
        damage_checkpoints(tally, trials, damages, chance)
    return tally.report("faults")
