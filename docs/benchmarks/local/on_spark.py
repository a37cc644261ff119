"""The same stream on Spark: seconds of its micro-batches, over the same files."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path

from flowalg_spark import local_session

from docs.benchmarks.local.rivals import CORES
from docs.benchmarks.stream.pipelines import ON_TIME
from docs.benchmarks.stream.queries import compile_rival
from docs.benchmarks.stream.running import add_files, continue_query

WARM = 3
"""The batches that do not count, while Java compiles."""


def median_seconds(inputs: Sequence[Sequence[Path]], build: Path) -> list[float]:
    """Returns the median of the warm micro-batches of sums on time, for each list of files."""
    scratch = build / "local-spark"
    spark = local_session("flowalg bench", cores=CORES, memory="8g", log=build / "local-spark.log")
    medians = []
    try:
        for number, files in enumerate(inputs):
            folder = scratch / str(number)
            shutil.rmtree(folder, ignore_errors=True)
            add_files(files, folder)
            batches = continue_query(spark, compile_rival(ON_TIME), "flowalg", folder)
            medians.append(statistics.median(batch["triggerExecution"] for batch in batches[WARM:]))
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    return medians
