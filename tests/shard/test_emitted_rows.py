"""The rows that a shard emits, as arrays: complete, in order, and of the same values. Without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from flowalg_spark.streaming.emissions import ARRAY_ROWS, array_rows
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.compute import list_flatten

TYPES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.duration("us"): st.timedeltas(timedelta(days=-9), timedelta(days=9)),
    pa.list_(pa.int64()): st.lists(st.none() | st.integers(0, 3), max_size=2),
    pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]): st.fixed_dictionaries(
        {"a": st.integers(0, 3), "b": st.none() | st.lists(st.text(max_size=1), max_size=2)}
    ),
}


def unpacked(batch: pa.RecordBatch) -> pa.Table:
    """Returns the rows after PySpark's conversion to Arrow, and the JVM's unpacking of the arrays."""
    arrays = pa.schema([pa.field(column.name, pa.list_(column.type)) for column in batch.schema])
    sent = pa.RecordBatch.from_pylist(list(array_rows(batch)), schema=arrays)
    lengths = {tuple(len(array) for array in row.values()) for row in sent.to_pylist()}
    assert all(len(set(row)) == 1 and row[0] <= ARRAY_ROWS for row in lengths)
    return pa.table({name: list_flatten(sent.column(name)) for name in batch.schema.names})


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(st.data())
def test_arrays_have_the_values_of_a_column(kind: pa.DataType, data: st.DataObject) -> None:
    """Law: the arrays of a column are its values, with or without nulls."""
    values = data.draw(st.lists(TYPES[kind], max_size=4) | st.lists(st.none() | TYPES[kind], max_size=4))
    batch = pa.RecordBatch.from_arrays(
        [pa.array(values, kind), pa.array(range(len(values)), pa.int64())], names=["a/b", "n"]
    )
    assert unpacked(batch).to_pylist() == batch.to_pylist()


def test_arrays_are_of_bounded_length() -> None:
    """Many rows become several rows of arrays, in order; NaN and negative zero stay."""
    numbers = [float("nan"), -0.0] * ARRAY_ROWS
    times = [datetime(2024, 1, 1, tzinfo=UTC)] * len(numbers)
    batch = pa.RecordBatch.from_arrays(
        [pa.array(numbers), pa.array(times, pa.timestamp("us", "UTC"))], names=["number", "time"]
    )
    rows = unpacked(batch)
    assert list(map(str, rows.column("number").to_pylist())) == list(map(str, numbers))
    assert rows.column("time").to_pylist() == times
