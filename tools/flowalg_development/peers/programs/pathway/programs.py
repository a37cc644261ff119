"""Programs with Pathway: one value for batch and stream, types, laws, restart, SQL, processes, the package itself."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import feed
import pathway as pw
from feed import (
    BUNDLES,
    MANY,
    STREAM,
    UNORDERED,
    WINDOW,
    as_elements,
    at_least,
    print_cells,
    refused,
    release,
    reported_mistakes,
)
from tables import MINUTES, Score, collect


def minutes(table: pw.Table) -> pw.Table:
    """Returns the sums by minute."""
    windows = table.windowby(table.at, window=MINUTES)
    return windows.reduce(start=pw.this._pw_window_start, points=pw.reducers.sum(pw.this.points))


def final(changes: list) -> list:
    """Returns the rows that are left in the end."""
    current = {row["start"]: row["points"] for _, sign, row in changes if sign == "+"}
    return [[start, points] for start, points in sorted(current.items()) if start < 2 * WINDOW]


def one_value() -> object:
    """The sums by minute of one function, over all rows at once, and one after the other."""
    rows = as_elements(UNORDERED)
    return {
        "batch": final(collect(minutes, [(*row, 1) for row in rows])),
        "stream": final(collect(minutes, [(*row, number) for number, row in enumerate(rows, 1)])),
    }


def types() -> object:
    """The mistakes that mypy reports, and those that are found when the table is built."""
    table = pw.debug.table_from_rows(Score, [("ann", 5, 0)])
    built = refused(
        misspelt_field=lambda: table.groupby(table.playr).reduce(count=pw.reducers.count()),
        sum_of_text=lambda: table.reduce(total=pw.reducers.sum(table.player)),
    )
    mistakes = reported_mistakes("""
import pathway as pw

class Score(pw.Schema):
    player: str
    points: int

scores = pw.debug.table_from_rows(Score, [("ann", 5)])
keyed = scores.groupby(scores.playr)  # mistake: misspelt field
total = scores.reduce(total=pw.reducers.sum(scores.player))  # mistake: sum of text
""")
    return {"mypy": mistakes, "when built": built}


class Averages(pw.BaseCustomAccumulator):
    """An average of averages."""

    def __init__(self, middle: float) -> None:
        self.middle = middle

    @classmethod
    def from_row(cls, row):
        """Returns the accumulator of a value."""
        return cls(float(row[0]))

    def update(self, other) -> None:
        """Takes the middle of both."""
        self.middle = (self.middle + other.middle) / 2

    def compute_result(self) -> float:
        """Returns the middle."""
        return self.middle


def laws() -> object:
    """What a reducer gives whose result depends on the order of arrival."""
    averages = pw.reducers.udf_reducer(Averages)
    values = [int(value) for bundle in BUNDLES for value in bundle]
    found = []
    for order in (values, values[::-1]):
        rows = [("all", value, 0, number) for number, value in enumerate(order, 1)]
        changes = collect(lambda table: table.reduce(middle=averages(table.points)), rows)
        found.append([row["middle"] for _, sign, row in changes if sign == "+"][-1])
    return found


def query(folder: str) -> None:
    """Runs the query that is killed: files with a value each come into its folder one after the other."""
    given = Path(folder, "in")
    given.mkdir(exist_ok=True)

    def arrive() -> None:
        for number, value in enumerate(STREAM):
            path = given / f"{number}.json"
            if not path.exists():
                time.sleep(2)
                Path(folder, "new").write_text(json.dumps({"value": value}))
                Path(folder, "new").rename(path)

    schema = pw.schema_from_types(value=int)
    values = pw.io.jsonlines.read(str(given), schema=schema, mode="streaming", name="values")
    checked = values.select(value=pw.apply_with_type(feed.die_once, int, values.value, folder))

    def write(key, row, time, is_addition) -> None:
        if is_addition:
            with Path(folder, "output").open("a") as file:
                file.write(f"{row['total']}\n")
            if row["total"] == sum(STREAM):
                threading.Timer(2, os._exit, [0]).start()

    pw.io.subscribe(checked.reduce(total=pw.reducers.sum(checked.value)), write)
    threading.Thread(target=arrive, daemon=True).start()
    backend = pw.persistence.Backend.filesystem(str(Path(folder, "state")))
    config = pw.persistence.Config(backend, snapshot_interval_ms=100)
    pw.run(persistence_config=config, monitoring_level=pw.MonitoringLevel.NONE)


def restart() -> object:
    """What is written, with a kill in between."""
    return feed.restart(__file__)


def sql() -> object:
    """The sums by minute, as text of SQL."""

    def build(table):
        by_minute = table.select(table.points, start=table.at // WINDOW * WINDOW)
        return pw.sql("SELECT start, SUM(points) AS points FROM scores GROUP BY start", scores=by_minute)

    return final(collect(build, [(*row, number) for number, row in enumerate(as_elements(UNORDERED), 1)]))


def connectors() -> object:
    """The number of modules of ``pathway.io`` that read."""
    names = [
        module.name for module in pkgutil.iter_modules(pw.io.__path__) if not module.name.startswith("_")
    ]
    return at_least(MANY, sum(hasattr(getattr(pw.io, name, None), "read") for name in names))


def processes() -> object:
    """The number of processes in which a function is called."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(f"""
import os
from pathlib import Path
import pathway as pw

def touch(number: int) -> int:
    Path({folder!r}, f"pid-{{os.getpid()}}").touch()
    return number

rows = [(number,) for number in range(100)]
table = pw.debug.table_from_rows(pw.schema_from_types(number=int), rows)
totals = table.groupby(table.number).reduce(table.number)
pw.io.null.write(totals.select(number=pw.apply_with_type(touch, int, totals.number)))
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
""")
        spawn = [str(Path(sys.executable).parent / "pathway"), "spawn", "--processes", "2"]
        command = [*spawn, sys.executable, "program.py"]
        subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=120)
        return at_least(2, len(list(Path(folder).glob("pid-*"))))


def status() -> object:
    """The version."""
    return release(version("pathway"))


if __name__ == "__main__":
    print_cells(one_value, types, laws, restart, sql, connectors, processes, status, query=query)
