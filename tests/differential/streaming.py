"""Spark streaming against the reference interpreter: every job of the suite, and hundreds of generated pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from flowalg_laws.conformance import JOBS, examine_interpreter
from flowalg_spark import local_session
from flowalg_spark.session import configure

from tests.support.spark_replay import ShardsInTurn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_SHARDS: Final = 4


@contextmanager
def session(*, connect: bool, folder: Path) -> Iterator[SparkSession]:
    """Starts a session, classic or over Connect."""
    from pyspark.sql import SparkSession

    if connect:
        builder = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "UTC")
        spark = configure(builder.getOrCreate(), partitions=2)
    else:
        spark = local_session("streaming thorough", log=folder / "spark.log")
    try:
        yield spark
    finally:
        spark.stop()


def check(generated: int = 200, connect: bool = False, only: str = "", at_once: int = 2) -> int:
    """Runs all jobs, ``at_once`` at a time, and generated pipelines as streaming queries with one to four shards.

    With ``connect`` the queries run over a local server of Spark Connect. ``only`` is a word in the names of the jobs
    that run. The last line is ``streaming: K of M equal``.
    """
    with TemporaryDirectory() as name, session(connect=connect, folder=Path(name)) as spark:
        report = examine_interpreter(
            ShardsInTurn(spark, MOST_SHARDS),
            jobs=[job for job in JOBS if only in job.name],
            generated=generated,
            at_once=at_once,
        )
    print(report)
    count = len(report.ran) + len(report.failed) + report.generated
    print(f"streaming: {count - len(report.failed)} of {count} equal")
    return 0 if report.passed else 1
