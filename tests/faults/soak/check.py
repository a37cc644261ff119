"""Two queries that run for an hour, in the first half of which they are killed every few minutes."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Final

import flowalg_sinks
from flowalg_kafka import Kafka
from flowalg_sinks import Cell, PostgreSQL
from flowalg_sinks.drops import drop_table

from tests.components import broker as kafka
from tests.components import postgresql
from tests.faults.kafka.outcome import named_rows
from tests.faults.kafka.traffic import Topics
from tests.faults.soak.picture import draw
from tests.faults.soak.query import ENGINES, SoakQuery
from tests.faults.soak.supervising import Supervised
from tests.faults.soak.traffic import PARTITIONS, Traffic

TOPIC: Final = "scores"
FEWEST_SAMPLES: Final = 10
MOST_GROWTH: Final = 1.25
"""How much more memory the last quarter of the undisturbed half may need than its second quarter."""


def check(
    minutes: float = 60.0,
    rate: int = 500,
    restart: float = 180.0,
    engines: tuple[str, ...] = tuple(ENGINES),
    picture: Path = Path("build/soak.svg"),
    seed: int = 0,
) -> int:
    """Runs two queries for an hour, or for other minutes, and draws them.

    A broker of Kafka and a server of PostgreSQL run on this machine. A generator sends ``rate`` scores a second to a
    topic, some late and some malformed. A query on the local engine and one on Spark read it, and both write the
    current totals to PostgreSQL and to a topic. In the first half they are killed about every ``restart`` seconds; in
    the second half nothing disturbs them, so that memory that grows is seen. At the end, the four tables must have the
    totals that the generator has added up, each bad message must be among the bad records once, nothing else may be
    dropped, and the memory must be flat. The last line is ``soak: all held`` with the counts.
    """
    lacking = kafka.missing() or postgresql.missing()
    if lacking is not None:
        print(f"soak: not run: {lacking}")
        return 1
    with kafka.broker() as broker, postgresql.cluster() as conninfo, TemporaryDirectory() as scratch:
        Topics(broker.servers).create(TOPIC, PARTITIONS)
        queries = []
        begun, start = time.monotonic(), datetime.now(UTC)
        for engine in engines:
            folder = Path(scratch) / engine
            query = ENGINES[engine](folder, broker.servers, TOPIC, engine, conninfo=conninfo)
            queries.append(Supervised(query, begun))
        traffic = Traffic(broker.servers, TOPIC, rate, seed)
        generator = Thread(target=traffic.run, name="traffic")
        generator.start()
        try:
            disturb(queries, minutes * 60, restart, random.Random(seed))
        except BaseException:
            for supervised in queries:
                supervised.stop()
            raise
        finally:
            traffic.stopped.set()
            generator.join()
        for supervised in queries:
            supervised.finish(600)
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw(queries, start, picture)
        problems = [
            problem for supervised in queries for problem in problems_of(supervised, traffic, minutes * 60)
        ]
        report(queries, traffic)
    for problem in problems:
        print(f"  {problem}")
    kills = sum(len(supervised.kills) for supervised in queries)
    print(
        f"soak: {'all held' if not problems else f'{len(problems)} problems'}: {minutes:g} minutes, "
        f"{traffic.sent:,} messages, {traffic.bad:,} of them bad, {len(traffic.expected):,} totals, {kills} kills; "
        f"{' and '.join(engines)}; the picture is {picture}"
    )
    return 1 if problems else 0


def disturb(queries: Sequence[Supervised], seconds: float, restart: float, chance: random.Random) -> None:
    """Runs the queries for some seconds; in the first half of them each is killed and started from time to time."""
    for supervised in queries:
        supervised.start()
    begun = time.monotonic()
    kill_at = {id(supervised): begun + chance.uniform(0.5, 1.5) * restart for supervised in queries}
    while (now := time.monotonic()) < begun + seconds:
        for supervised in queries:
            if kill_at[id(supervised)] <= now < begun + seconds / 2:
                supervised.kill()
                kill_at[id(supervised)] = now + chance.uniform(0.5, 1.5) * restart
            supervised.watch()
        time.sleep(2)


def problems_of(supervised: Supervised, traffic: Traffic, seconds: float) -> Iterator[str]:
    """Yields what is wrong with the tables and the memory of a query."""
    yield from supervised.failures
    query = supervised.query
    for name, target in query.targets.items():
        totals, bad, others = stored(query, target)
        missing, unexpected = (
            traffic.expected.items() - totals.items(),
            totals.items() - traffic.expected.items(),
        )
        if missing or unexpected:
            yield (
                f"{query.name}, {name}: {len(missing)} totals are missing, such as {list(missing)[:2]}, and "
                f"{len(unexpected)} unexpected, such as {list(unexpected)[:2]}"
            )
        if bad != traffic.bad or others:
            yield f"{query.name}, {name}: {bad} bad records instead of {traffic.bad}, {others} other drops"
    quarters = quarters_of(supervised, seconds)
    if quarters is not None and quarters[1] > MOST_GROWTH * quarters[0]:
        yield f"{query.name}: the memory grew from {quarters[0]:.0f} to {quarters[1]:.0f} MB"


def stored(query: SoakQuery, target: PostgreSQL | Kafka) -> tuple[Mapping[tuple[Cell, Cell], Cell], int, int]:
    """Returns the stored totals, the number of bad records, and of other drops."""
    table = flowalg_sinks.upsert(query.pipeline, target, table=query.name).table
    reasons = Counter(row["reason"] == "bad_record" for row in named_rows(target, drop_table(query.name)))
    totals = {(row["key"], row["window_start"]): row["value"] for row in named_rows(target, table)}
    return totals, reasons[True], reasons[False]


def quarters_of(supervised: Supervised, seconds: float) -> tuple[float, float] | None:
    """Returns the median memory of the second and last quarter of the undisturbed half; ``None`` after a short run."""
    eighth = seconds / 8
    parts = [
        [
            sample.megabytes
            for sample in supervised.samples
            if begin * eighth <= sample.seconds < (begin + 1) * eighth
        ]
        for begin in (5, 7)
    ]
    return (median(parts[0]), median(parts[1])) if min(map(len, parts)) >= FEWEST_SAMPLES else None


def report(queries: Sequence[Supervised], traffic: Traffic) -> None:
    """Prints what the queries have done."""
    for supervised in queries:
        lines = supervised.progress()
        seconds = [float(str(line["seconds"])) for line in lines]
        print(
            f"{supervised.query.name}: {len(lines):,} micro-batches of {median(seconds):.2f} s in the median, "
            f"{len(supervised.kills)} kills, at most {max(sample.megabytes for sample in supervised.samples):.0f} MB"
        )
