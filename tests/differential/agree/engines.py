"""The engines that are compared: those of the local engine in one process, and those on Spark in another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

from flowalg_polars import PolarsBatch

from tests.differential.agree.comparing import Compared, Comparison, compare_generated, compare_kept
from tests.support.local_queries import LocalQueries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_DIFFERENCES: Final = 3
"""The differences after which a process stops, since more would most likely have the same cause."""

Opened: TypeAlias = Callable[[], Iterator[list[Compared]]]
"""Yields the engines of a process, as long as they can run."""


def local() -> Iterator[list[Compared]]:
    """Yields the local engine: batches, and streams with stops and another shard count after each."""
    yield [
        Compared("the local engine, batch", PolarsBatch(), ordered=True),
        Compared("the local engine, streaming", LocalQueries(2, (1, 2), (3, 1)), ordered=True),
    ]


def engines_on(session: SparkSession) -> list[Compared]:
    """Returns the engines on a session of Spark."""
    from flowalg_spark import SparkBatch

    from tests.support.spark_replay import ShardsInTurn

    return [
        Compared("Spark batch", SparkBatch(session), ordered=True),
        Compared("Spark streaming", ShardsInTurn(session, 4), ordered=False),
    ]


def spark() -> Iterator[list[Compared]]:
    """Yields the engines on Spark while a session of their own runs."""
    from flowalg_spark import local_session

    with TemporaryDirectory() as folder:
        session = local_session("agree", log=Path(folder) / "spark.log")
        try:
            yield engines_on(session)
        finally:
            session.stop()


LOCAL: Final = "the local engine"
ENGINES: Final[dict[str, Opened]] = {LOCAL: local, "Spark": spark}


def compare(name: str, minutes: float, seed: int, corpus: Path) -> Comparison:
    """Compares the engines of one process, and prints the count from time to time."""
    deadline = time.monotonic() + 60 * minutes
    with contextmanager(ENGINES[name])() as engines:
        result = compare_kept(engines, corpus)
        print(f"{name}: {result.cases} cases of {corpus}", flush=True)
        while time.monotonic() < deadline and len(result.differences) < MOST_DIFFERENCES:
            result += compare_generated(engines, deadline, seed)
            seed += 1
            print(f"{name}: {result.cases} compared, {len(result.differences)} different", flush=True)
    return result
