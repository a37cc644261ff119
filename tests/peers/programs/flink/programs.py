"""Programs with Flink: one value for batch and stream, types, laws, restart, SQL, processes, the package itself."""

from __future__ import annotations

import ast
import os
import time
import zipfile
from pathlib import Path

import feed
import pyflink
from feed import (
    BUNDLES,
    END,
    MANY,
    STREAM,
    UNORDERED,
    WINDOW,
    at_least,
    print_cells,
    refused,
    release,
    reported_mistakes,
)
from jobs import MINUTES, changes, environment, scores, seconds
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeExecutionMode
from pyflink.datastream.connectors.file_system import FileSink, RollingPolicy
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table.expressions import col
from pyflink.version import __version__ as VERSION

TOTALS = (
    "SELECT window_start AS begins, SUM(points) AS points FROM "
    f"TABLE(TUMBLE(TABLE scores, DESCRIPTOR(happened), {MINUTES})) GROUP BY window_start, window_end"
)


def with_starts(mode: RuntimeExecutionMode) -> list:
    """Returns the starts and the sums of the minutes, without the last one."""
    environment_, tables = environment(mode)
    scores(environment_, tables, UNORDERED)
    query = f"SELECT {seconds('begins')}, points FROM ({TOTALS})"
    rows = changes(tables.sql_query(query))
    return sorted([begins, points] for _, begins, points in rows if begins + WINDOW < END)


def one_value() -> object:
    """The final values of one text of SQL, as a batch and as a stream."""
    modes = {"batch": RuntimeExecutionMode.BATCH, "stream": RuntimeExecutionMode.STREAMING}
    return {name: with_starts(mode) for name, mode in modes.items()}


def types() -> object:
    """The mistakes that mypy reports, and those that are found when the query is built."""
    _, tables = environment()
    table = tables.from_elements([("ann", 5)], ["player", "points"])
    built = refused(
        misspelt_field=lambda: table.select(col("playr")),
        sum_of_text=lambda: table.select(col("player").sum),
    )
    mistakes = reported_mistakes("""
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
scores = tables.from_elements([("ann", 5)], ["player", "points"])
keyed = scores.select(col("playr"))  # mistake: misspelt field
total = scores.select(col("player").sum)  # mistake: sum of text
""")
    return {"mypy": mistakes, "when built": built}


def laws() -> object:
    """What a function of a reduction gives whose result depends on the order."""
    values = [value for bundle in BUNDLES for value in bundle]
    middles = []
    for order in (values, values[::-1]):
        environment_, _ = environment(RuntimeExecutionMode.BATCH)
        pairs = environment_.from_collection(
            [("all", value) for value in order], Types.TUPLE([Types.STRING(), Types.DOUBLE()])
        )
        keyed = pairs.key_by(lambda pair: pair[0], Types.STRING())
        with keyed.reduce(lambda a, b: (a[0], (a[1] + b[1]) / 2)).execute_and_collect() as rows:
            middles += [middle for _, middle in rows]
    return middles


class RunningSum(KeyedProcessFunction):
    """Emits the running sum of the values, as text."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, runtime_context):
        """Makes the state."""
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        """Adds a value, and emits the sum."""
        self.total.update((self.total.value() or 0) + feed.die_once(value, self.folder))
        yield str(self.total.value())


def slow(number: int) -> int:
    """Returns a value of the stream, later than a checkpoint after the value before it."""
    time.sleep(1)
    return STREAM[number]


def query(folder: str) -> None:
    """Runs the query that is killed, from its last checkpoint if there is one; its sink commits with checkpoints."""
    settings = {
        "execution.checkpointing.interval": "100 ms",
        "execution.checkpointing.dir": Path(folder, "checkpoints").as_uri(),
    }
    checkpoints = Path(folder).glob("checkpoints/*/chk-*/_metadata")
    last = max(checkpoints, key=lambda path: path.stat().st_mtime, default=None)
    if last is not None:
        settings["execution.state-recovery.path"] = last.parent.as_uri()
    environment_, _ = environment(**settings)
    source = NumberSequenceSource(0, len(STREAM) - 1)
    numbers = environment_.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    values = numbers.map(slow, Types.LONG()).key_by(lambda value: "all", Types.STRING())
    sink = (
        FileSink.for_row_format(f"{folder}/sums", Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    values.process(RunningSum(folder), Types.STRING()).sink_to(sink)
    environment_.execute()
    # Files that are not committed are hidden.
    parts = sorted(Path(folder).glob("sums/*/part-*"), key=lambda path: path.stat().st_mtime_ns)
    Path(folder, "output").write_text("".join(path.read_text() for path in parts))


def restart() -> object:
    """What is written, with a kill in between."""
    # Jobs of this process have forbidden others to start a JVM.
    os.environ.pop("PYFLINK_GATEWAY_DISABLED", None)
    return feed.restart(__file__)


def sql() -> object:
    """The sums by minute, as text of SQL over a stream."""
    return with_starts(RuntimeExecutionMode.STREAMING)


def connectors() -> object:
    """The number of modules with a source, and of formats that the jars register."""
    folder = Path(pyflink.__file__).parent
    systems = set()
    for path in folder.glob("datastream/connectors/*.py"):
        names = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
        if path.stem not in ("base", "hybrid_source") and any(
            n.endswith(("Source", "Consumer")) for n in names
        ):
            systems.add(path.stem)
    for jar in folder.glob("lib/flink-*.jar"):
        with zipfile.ZipFile(jar) as files:
            entry = "META-INF/services/org.apache.flink.table.factories.Factory"
            if entry in files.namelist():
                lines = files.read(entry).decode().split()
                systems |= {line for line in lines if line.endswith("FormatFactory") and "File" not in line}
    return at_least(MANY, len(systems))


def processes() -> object:
    """The number of processes in which a function is called, with the workers that a cluster has."""
    # In one process Flink calls functions in the program itself; its workers are what a cluster starts.
    os.environ.update(_python_worker_execution_mode="process")
    environment_, _ = environment(**{"parallelism.default": "2"})
    numbers = environment_.from_source(
        NumberSequenceSource(0, 99), WatermarkStrategy.no_watermarks(), "numbers"
    )
    with numbers.map(lambda number: os.getpid(), Types.LONG()).execute_and_collect() as rows:
        return at_least(2, len(set(rows)))


def status() -> object:
    """The version."""
    return release(VERSION)


if __name__ == "__main__":
    print_cells(one_value, types, laws, restart, sql, connectors, processes, status, query=query)
