"""Programs with Bytewax: one value for batch and stream, types, laws, restart, SQL, processes, the package itself."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import bytewax
import bytewax.connectors
import bytewax.operators as op
import feed
from bytewax.dataflow import Dataflow
from bytewax.operators import windowing as win
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main
from feed import (
    BUNDLES,
    MANY,
    STREAM,
    UNORDERED,
    WINDOW,
    at_least,
    print_cells,
    release,
    reported_mistakes,
)
from flows import CLOCK, MINUTES, SECOND, START, collect


def minutes(stream):
    """Returns the sums by minute, for elements that are a minute late at most."""
    clock = win.EventClock(lambda value: value[1], WINDOW * SECOND, now_getter=lambda: START)

    def add(total, value):
        return total + value[0]

    return win.fold_window("sums", stream, clock, MINUTES, lambda: 0, add, lambda a, b: a + b).down


def one_value() -> object:
    """The sums by minute of one function, over all elements at once, and one after the other."""
    given = [("ann", (value, START + at * SECOND)) for key, value, at in UNORDERED if key]
    found = {}
    for name, size in (("batch", len(given)), ("stream", 1)):
        rows: list = []
        flow = Dataflow(name)
        stream = op.input("in", flow, TestingSource(given, batch_size=size))
        op.output("out", minutes(stream), TestingSink(rows))
        run_main(flow)
        found[name] = sorted([number * WINDOW, total] for _, (number, total) in rows)
    return found


def types() -> object:
    """The mistakes that mypy reports."""
    mistakes = reported_mistakes("""
from dataclasses import dataclass
import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators import KeyedStream
from bytewax.testing import TestingSource

@dataclass
class Score:
    player: str
    points: int

scores = op.input("in", Dataflow("flow"), TestingSource([Score("ann", 5)]))
keyed = op.key_on("key", scores, lambda score: score.playr)  # mistake: misspelt field
names: KeyedStream[str] = op.map("names", scores, lambda score: (score.player, score.player))

def add(left: int, right: int) -> int:
    return left + right

total = op.reduce_final("sum", names, add)  # mistake: sum of text
""")
    return {"mypy": mistakes}


def laws() -> object:
    """What a fold gives whose result depends on the order."""

    def middle(left, right):
        return right if left is None else (left + right) / 2

    def averages(stream):
        folder = lambda left, value: middle(left, value[0])  # noqa: E731
        return win.fold_window("middle", stream, CLOCK, MINUTES, lambda: None, folder, middle).down

    values = [value for bundle in BUNDLES for value in bundle]
    given = ([("all", (value, START)) for value in each] for each in (values, values[::-1]))
    return [collect(averages, each)[0][1][1] for each in given]


def query(folder: str) -> None:
    """Runs the query that is killed; an epoch has one value."""
    state = Path(folder, "state")
    if not state.exists():
        state.mkdir()
        init_db_dir(state, 1)
    flow = Dataflow("restart")
    values = op.input("in", flow, TestingSource([("all", value) for value in STREAM], batch_size=1))

    def add(total, value):
        total = (total or 0) + feed.die_once(value, folder)
        return total, total

    def write(item):
        with Path(folder, "output").open("a") as file:
            file.write(f"{item[1]}\n")
        return item

    totals = op.map("write", op.stateful_map("sum", values, add), write)
    op.output("out", totals, TestingSink([]))
    run_main(flow, epoch_interval=0 * SECOND, recovery_config=RecoveryConfig(str(state)))


def restart() -> object:
    """What is written, with a kill in between."""
    return feed.restart(__file__)


def sql() -> object:
    """The names with which text of SQL could be given."""
    names = [module.name for module in pkgutil.walk_packages(bytewax.__path__, "bytewax.")] + dir(op)
    return [name for name in names if "sql" in name.lower()]


def connectors() -> object:
    """The number of modules of connectors, without the one for demonstrations."""
    names = {module.name for module in pkgutil.iter_modules(bytewax.connectors.__path__)} - {"demo"}
    return at_least(MANY, len(names))


def processes() -> object:
    """The number of processes in which a function is called."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "flow.py").write_text(f"""
import os
from pathlib import Path
import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource

flow = Dataflow("flow")
keyed = op.input("in", flow, TestingSource([(str(number), number) for number in range(100)]))

def add(total, value):
    Path({folder!r}, f"pid-{{os.getpid()}}").touch()
    return value, value

op.output("out", op.stateful_map("sum", keyed, add), TestingSink([]))
""")
        command = [sys.executable, "-m", "bytewax.testing", "-p", "2", "flow:flow"]
        subprocess.run(
            command, cwd=folder, env=dict(os.environ), check=False, capture_output=True, timeout=120
        )
        return at_least(2, len(list(Path(folder).glob("pid-*"))))


def status() -> object:
    """The version."""
    return release(version("bytewax"))


if __name__ == "__main__":
    print_cells(one_value, types, laws, restart, sql, connectors, processes, status, query=query)
