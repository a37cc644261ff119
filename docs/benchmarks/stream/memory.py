"""The peak memory of a query in a separate session: of the driver, the JVM, and the Python workers.

``python -m docs.benchmarks.stream.memory CASE RIVAL FOLDER`` runs one rival of a case over the files in a folder;
``peaks`` starts this and measures it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil
from flowalg_spark import local_session

from docs.benchmarks.stream.queries import CASES
from docs.benchmarks.stream.running import add_files, continue_query

MEGABYTE: Final = 1 << 20
PAUSE: Final = 0.1
"""The seconds between two samples."""


def peaks(case: str, rival: str, files: Sequence[Path], folder: Path) -> dict[str, int]:
    """The peak memory of a query in megabytes; pages that workers share count once."""
    add_files(files, folder)
    module = "docs.benchmarks.stream.memory"
    query = subprocess.Popen([sys.executable, "-m", module, case, rival, str(folder)])
    most: dict[str, int] = {}
    while query.poll() is None:
        for name, megabytes in _now(query.pid).items():
            most[name] = max(most.get(name, 0), megabytes)
        time.sleep(PAUSE)
    if query.returncode:
        raise RuntimeError(f"{case}: {rival} has failed")
    return most


def _now(driver: int) -> dict[str, int]:
    """The memory of the processes, in megabytes."""
    sizes = {"driver": 0, "jvm": 0, "workers": 0}
    try:
        process = psutil.Process(driver)
        for child in [process, *process.children(recursive=True)]:
            kind = "driver" if child.pid == driver else "jvm" if child.name() == "java" else "workers"
            sizes[kind] += int(child.memory_full_info().pss)
    except psutil.Error:
        # A process has ended in the meantime.
        return {}
    return {kind: size // MEGABYTE for kind, size in sizes.items()}


def main(case: str, rival: str, folder: Path) -> None:
    """Runs a query for ``peaks``."""
    (selected,) = (candidate for candidate in CASES if candidate.name == case)
    spark = local_session("flowalg bench", memory="8g", log=folder / "spark.log")
    try:
        continue_query(spark, selected.rivals[rival], rival, folder)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
