"""The number of simple records per second that Python computes for Spark on one core.

There are four functions that are not lifted: a call on one field, statements over two fields, and two functions from
whole records to whole records, of three and of six fields. The first measurement is Python alone on an Arrow batch, in
its own processor time; the second is whole queries with one task at a time, in which the JVM may use another core.
``python -m docs.benchmarks.batch.python_rows [--small]`` writes ``build/bench/python_rows.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.layout import layout_of, leaves
from flowalg_columns.python.functions import ArrayFunction
from flowalg_spark import batch, local_session
from pyspark.sql import DataFrame

from docs.benchmarks.batch.data import Sale, files
from docs.benchmarks.batch.pipelines import SALES
from docs.benchmarks.small import Extent, add_small, extent
from flowalg import Count, PCollection
from flowalg.data.shapes import INTEGER, Shape, shape_of
from flowalg.elementwise.functions import Call
from flowalg.elementwise.steps import Map
from flowalg.lifting.required_fields import delegated_call, required_shape

ROWS: Final = 1_000_000
BATCH: Final = 100_000
ROUNDS: Final = 5


def tenth(amount: int) -> int:
    """A loop of one iteration: loops are not lifted."""
    for _ in range(1):
        amount //= 10
    return amount


def fields(s: Sale) -> int:
    """Reads two fields."""
    total = s.amount
    for _ in range(1):
        total += int(s.price)
    return total


def record(s: Sale) -> Sale:
    """Returns the record after reading it as a whole."""
    for _ in range(1):
        assert s is not None
    return s


@frozen
class Line:
    """A simple record."""

    user: str
    amount: int
    price: float


def line(value: Line) -> Line:
    """Returns the record after reading it as a whole."""
    for _ in range(1):
        assert value is not None
    return value


@frozen
class Measured:
    """A function of records, the type of its result, and a pipeline that runs it."""

    name: str
    of: type
    f: Callable[..., object]
    result: Shape
    pipeline: PCollection[object]


def _one_field(s: Sale) -> int:
    return tenth(s.amount)


LINES: Final = SALES.map(lambda s: Line(s.user, s.amount, s.price))

FUNCTIONS: Final = (
    Measured(
        "a call of one field", Sale, _one_field, INTEGER, SALES.key_by(_one_field).combine_per_key(Count())
    ),
    Measured(
        "statements over two fields", Sale, fields, INTEGER, SALES.key_by(fields).combine_per_key(Count())
    ),
    Measured(
        "whole records of three fields, in and out",
        Line,
        line,
        shape_of(Line),
        LINES.map(line).key_by(lambda value: value.amount).combine_per_key(Count()),
    ),
    Measured(
        "whole records of six fields, in and out",
        Sale,
        record,
        shape_of(Sale),
        SALES.map(record).key_by(lambda s: s.country).combine_per_key(Count()),
    ),
)


def measure_python(function: Measured, batch_of_sales: pa.RecordBatch, rounds: int) -> float:
    """Returns records per second of processor time, in Python alone."""
    shape = shape_of(function.of)
    delegated = delegated_call(function.f, shape)
    call = Call(function.f if delegated is None else delegated[0])
    read = required_shape(function.f, shape) if delegated is None else INTEGER
    column = ArrayFunction(Map(call), call, layout_of(read), function.result)
    names = ["amount"] if delegated is not None else [leaf.column for leaf in leaves(layout_of(read))]
    arrays = [batch_of_sales.column(name) for name in names]
    times = []
    for _ in range(rounds):
        start = time.process_time()
        column(arrays)
        times.append(time.process_time() - start)
    return batch_of_sales.num_rows / median(times)


def measure_spark(function: Measured, frame: DataFrame, rows: int, rounds: int) -> float:
    """Returns records per second of a whole query with one task at a time."""
    times = []
    for number in range(rounds + 1):
        start = time.perf_counter()
        batch.compile(function.pipeline, {SALES: frame}).write.format("noop").mode("overwrite").save()
        if number:
            times.append(time.perf_counter() - start)
    return rows / median(times)


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each function, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_small(parser)
    options = parser.parse_args(arguments)
    with extent(small=options.small) as run:
        measure(run)


def measure(run: Extent) -> None:
    """Measures all functions."""
    results = run.results("python_rows.json", "function", [function.name for function in FUNCTIONS])
    rows, rounds = run.at_most(ROWS, 8_000), run.at_most(ROUNDS, 1)
    where = files(run.data, rows)
    table = pl.read_parquet(where.sales / "0.parquet").head(BATCH).to_arrow()
    strings = pa.schema(
        [column if column.type in _KEPT else pa.field(column.name, pa.string()) for column in table.schema]
    )
    first = table.cast(strings).combine_chunks().to_batches()[0]
    spark = local_session("flowalg bench", cores=1, memory="4g")
    try:
        frame = spark.read.parquet(str(where.sales))
        for function in FUNCTIONS:
            alone = measure_python(function, first, rounds)
            whole = measure_spark(function, frame, rows, rounds)
            results.save(
                {
                    "function": function.name,
                    "python_rows_per_s": round(alone),
                    "query_rows_per_s": round(whole),
                }
            )
            print(
                f"{function.name:42} {alone:>12,.0f} records per second in Python, {whole:>12,.0f} through Spark"
            )
    finally:
        spark.stop()


_KEPT: Final = (pa.int64(), pa.float64(), pa.timestamp("us", "UTC"))

if __name__ == "__main__":
    main(sys.argv[1:])
