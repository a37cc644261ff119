"""Steps that only Python can compute, over Arrow batches, without a Spark session."""

from __future__ import annotations

import pyarrow as pa
from flowalg_spark.flow import arrow_schema, row_schema
from flowalg_spark.layout import layout_of
from flowalg_spark.meta import EVENT_TIME, KEEP, META_TYPES
from flowalg_spark.python_rows import PythonSteps

from flowalg.functions import Call
from flowalg.shapes import INTEGER, OptionalOf
from flowalg.steps import Map


def test_none_is_an_element_and_not_an_absence() -> None:
    """On a stream a function may give ``None``: the row stays kept; only what a filter has dropped is not."""
    optional = OptionalOf(INTEGER)
    schema = arrow_schema(row_schema(optional, {name: META_TYPES[name] for name in (EVENT_TIME, KEEP)}))
    steps = PythonSteps(
        layout_of(INTEGER),
        layout_of(optional),
        (Map(Call(lambda n: None if n == 1 else n)),),
        guarded=True,
        schema=schema,
    )
    rows: list[dict[str, int | bool | None]] = [
        {"value": 1, EVENT_TIME: 10, KEEP: True},
        {"value": 2, EVENT_TIME: 20, KEEP: True},
        {"value": None, EVENT_TIME: 30, KEEP: False},
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    (after,) = steps([batch])
    assert after.to_pydict() == {
        "value": [None, 2, None],
        EVENT_TIME: [10, 20, 30],
        KEEP: [True, True, False],
    }
