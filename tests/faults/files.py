"""The queries from files: corrected sessions of visits, and chains with computations.

A query has the name of the folder that its runs are in. A run reads ``in`` in its own folder, one file for each
micro-batch. If there is a file ``fail``, a user-defined function of the query deletes it and raises; if there is a file
``slow``, one deletes it and waits, so that Spark may start a second attempt of its task.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Final

from attrs import frozen
from flowalg_sinks import PostgreSQL, SQLite
from flowalg_sinks.drops import drop_table
from flowalg_sinks.pane_sink import PaneSink

from flowalg import KV, BoundedOutOfOrderness, PCollection
from tests.faults.computations import changes_of_sums, sums_of_totals
from tests.faults.progress import Batches
from tests.faults.subject import Subject
from tests.faults.visits import DISORDER, UNIT, VISITS, Visit, corrected_sessions, visits

KEYED: Final = VISITS.key_by(lambda visit: visit.visitor)
PAUSE: Final = 8.0
"""The seconds that a slow attempt of a task waits."""

RAISED: Final = "a user-defined function has failed"
POLICY: Final = BoundedOutOfOrderness(DISORDER)


@frozen
class ValueOf:
    """The value of a visit. A file ``fail`` in the folder makes it raise; with a file ``slow`` it waits first."""

    folder: Path
    fails: bool = False

    def __call__(self, visit: Visit) -> int:
        """Returns the value."""
        if visit.value == 7:
            if _take(self.folder / "slow"):
                time.sleep(PAUSE)
            if self.fails and _take(self.folder / "fail"):
                raise RuntimeError(RAISED)
        return visit.value


def _take(file: Path) -> bool:
    """Deletes a file; returns whether there was one."""
    existed = file.exists()
    file.unlink(missing_ok=True)
    return existed


def values_of(folder: Path, *, fails: bool = False) -> PCollection[KV[int, int]]:
    """Returns the values of visits by visitor."""
    return KEYED.map_values(ValueOf(folder, fails), result=int)


QUERIES: Final[Mapping[str, Callable[[Path], PCollection[object]]]] = {
    "sessions": lambda folder: corrected_sessions(values_of(folder, fails=True)),
    "sums-of-totals": lambda folder: sums_of_totals(values_of(folder), UNIT, folder / "fail"),
    "changes-of-sums": lambda folder: changes_of_sums(values_of(folder), UNIT, folder / "fail"),
}
"""The pipelines by the name of their query, as functions of the folder of its run."""


def make_input(folder: Path, *, ends: bool = True) -> None:
    """Writes a file for each micro-batch, in the order of their times, and, with ``ends``, one that ends the input."""
    # A query on the local engine, which imports this module, needs no Spark.
    from tests.support.spark_replay import write_batches

    write_batches(folder, Visit, list(visits()), ends=ends)


@frozen
class FileQuery(Subject):
    """A run of a query from files."""

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.folder.parent.name

    @property
    def pipeline(self) -> PCollection[object]:
        """The pipeline of the query."""
        return QUERIES[self.query](self.folder)

    def batches(self) -> Batches:
        """Returns the files that each micro-batch has read, on which the output depends; nothing if it cannot vary."""
        return ()

    @abstractmethod
    def content(self) -> list[str]:
        """Returns the rows of the output, sorted."""


def rows_of(sinks: Sequence[PaneSink], *, without: str | None = None) -> list[str]:
    """Returns the rows of the tables of sinks and of their drops, without columns whose name has a word."""
    rows: list[str] = []
    for sink in sinks:
        assert isinstance(sink.target, SQLite | PostgreSQL)
        for table in (sink.table, drop_table(sink.name)):
            kept = [without is None or without not in column.name for column in table.columns]
            name = f"{type(sink.target).__name__} {table.name}"
            rows += [f"{name} {tuple(compress(row, kept))!r}" for row in sink.target.rows(table)]
    return sorted(rows)
