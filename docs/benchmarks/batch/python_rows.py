"""The number of simple records per second that Python computes for Spark on one core.

There are four functions that are not lifted: a call on one field, statements over two fields, and two functions from
whole records to whole records, of three and of six fields. The first measurement is Python alone on an Arrow batch, in
its own processor time; the second is whole queries with one task at a time, in which the JVM may use another core.
``python -m docs.benchmarks.batch.python_rows`` writes ``build/bench/python_rows.json``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_spark import batch, local_session
from flowalg_spark.encoding.layout import layout_of, leaves
from flowalg_spark.lowering.python_columns import PythonColumn
from pyspark.sql import DataFrame

from docs.benchmarks.batch.data import Sale, files
from docs.benchmarks.batch.queries import SALES
from flowalg import Count, PCollection
from flowalg.data.shapes import INTEGER, Shape, shape_of
from flowalg.elementwise.functions import Call
from flowalg.elementwise.steps import Map
from flowalg.lifting.required_fields import delegated_call, required_shape

BUILD: Final = Path(__file__).parents[3] / "build" / "bench"
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


def line(one: Line) -> Line:
    """Returns the record after reading it as a whole."""
    for _ in range(1):
        assert one is not None
    return one


@frozen
class Simple:
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
    Simple(
        "a call of one field", Sale, _one_field, INTEGER, SALES.key_by(_one_field).combine_per_key(Count())
    ),
    Simple(
        "statements over two fields", Sale, fields, INTEGER, SALES.key_by(fields).combine_per_key(Count())
    ),
    Simple(
        "whole records of three fields, in and out",
        Line,
        line,
        shape_of(Line),
        LINES.map(line).key_by(lambda one: one.amount).combine_per_key(Count()),
    ),
    Simple(
        "whole records of six fields, in and out",
        Sale,
        record,
        shape_of(Sale),
        SALES.map(record).key_by(lambda s: s.country).combine_per_key(Count()),
    ),
)


def in_python(one: Simple, batch_of_sales: pa.RecordBatch) -> float:
    """Records per second of processor time, in Python alone."""
    shape = shape_of(one.of)
    found = delegated_call(one.f, shape)
    call = Call(one.f if found is None else found[0])
    read = required_shape(one.f, shape) if found is None else INTEGER
    column = PythonColumn(Map(call), call, layout_of(read), one.result, guarded=False)
    names = ["amount"] if found is not None else [leaf.column for leaf in leaves(layout_of(read))]
    arrays = [batch_of_sales.column(name) for name in names]
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        column(*arrays)
        times.append(time.process_time() - began)
    return batch_of_sales.num_rows / median(times)


def in_spark(one: Simple, frame: DataFrame) -> float:
    """Records per second of a whole query with one task at a time."""
    times = []
    for number in range(ROUNDS + 1):
        began = time.perf_counter()
        batch.compile(one.pipeline, {SALES: frame}).write.format("noop").mode("overwrite").save()
        if number:
            times.append(time.perf_counter() - began)
    return ROWS / median(times)


def main() -> None:
    """Prints a line for each function, and saves the results."""
    where = files(BUILD / "data", ROWS)
    table = pl.read_parquet(where.sales / "0.parquet").head(BATCH).to_arrow()
    strings = pa.schema(
        [pa.field(one.name, pa.string()) if one.type not in _KEPT else one for one in table.schema]
    )
    first = table.cast(strings).combine_chunks().to_batches()[0]
    spark = local_session("flowalg bench", cores=1, memory="4g")
    found = []
    try:
        frame = spark.read.parquet(str(where.sales))
        for one in FUNCTIONS:
            alone, whole = in_python(one, first), in_spark(one, frame)
            found.append(
                {"function": one.name, "python_rows_per_s": round(alone), "query_rows_per_s": round(whole)}
            )
            print(f"{one.name:42} {alone:>12,.0f} records a second in Python, {whole:>12,.0f} through Spark")
    finally:
        spark.stop()
    (BUILD / "python_rows.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


_KEPT: Final = (pa.int64(), pa.float64(), pa.timestamp("us", "UTC"))

if __name__ == "__main__":
    main()
