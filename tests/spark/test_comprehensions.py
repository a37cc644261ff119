"""Comprehensions on the rows of a Spark stream: equal to the steps in Python, which keep or forward the same rows.

These tests catch a lost row, since its event time advances a watermark, and a record that the clocks observe twice.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, cast

import pyarrow as pa
import pytest
from flowalg_columns.layout import layout_of
from flowalg_columns.python.rows import PythonSteps
from flowalg_columns.values import read_elements, write_arrays
from flowalg_shard.tables.columns import EVENT_TIME, KEEP, OBSERVED_TIME
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.element_wise import apply_steps
from flowalg_spark.lowering.flow import Flow, row_schema
from pyspark.sql import SparkSession

from flowalg import PCollection
from flowalg.data.shapes import Shape, shape_of
from flowalg.pipeline.nodes import ElementWise
from tests.support.comprehensions import LIFTED, LINES, Line, line
from tests.support.depth import a_few

META: Final = {name: META_TYPES[name] for name in (EVENT_TIME, KEEP, OBSERVED_TIME)}
FORMS: Final = ("an item beside its element", "a filter of optionals", "positions", "pairs", "steps after it")
"""Those that differ in the rows; ``test_batch.py`` has all expressions."""
WITHOUT_COMPREHENSION: Final[PCollection[int]] = LINES.flat_map(lambda line: line.numbers)


def rows_of_lines() -> pa.RecordBatch:
    """Returns rows of lines, some without words or numbers, of which one is not kept."""
    lines: list[object] = [
        line("a, bb a", [3, -1, 4]),
        line("", []),
        line("bb. c", [5]),
        line("é", [1, 1]),
        line("c", [9]),
    ]
    count = len(lines)
    meta = {
        EVENT_TIME: range(count),
        KEEP: [n < count - 1 for n in range(count)],
        OBSERVED_TIME: range(count),
    }
    shape = shape_of(Line)
    arrays = [
        *write_arrays(layout_of(shape), lines, "lines"),
        *(pa.array(values) for values in meta.values()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(row_schema(shape, META)))


def outcome(shape: Shape, rows: pa.Table) -> tuple[Counter[str], Counter[int], set[int]]:
    """Returns the kept elements with their times, the times that the clocks observe, and all times."""
    kept = rows.filter(rows.column(KEEP))
    elements = map(
        repr, zip(read_elements(layout_of(shape), kept), kept[EVENT_TIME].to_pylist(), strict=True)
    )
    observed = cast("list[int]", rows[OBSERVED_TIME].drop_null().to_pylist())
    return Counter(elements), Counter(observed), {*cast("list[int]", rows[EVENT_TIME].to_pylist())}


@pytest.mark.parametrize("form", a_few([*FORMS, "a list without a comprehension"], 2))
def test_a_comprehension_on_a_stream_has_the_rows_of_python(spark: SparkSession, form: str) -> None:
    """Rows without items stay as rows that are not kept, and each record is observed once."""
    batch, before = rows_of_lines(), shape_of(Line)
    node = LIFTED.get(form, WITHOUT_COMPREHENSION).node
    assert isinstance(node, ElementWise)
    steps = node.steps
    flow = apply_steps(Flow(spark.createDataFrame(pa.table(batch)), before, META), steps)
    assert not any(note.reason for note in flow.notes), "no step runs in Python"
    schema = arrow_schema(row_schema(flow.shape, META))
    python = PythonSteps(layout_of(before), layout_of(flow.shape), (steps,), guarded=True, schema=schema)
    expected = outcome(flow.shape, pa.Table.from_batches(python([batch])))
    assert outcome(flow.shape, flow.frame.toArrow()) == expected
