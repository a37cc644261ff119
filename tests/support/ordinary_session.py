"""Processes whose Spark session was not configured for flowalg, and the one of ``test_session.py``.

``python -m tests.support.ordinary_session FOLDER`` prints the number of jobs that agree with the reference.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from flowalg_laws.conformance import JOBS, examine_interpreter
from flowalg_spark import SparkStreaming
from pyspark.sql import SparkSession

NAMES: Final = ("sessions that retract",)


def ordinary_environment(folder: Path) -> dict[str, str]:
    """Returns the environment of a process without settings of Spark, in a time zone other than UTC."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # A short program runs sooner if its code is compiled quickly.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "TMPDIR": str(folder),
        "TZ": "America/New_York",
    }


def main(folder: Path) -> None:
    """Compares jobs with the reference, and prints their number."""
    spark = SparkSession.builder.getOrCreate()
    # With Spark's default of 200 partitions, a micro-batch takes most of a minute on two cores.
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    jobs = tuple(job for job in JOBS if job.name in NAMES)
    report = examine_interpreter(SparkStreaming(spark, folder=folder), jobs=jobs)
    assert not report.failed, report
    print(f"{len(report.ran)} jobs")  # the test reads it


if __name__ == "__main__":
    main(Path(sys.argv[1]))
