"""Queries on a cluster, with processes that are killed while they run: ``make cluster-check``.

A master and two workers of Spark's standalone cluster run in processes of this machine. ``spark-submit`` starts the
queries; flowalg and its libraries are sent to the workers as an archive. Speculation is on, and a function is slow
once, so that Spark starts the same task twice. Each query runs undisturbed, and then while executors, workers or the
driver are killed; a query that ends before its input does is submitted again and continues from its checkpoint. The
panes and drops of each run must equal those of the reference interpreter over the micro-batches that the query has
read. The last line is ``cluster: all held`` with the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import flowalg_reference as reference
import pyspark
from attrs import define, field, frozen
from flowalg_laws.conformance import count_drops
from flowalg_laws.conformance.drawing import full_line
from flowalg_spark import local_session

from flowalg import Mode, Run
from tests.components.cluster import MASTER, StandaloneCluster
from tests.components.processes import kill_tree
from tests.faults.cluster import query as cluster_query
from tests.faults.cluster.packing import FOLDER, pack_libraries, pack_modules
from tests.faults.cluster.query import QUERIES, joined, make_input, pipeline, timeline
from tests.faults.progress import Batches, files_of_batches, wait_for_commits
from tests.faults.visits import VISITS
from tests.support.spark_replay import read_back

EXECUTORS: Final = 2
WORKERS: Final = 1
DRIVERS: Final = 2
"""How many of each kind are killed."""

MOST_STARTS: Final = 20
LONGEST: Final = 600.0
"""How often a query is started at most, and how long it may run, in seconds."""

SETTINGS: Final = {
    "spark.executor.memory": "700m",
    "spark.driver.memory": "700m",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.executorEnv.PYTHONPATH": f"./{FOLDER}",
    "spark.task.maxFailures": "8",
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
    # A stage of one task has no other to compare its duration with.
    "spark.speculation.task.duration.threshold": "3s",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@frozen
class Shipped:
    """What is sent to the cluster: the folder of libraries, for the driver, its archive, and the query's modules."""

    libraries: Path
    archive: Path
    modules: Path

    @classmethod
    def pack(cls, folder: Path) -> Shipped:
        """Packs what is sent, in a folder."""
        libraries, archive = pack_libraries(folder)
        return cls(libraries, archive, pack_modules(folder))

    def submit(self, cluster: StandaloneCluster, folder: Path) -> subprocess.Popen[bytes]:
        """Submits the query of a folder; the process is its driver."""
        home = Path(pyspark.__file__).parent
        # Not the interpreter of this environment, so that the libraries come from the archive only.
        python = getattr(sys, "_base_executable", sys.executable)
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": MASTER,
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": python,
            # Spark starts a second Python process on the driver, which does not get the files of --py-files.
            "PYTHONPATH": os.pathsep.join([str(self.libraries), str(self.modules)]),
        }
        events = folder / "events"
        events.mkdir(exist_ok=True)
        settings = SETTINGS | {"spark.eventLog.dir": events.as_uri()}
        command = [str(home / "bin" / "spark-submit"), "--master", cluster.url]
        command += ["--archives", f"{self.archive}#{FOLDER}", "--py-files", str(self.modules)]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        command += [str(Path(cluster_query.__file__)), str(folder)]
        with (folder / "query.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)


Kill = Callable[[StandaloneCluster, subprocess.Popen[bytes], random.Random], bool]
"""Kills a process of a running query; returns whether there was one to kill."""


def kill_executor(cluster: StandaloneCluster, driver: subprocess.Popen[bytes], rng: random.Random) -> bool:
    """Kills an executor; the cluster starts another one."""
    executors = cluster.executors()
    if not executors:
        return False
    rng.choice(executors).kill()
    return True


def kill_worker(cluster: StandaloneCluster, driver: subprocess.Popen[bytes], rng: random.Random) -> bool:
    """Kills a worker with its executor, and starts another one after some seconds."""
    worker = rng.choice(cluster.workers)
    cluster.kill_worker(worker)
    time.sleep(rng.uniform(0, 5))
    cluster.start_worker(worker.host)
    return True


def kill_driver(cluster: StandaloneCluster, driver: subprocess.Popen[bytes], rng: random.Random) -> bool:
    """Kills the driver; the cluster ends its executors."""
    kill_tree(driver)
    return True


@frozen
class Fault:
    """A kind of fault: what is killed, how, and how often in all runs."""

    name: str
    kill: Kill
    count: int


@define
class Trial:
    """Runs of the queries on a cluster, one after another, and how often each kind of event happened in them."""

    cluster: StandaloneCluster
    shipped: Shipped
    root: Path
    rng: random.Random
    folders: list[Path] = field(factory=list)
    counts: Counter[str] = field(factory=Counter)
    queries: Iterator[str] = field(factory=lambda: cycle(QUERIES))

    def run(self, fault: Fault | None = None, wanted: int = 0) -> int:
        """Runs the next query to its end while processes are killed; returns how many were.

        Raises ``RuntimeError`` if the query fails, or does not end.
        """
        folder = self.root / next(self.queries) / f"run-{len(self.folders)}"
        folder.mkdir(parents=True)
        (folder / "in").symlink_to(self.root / "in")
        self.folders.append(folder)
        done, starts, until = 0, 0, time.monotonic() + LONGEST
        while True:
            starts += 1
            (folder / "slow").touch()
            driver = self.shipped.submit(self.cluster, folder)
            try:
                done += self._disturb(driver, folder, fault, wanted - done)
                code = driver.wait(max(1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                code = None
            finally:
                kill_tree(driver)
            if code == 0:
                return done
            self.counts["starts"] += 1
            if not done or starts == MOST_STARTS or code is None:
                raise RuntimeError(f"the query in {folder} has ended with {code}:\n{_errors(folder)}")

    def _disturb(
        self, driver: subprocess.Popen[bytes], folder: Path, fault: Fault | None, wanted: int
    ) -> int:
        """Kills processes while a query runs, each after it has committed some micro-batches; returns how many."""
        done = 0
        while fault is not None and done < wanted:
            wait_for_commits(driver, folder, self.rng.randrange(1, 5))
            time.sleep(self.rng.uniform(0, 1))
            if driver.poll() is not None:
                break
            if fault.kill(self.cluster, driver, self.rng):
                done += 1
        return done

    def record(self, run: Path, fault: str, count: int) -> None:
        """Adds what happened in a run to the counts, and prints it."""
        found = _events(run / "events")
        print(
            f"{run.parent.name}, {fault}: {count} killed, {found['speculative']} speculative tasks, "
            f"{found['lost']} executors lost, {found['failed']} tasks failed",
            flush=True,
        )
        self.counts.update(found)
        self.counts["killed"] += count
        self.counts["runs"] += 1


def _errors(folder: Path) -> str:
    """Returns the lines of a driver's log that name an error."""
    lines = (folder / "query.log").read_text().splitlines()
    return "\n".join(line[:300] for line in lines if _ERROR.match(line.strip()))


_ERROR: Final = re.compile(r"[\w.]*(Error|Exception)\b")


def _events(folder: Path) -> Counter[str]:
    """Returns how many tasks were started a second time, how many failed, and how many executors were lost."""
    found: Counter[str] = Counter({"speculative": 0, "failed": 0, "lost": 0})
    for log in folder.iterdir():
        for line in log.read_text(errors="replace").splitlines():
            if "SparkListener" not in line:
                continue
            try:
                event = json.loads(line)
            except ValueError:
                continue  # a killed driver may leave half a line
            match event.get("Event"):
                case "SparkListenerTaskStart" if event["Task Info"]["Speculative"]:
                    found["speculative"] += 1
                case "SparkListenerTaskEnd" if event["Task Info"]["Failed"]:
                    found["failed"] += 1
                case "SparkListenerExecutorRemoved":
                    found["lost"] += 1
                case _:
                    pass
    return found


def facts_of(run: Run[object]) -> tuple[Counter[str], object]:
    """Returns the panes or elements of a run, and its drops."""
    return Counter([*map(full_line, run.panes), *map(repr, run.elements)]), count_drops(run.dropped)


def compare(folders: list[Path]) -> Iterator[tuple[Path, int, bool]]:
    """Yields each run, the number of its panes or elements, and whether it equals that of the reference."""
    spark = local_session("flowalg cluster check", memory="1g")
    try:
        expected: dict[tuple[str, Batches], tuple[Counter[str], object]] = {}
        for folder in folders:
            query, run_of = pipeline(folder), (folder.parent.name, files_of_batches(folder))
            if run_of not in expected:
                run = reference.run(query, {VISITS: joined(timeline(), run_of[1])}, mode=Mode.MICRO_BATCH)
                expected[run_of] = facts_of(run)
            wanted = expected[run_of]
            yield folder, wanted[0].total(), facts_of(read_back(spark, query, folder / "out")) == wanted
    finally:
        spark.stop()


def main(arguments: list[str]) -> int:
    """Runs the queries, undisturbed and with faults, and prints a summary."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.cluster", description=__doc__)
    parser.add_argument("--executors", type=int, default=EXECUTORS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--drivers", type=int, default=DRIVERS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    faults = [
        Fault("executors", kill_executor, options.executors),
        Fault("workers", kill_worker, options.workers),
        Fault("drivers", kill_driver, options.drivers),
    ]
    with TemporaryDirectory() as scratch:
        root = Path(scratch)
        make_input(root / "in")
        shipped = Shipped.pack(root / "shipped")
        with StandaloneCluster(root / "cluster") as cluster:
            trial = Trial(cluster, shipped, root, random.Random(options.seed))
            for _ in QUERIES:
                trial.run()
                trial.record(trial.folders[-1], "undisturbed", 0)
            for fault in faults:
                done = 0
                while done < fault.count:
                    # About half of the faults in one run, so that each query has some.
                    wanted = max(1, min(fault.count - done, -(-fault.count // len(QUERIES))))
                    killed = trial.run(fault, wanted)
                    trial.record(trial.folders[-1], fault.name, killed)
                    done += killed
        held = True
        for folder, count, same in compare(trial.folders):
            print(
                f"{folder.parent.name}: {count} results, {'equal to' if same else 'NOT EQUAL TO'} the reference's"
            )
            held &= same
    counts = trial.counts
    print(
        f"cluster: {'all held' if held else 'NOT HELD'}, {counts['runs']} runs, {counts['killed']} processes killed, "
        f"{counts['starts']} queries submitted again, {counts['speculative']} speculative tasks, "
        f"{counts['lost']} executors lost"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
