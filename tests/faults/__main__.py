"""Fault injection into streaming queries: ``make faults``.

Queries from files to files run repeatedly, in turns, with faults: a chain of groupings, and chains of computations and
groupings. The whole process is killed at random times, a Python worker is killed in the middle of a task, or a
user-defined function raises in the middle of a batch. After each fault the query restarts from its checkpoint. Its
sorted output must equal that of an undisturbed run whose micro-batches read the same files, byte for byte. Queries to
tables, and from Kafka to Kafka, are killed while they write. A damaged checkpoint must raise an error. The last line is
``faults: K survived of K``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl
import psutil
from attrs import define, field

from tests.components.broker import broker, missing
from tests.components.processes import children_of, command_of, kill_tree
from tests.faults import sinks
from tests.faults.kafka.on_spark import compare_on_spark
from tests.faults.progress import (
    Batches,
    entries,
    files_of_batches,
    join_files,
    number_of,
    wait_for_commits,
)
from tests.faults.query import QUERIES, make_input

KILLS: Final = 30
WORKERS: Final = 3
FAILURES: Final = 3
SINK_KILLS: Final = 12
SINK_DEATHS: Final = 6
KAFKA_KILLS: Final = 6
QUERY: Final = "tests.faults.query"


def start_query(folder: Path) -> subprocess.Popen[bytes]:
    """Starts the query in a process group of its own."""
    with (folder / "query.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", QUERY, str(folder)], stdout=log, stderr=log, start_new_session=True
        )


def python_workers(query: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The Python workers of the query."""
    workers = [process for process in children_of(query) if "pyspark.daemon" in command_of(process)]
    # The first process only starts the others.
    return workers[1:]


def content(folder: Path) -> bytes:
    """The sorted rows of the output, from the files in Spark's log of committed files."""
    log = folder / "out" / "_spark_metadata"
    names: set[str] = set()
    for entry in entries(log):
        if entry.name.endswith(".compact"):
            names = set()
        for line in entry.read_text().splitlines()[1:]:
            names.add(Path(json.loads(line)["path"]).name)
    tables = [pl.read_parquet(folder / "out" / name) for name in sorted(names)]
    whole = pl.concat(tables)
    lines = sorted(repr(row) for row in whole.rows())
    return "\n".join(lines).encode()


@define
class Trial:
    """Runs of the queries with faults over one input, and the outputs of the undisturbed runs.

    Those outputs are by the query and the files that each micro-batch has read.
    """

    root: Path
    expected: dict[tuple[str, Batches], bytes] = field(factory=dict)
    faults: int = 0
    survived: int = 0
    runs: int = 0
    queries: Iterator[str] = field(factory=lambda: cycle(QUERIES))

    def folder(self) -> Path:
        """Creates the folder of a run of the next query, without a checkpoint."""
        return self.folder_of(next(self.queries), self.root / "in")

    def folder_of(self, query: str, files: Path) -> Path:
        """Creates the folder of a run of a query over some files, without a checkpoint."""
        self.runs += 1
        folder = self.root / query / f"run-{self.runs}"
        folder.mkdir(parents=True)
        os.symlink(files, folder / "in")
        return folder

    def record(self, fault: str, count: int, *, survived: bool) -> None:
        """Counts faults of one kind and prints whether the query survived them."""
        self.faults += count
        self.survived += count if survived else 0
        print(f"{fault}: {count}, {'survived' if survived else 'NOT SURVIVED'}", flush=True)

    def matches(self, folder: Path) -> bool:
        """Whether the output equals that of an undisturbed run of the query whose micro-batches read the same."""
        query, batches = folder.parent.name, files_of_batches(folder)
        if (query, batches) not in self.expected:
            joined = self.root / "joined" / folder.name
            join_files(self.root / "in", batches, joined)
            self.expected[query, batches] = self.run_undisturbed(query, joined)
        return content(folder) == self.expected[query, batches]

    def run_undisturbed(self, query: str, files: Path) -> bytes:
        """Returns the output of a query without faults over some files, of which each micro-batch reads one."""
        folder = self.folder_of(query, files)
        if start_query(folder).wait() != 0:
            raise RuntimeError((folder / "query.log").read_text()[-2000:])
        found = content(folder)
        rows, batches = found.count(b"\n") + 1, len(files_of_batches(folder))
        print(f"undisturbed {query}: {rows} rows of {batches} micro-batches", flush=True)
        shutil.rmtree(folder)
        return found


def kill_queries(trial: Trial, wanted: int, rng: random.Random) -> None:
    """Kills the whole process at random times, also while it starts; compares the output of each completed run."""
    done = 0
    while done < wanted:
        folder, kills = trial.folder(), 0
        while True:
            query = start_query(folder)
            if done + kills < wanted:
                wait_for_commits(query, folder, rng.randrange(5))
                time.sleep(rng.uniform(0, 2))
                if query.poll() is None:
                    kill_tree(query)
                    kills += 1
                    continue
            if query.wait() != 0:
                print((folder / "query.log").read_text()[-2000:])
                trial.record("SIGKILL of the whole process", max(kills, 1), survived=False)
                return
            break
        done += kills
        if kills:
            fault = f"SIGKILL of the whole process, {folder.parent.name}"
            trial.record(fault, kills, survived=trial.matches(folder))
        shutil.rmtree(folder)


def restart(trial: Trial, folder: Path) -> bool:
    """Restarts the query until it ends, at most five times; returns whether its output is correct."""
    for _ in range(5):
        if start_query(folder).wait() == 0:
            return trial.matches(folder)
    print((folder / "query.log").read_text()[-2000:])
    return False


def kill_workers(trial: Trial, wanted: int, rng: random.Random) -> None:
    """Kills a Python worker in the middle of a task; a run that ended before does not count."""
    done = 0
    while done < wanted:
        folder = trial.folder()
        query = start_query(folder)
        if _kill_worker(query, rng.uniform(0, 4), rng):
            done += 1
            ended = query.wait() == 0
            same = trial.matches(folder) if ended else restart(trial, folder)
            trial.record(f"SIGKILL of a Python worker, {folder.parent.name}", 1, survived=same)
        query.wait()
        shutil.rmtree(folder)


def _kill_worker(query: subprocess.Popen[bytes], pause: float, rng: random.Random) -> bool:
    """Kills a worker some time after the first worker started; returns whether there was any."""
    while query.poll() is None and not python_workers(query):
        time.sleep(0.05)
    time.sleep(pause)
    while query.poll() is None:
        try:
            rng.choice(python_workers(query)).kill()
        except (IndexError, psutil.NoSuchProcess):
            time.sleep(0.05)
        else:
            return True
    return False


def raise_in_functions(trial: Trial, wanted: int, rng: random.Random) -> None:
    """Makes a user-defined function raise in the middle of a batch, but not after a restart."""
    for _ in range(wanted):
        folder = trial.folder()
        query = start_query(folder)
        time.sleep(rng.uniform(0, 9))
        (folder / "fail").touch()
        failed = query.wait() != 0
        raised = "a user-defined function has failed" in (folder / "query.log").read_text()
        survived = (failed and raised and restart(trial, folder)) if failed else trial.matches(folder)
        fault = f"a function that raises in the middle of a batch, {folder.parent.name}"
        trial.record(fault, 1, survived=survived)
        shutil.rmtree(folder)


def kill_kafka_queries(trial: Trial, wanted: int, rng: random.Random) -> None:
    """Kills a query from a topic to topics while it runs, and compares the topics with the reference."""
    lacking = missing()
    if lacking is not None:
        print(f"Kafka is not among the sources and sinks: {lacking}")
        return
    with broker() as started:
        counts = compare_on_spark(
            started, trial.root / "kafka", messages=3_000, kills=wanted, seed=rng.randrange(2**32)
        )
    for problem in counts.problems:
        print(problem)
    fault = "SIGKILL of the whole process, from Kafka to Kafka"
    trial.record(fault, max(counts.kills, 1), survived=not counts.problems)


def interrupt_run(trial: Trial) -> Path:
    """Kills a run after some batches and returns its folder."""
    folder = trial.folder()
    query = start_query(folder)
    wait_for_commits(query, folder, 8)
    kill_tree(query)
    return folder


def damaged_checkpoints(trial: Trial) -> Iterator[tuple[str, Path]]:
    """Yields folders of runs, each with a damaged checkpoint."""
    folder = interrupt_run(trial)
    for file in _state_files(folder):
        _corrupt(file)
    yield "corrupt state", folder
    folder = interrupt_run(trial)
    for file in _state_files(folder):
        file.unlink()
    yield "missing state", folder
    for what, place in _LOGS.items():
        folder = interrupt_run(trial)
        _truncate(folder / "checkpoint" / place)
        yield f"truncated {what}", folder


_LOGS: Final = {
    "offset log": "offsets",
    "commit log": "commits",
    "file log of a source": "sources/0",
    "query id": "metadata",
}


def _truncate(log: Path) -> None:
    """Truncates the last file of a log to ten bytes, and deletes its checksum: only its content shows the damage."""
    last = log if log.is_file() else max(log.glob("[0-9]*"), key=number_of)
    last.write_bytes(last.read_bytes()[:10])
    _delete_checksum(last)


def checkpoint_error(log: str) -> str | None:
    """The error message of flowalg or Spark that reports the damage of a checkpoint, if there is one."""
    words = ("is damaged", "CANNOT_LOAD_STATE_STORE")
    errors = [line.strip() for line in log.splitlines() if _ERROR.search(line)]
    return next((line[:300] for line in reversed(errors) if any(word in line for word in words)), None)


_ERROR: Final = re.compile(r"(Error|Exception|\[[A-Z_]+(\.[A-Z_]+)*\])")


def _state_files(folder: Path) -> list[Path]:
    """Spark's files of the state: changelogs and snapshots."""
    state = folder / "checkpoint" / "state"
    return [*state.rglob("*.changelog"), *state.rglob("*.zip")]


def _corrupt(file: Path) -> None:
    """Corrupts bytes in the middle of a file, and deletes its checksum: only its content shows the damage."""
    payload = bytearray(file.read_bytes())
    middle = len(payload) // 2
    payload[middle : middle + 64] = bytes(255 - byte for byte in payload[middle : middle + 64])
    file.write_bytes(bytes(payload))
    _delete_checksum(file)


def _delete_checksum(file: Path) -> None:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Injects all faults and prints a summary."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    rng = random.Random(options.seed)
    with TemporaryDirectory() as scratch:
        trial = Trial(Path(scratch))
        make_input(trial.root / "in")
        kill_queries(trial, options.kills, rng)
        for result in sinks.kill_queries(trial.root, trial.root / "in", SINK_KILLS, SINK_DEATHS, rng):
            trial.record(result.fault, result.count, survived=result.survived)
        kill_kafka_queries(trial, KAFKA_KILLS, rng)
        kill_workers(trial, WORKERS, rng)
        raise_in_functions(trial, FAILURES, rng)
        for damage, folder in damaged_checkpoints(trial):
            (folder / "query.log").unlink()
            code = start_query(folder).wait()
            error = checkpoint_error((folder / "query.log").read_text())
            survived = trial.matches(folder) if code == 0 else error is not None
            print(f"    {'the damaged part was not needed' if code == 0 else f'error: {error}'}")
            trial.record(damage, 1, survived=survived)
    print(f"faults: {trial.survived} survived of {trial.faults}")
    return 0 if trial.survived == trial.faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
