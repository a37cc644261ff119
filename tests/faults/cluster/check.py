"""Queries on a cluster of this machine, with processes that are killed while they run."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import flowalg_reference as reference
from flowalg_laws.conformance import count_drops
from flowalg_laws.conformance.drawing import full_line
from flowalg_spark import local_session

from flowalg import Mode, Run
from tests.components.cluster import StandaloneCluster
from tests.faults.cluster.packing import Shipped
from tests.faults.cluster.query import ClusterQuery, joined, timeline
from tests.faults.files import make_input
from tests.faults.harness import Fault, Moment, finish, kill
from tests.faults.progress import Batches
from tests.faults.subject import Process, Subject
from tests.faults.visits import VISITS
from tests.support.spark_replay import read_back

QUERIES: Final = ("sessions", "changes-of-sums")
FAILURES: Final = 20
"""How often a query may fail after a process of the cluster was killed."""

MOMENT: Final = Moment((1, 4), (0, 1))
"""After some micro-batches."""


def kills_in(cluster: StandaloneCluster) -> dict[str, Fault]:
    """Returns the faults by what they kill."""

    def after(strike: Callable[[Random], bool]) -> Callable[[Subject, Process, Random], bool]:
        def wait_and_strike(subject: Subject, process: Process, chance: Random) -> bool:
            while MOMENT.wait(subject, process, chance):
                if strike(chance):
                    return True
            return False

        return wait_and_strike

    def executor(chance: Random) -> bool:
        """Kills an executor, if there is one; the cluster starts another one."""
        executors = cluster.executors()
        if executors:
            chance.choice(executors).kill()
        return bool(executors)

    def worker(chance: Random) -> bool:
        """Kills a worker with its executor, and starts another one after some seconds."""
        chosen = chance.choice(cluster.workers)
        cluster.kill_worker(chosen)
        time.sleep(chance.uniform(0, 5))
        cluster.start_worker(chosen.host)
        return True

    return {
        "executors": Fault("executors", after(executor), failures=FAILURES),
        "workers": Fault("workers", after(worker), failures=FAILURES),
        "drivers": kill("drivers", MOMENT),
    }


def _events(folder: Path) -> Counter[str]:
    """Returns how many tasks were started a second time, how many failed, and how many executors were lost."""
    counts: Counter[str] = Counter({"speculative": 0, "failed": 0, "lost": 0})
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
                    counts["speculative"] += 1
                case "SparkListenerTaskEnd" if event["Task Info"]["Failed"]:
                    counts["failed"] += 1
                case "SparkListenerExecutorRemoved":
                    counts["lost"] += 1
                case _:
                    pass
    return counts


def facts_of(run: Run[object]) -> tuple[Counter[str], object]:
    """Returns the panes or elements of a run, and its drops."""
    return Counter([*map(full_line, run.panes), *map(repr, run.elements)]), count_drops(run.dropped)


def compare(runs: list[ClusterQuery]) -> Iterator[tuple[ClusterQuery, int, bool]]:
    """Yields each run, the number of its panes or elements, and whether it equals that of the reference."""
    spark = local_session("flowalg cluster check", memory="1g")
    try:
        expected: dict[tuple[str, Batches], tuple[Counter[str], object]] = {}
        for run in runs:
            key = run.query, run.batches()
            if key not in expected:
                inputs = {VISITS: joined(timeline(), key[1])}
                expected[key] = facts_of(reference.run(run.pipeline, inputs, mode=Mode.MICRO_BATCH))
            wanted = expected[key]
            facts = facts_of(read_back(spark, run.pipeline, run.folder / "out"))
            yield run, wanted[0].total(), facts == wanted
    finally:
        spark.stop()


def check(executors: int = 2, workers: int = 1, drivers: int = 2, seed: int = 0) -> int:
    """Runs queries on a cluster, undisturbed, and while executors, workers or the driver are killed.

    A master and two workers of Spark's standalone cluster run in processes of this machine. ``spark-submit`` starts the
    queries; flowalg and its libraries are sent to the workers as an archive. Speculation is on, and a function is slow
    once, so that Spark starts the same task twice. A query that ends before its input does is submitted again and
    continues from its checkpoint. The panes and drops of each run must equal those of the reference interpreter over
    the micro-batches that the query has read. The last line is ``cluster: all held`` with the counts.
    """
    counts, chance = Counter[str](), Random(seed)
    with TemporaryDirectory() as scratch, StandaloneCluster(Path(scratch) / "cluster") as cluster:
        root = Path(scratch)
        make_input(root / "in")
        shipped = Shipped.pack(root / "shipped")
        runs: list[ClusterQuery] = []
        queries = cycle(QUERIES)

        def run(what: str, faults: list[Fault]) -> int:
            folder = root / next(queries) / f"run-{len(runs)}"
            (folder / "events").mkdir(parents=True)
            (folder / "in").symlink_to(root / "in")
            runs.append(ClusterQuery(folder, cluster.url, shipped))
            finished = finish(runs[-1], faults, chance)
            events = _events(folder / "events")
            print(
                f"{runs[-1].query}, {what}: {len(finished.struck)} killed, {events['speculative']} speculative "
                f"tasks, {events['lost']} executors lost, {events['failed']} tasks failed",
                flush=True,
            )
            counts.update(events)
            counts.update({"killed": len(finished.struck), "again": finished.starts - 1})
            return len(finished.struck)

        for _ in QUERIES:
            run("undisturbed", [])
        kills = kills_in(cluster)
        for name, wanted in (("executors", executors), ("workers", workers), ("drivers", drivers)):
            done = 0
            while done < wanted:
                # About half of the faults in one run, so that each query has some.
                done += run(name, [kills[name]] * min(wanted - done, -(-wanted // len(QUERIES))))
        cluster.stop()
        held = True
        for cluster_query, count, same in compare(runs):
            equal = "equal to" if same else "NOT EQUAL TO"
            print(f"{cluster_query.query}: {count} results, {equal} the reference's")
            held &= same
    print(
        f"cluster: {'all held' if held else 'NOT HELD'}, {len(runs)} runs, {counts['killed']} processes killed, "
        f"{counts['again']} queries submitted again, {counts['speculative']} speculative tasks, "
        f"{counts['lost']} executors lost"
    )
    return 0 if held else 1
