"""The queries of the fault injection, from files to files: corrected sessions, and chains with computations.

``python -m tests.faults.query FOLDER`` runs a query over ``FOLDER/in`` from its checkpoint to the end of
its input; its name is that of the folder above. If there is a file ``FOLDER/fail``, a user-defined function deletes it
and raises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from flowalg_spark import check_checkpoint, local_session, streaming
from flowalg_spark.streaming.interpreter import run_to_end

from flowalg import BoundedOutOfOrderness, PCollection
from tests.faults.computations import changes_of_sums, sums_of_totals
from tests.faults.visits import DISORDER, UNIT, VISITS, Visit, corrected_sessions, visits
from tests.support.spark_replay import stream_of, write_batches

KEYED: Final = VISITS.key_by(lambda visit: visit.visitor)
VALUES: Final = KEYED.map_values(lambda visit: visit.value)


def failing_sessions(fails: Path) -> PCollection[object]:
    """Returns the corrected sessions of visits, whose values are read by a function that can fail."""

    def value_of(visit: Visit) -> int:
        if visit.value == 7 and fails.exists():
            fails.unlink()
            raise RuntimeError("a user-defined function has failed")
        return visit.value

    return corrected_sessions(KEYED.map_values(value_of, result=int))


QUERIES: Final[Mapping[str, Callable[[Path], PCollection[object]]]] = {
    "sessions": failing_sessions,
    "sums-of-totals": lambda fails: sums_of_totals(VALUES, UNIT, fails),
    "changes-of-sums": lambda fails: changes_of_sums(VALUES, UNIT, fails),
}
"""The pipelines by the name of their query, as functions of the file that makes them fail."""


def pipeline(folder: Path) -> PCollection[object]:
    """Returns the pipeline of the query that runs in a folder."""
    return QUERIES[folder.parent.name](folder / "fail")


def make_input(folder: Path) -> None:
    """Writes a file for each micro-batch, in the order of their times, and a file that ends the input."""
    write_batches(folder, Visit, list(visits()), ends=True)


def run(folder: Path) -> None:
    """Runs the query of a folder to the end of its input."""
    spark = local_session("flowalg faults", cores=2, memory="1g", log=folder / "spark.log")
    try:
        source = stream_of(spark, folder / "in", BoundedOutOfOrderness(DISORDER))
        panes = streaming.compile(pipeline(folder), {VISITS: source}).with_drops()
        check_checkpoint(spark, folder / "checkpoint")
        run_to_end(panes, folder / "out", folder / "checkpoint")
    finally:
        spark.stop()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
