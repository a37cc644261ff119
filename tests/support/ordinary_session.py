"""What ``test_session`` runs in a process of its own: streaming on a session that was not configured for flowalg.

``python -m tests.support.ordinary_session FOLDER`` prints the number of jobs that agree with the reference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from flowalg_laws.conformance import JOBS, check_interpreter
from pyspark.sql import SparkSession

from flowalg.analysis.capabilities import Capabilities
from tests.support.spark_replay import streaming_runner

NAMES: Final = ("sessions that retract",)


def main(folder: Path) -> None:
    """Compare some jobs with the reference, and print their number."""
    spark = SparkSession.builder.getOrCreate()
    # With the 200 partitions that Spark defaults to, a micro-batch takes most of a minute on two cores.
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    jobs = tuple(one for one in JOBS if one.name in NAMES)
    run = streaming_runner(spark, folder)
    report = check_interpreter(run, Capabilities("Spark streaming", {}), jobs=jobs, generated=0)
    print(f"{len(report.ran)} jobs")  # noqa: T201  # the other process reads it


if __name__ == "__main__":
    main(Path(sys.argv[1]))
