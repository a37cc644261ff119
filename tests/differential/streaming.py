"""Compares Spark streaming with the reference interpreter: every job of the suite, and hundreds of generated pipelines.

``python -m tests.differential.streaming [N]`` runs all jobs and N generated pipelines, 200 by default, as
real streaming queries with one to four shards. The last line is ``streaming: K of M equal``. With ``--connect`` the
queries run over a local server of Spark Connect. It exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
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

GENERATED: Final = 200
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


def main(arguments: list[str]) -> int:
    """Runs all jobs and pipelines, and prints the differences and a summary."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.streaming", description=__doc__)
    parser.add_argument("generated", nargs="?", type=int, default=GENERATED)
    parser.add_argument("--connect", action="store_true")
    parser.add_argument("--only", default="", help="only the jobs with this word in their name")
    parser.add_argument("--at-once", type=int, default=2, help="jobs that run at a time (%(default)s)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as name, session(connect=options.connect, folder=Path(name)) as spark:
        report = examine_interpreter(
            ShardsInTurn(spark, MOST_SHARDS),
            jobs=[job for job in JOBS if options.only in job.name],
            generated=options.generated,
            at_once=options.at_once,
        )
    print(report)
    count = len(report.ran) + len(report.failed) + report.generated
    print(f"streaming: {count - len(report.failed)} of {count} equal")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
