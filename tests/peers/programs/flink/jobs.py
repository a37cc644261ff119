"""Jobs of Flink over the steps of a feed, by its DataStream API and its SQL.

The rows of a feed are a table whose watermark is a column: of an element it is null, and of the key ``clock`` it is the
watermark. Flink evaluates the column for each row, so that a watermark comes exactly between two elements.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

from feed import BASE, CLOCK, WINDOW, Step
from pyflink.common import Configuration, Row, RowKind, Types
from pyflink.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

MINUTES = f"INTERVAL '{WINDOW}' SECOND"
MARK = "TO_TIMESTAMP_LTZ(mark, 3)"
ROW = Types.ROW_NAMED(
    ["player", "points", "millis", "mark"], [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()]
)
# With these, a group window emits a row when it is complete, and for each late element a retraction and another row.
CORRECTED = {
    "table.exec.emit.late-fire.enabled": "true",
    "table.exec.emit.late-fire.delay": "0 ms",
    "table.exec.emit.allow-lateness": "120 s",
}


def environment(mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING, **settings: str):
    """Returns the environments of a job: of data streams, and of tables."""
    configuration = Configuration()
    for name, value in {
        "parallelism.default": "1",
        "pipeline.auto-watermark-interval": "1 ms",
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "python.fn-execution.bundle.size": "1",
        "table.local-time-zone": "UTC",
        **settings,
    }.items():
        configuration.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_runtime_mode(mode)
    return environment, StreamTableEnvironment.create(environment)


def scores(environment, tables, steps: Iterable[Step], mark: str = MARK, pause: float = 0) -> None:
    """Makes the view ``scores`` of the steps, with the watermark in an expression of SQL, and a pause between them."""

    def slow(row):
        time.sleep(pause)
        return row

    rows = environment.from_collection(
        [
            Row(key or CLOCK, value, (BASE + at) * 1000, None if key else (BASE + at) * 1000)
            for key, value, at in steps
        ],
        ROW,
    )
    schema = (
        Schema.new_builder()
        .column_by_expression("happened", "TO_TIMESTAMP_LTZ(millis, 3)")
        .watermark("happened", mark)
        .build()
    )
    tables.create_temporary_view("scores", rows.map(slow, ROW) if pause else rows, schema)


def run(build: Callable[[DataStream], DataStream], steps: Iterable[Step], pause: float = 0) -> list:
    """Returns the elements of the data stream that ``build`` makes of the pairs of player and points, in order."""
    environment_, tables = environment()
    scores(environment_, tables, steps, pause=pause)
    stream = tables.to_data_stream(tables.sql_query("SELECT player, points, happened FROM scores"))
    pairs = stream.filter(lambda row: row[0] != CLOCK).map(
        lambda row: (row[0], row[1]), Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    with build(pairs).execute_and_collect() as elements:
        return list(elements)


def select(
    query: str, steps: Iterable[Step], mark: str = MARK, pause: float = 0, **settings: str
) -> list[list]:
    """Returns the changes of the result of a query over ``scores``: each with its sign, in order."""
    environment_, tables = environment(**settings)
    scores(environment_, tables, steps, mark, pause)
    return changes(tables.sql_query(query))


def changes(table) -> list[list]:
    """Returns the changes of a table, each with its sign."""
    with table.execute().collect() as rows:
        return [[sign(row), *row] for row in rows]


def sign(row: Row) -> str:
    """Returns the sign of a change: ``-`` for a retraction."""
    return "-" if row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE) else "+"


def seconds(column: str) -> str:
    """Returns an expression of SQL: the seconds of a timestamp after the start."""
    return f"TIMESTAMPDIFF(SECOND, TIMESTAMP '2024-01-01 12:00:00', {column})"
