"""Steps in Python over Arrow batches, without a Spark session."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar

import attrs
import pyarrow as pa
import pytest
from attrs import frozen
from flowalg_columns.layout import layout_of
from flowalg_columns.python.rows import PythonSteps
from flowalg_columns.records import build_records
from flowalg_columns.values import write_arrays
from flowalg_laws.kit.readings import Reading
from flowalg_shard.tables.columns import END, EVENT_TIME, KEEP, OBSERVED_TIME, START
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.flow import row_schema
from flowalg_spark.streaming.python_values import AssignWindows

from flowalg import KV, EventTime, Window
from flowalg.data.errors import ElementError, ValueRangeError
from flowalg.data.shapes import FLOAT, INTEGER, TEXT, OptionalOf, RecordOf, kv_of, shape_of
from flowalg.elementwise.functions import Call
from flowalg.elementwise.steps import FlatMap, Map
from flowalg.lifting.required_fields import delegated_call, required_shape
from flowalg.windows import CustomWindows


def test_none_is_an_element() -> None:
    """On a stream, a row whose function returns ``None`` is still an element."""
    optional = OptionalOf(INTEGER)
    schema = arrow_schema(row_schema(optional, {name: META_TYPES[name] for name in (EVENT_TIME, KEEP)}))
    steps = PythonSteps(
        layout_of(INTEGER),
        layout_of(optional),
        ((Map(Call(lambda n: None if n == 1 else n)),),),
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


def guarded_schema(*names: str) -> pa.Schema:
    """Returns the schema of integers on a stream, with some meta columns."""
    return arrow_schema(row_schema(INTEGER, {name: META_TYPES[name] for name in (EVENT_TIME, KEEP, *names)}))


def test_the_clocks_observe_a_record_once() -> None:
    """A record that becomes two elements, or none, is observed once, with the event time of its source."""
    schema = guarded_schema(OBSERVED_TIME)
    layout = layout_of(INTEGER)
    steps = PythonSteps(layout, layout, ((FlatMap(Call(lambda n: [n] * n)),),), guarded=True, schema=schema)
    rows: list[dict[str, int | bool | None]] = [
        {"value": 2, EVENT_TIME: 10, KEEP: True, OBSERVED_TIME: 11},
        {"value": 0, EVENT_TIME: 20, KEEP: True, OBSERVED_TIME: 21},
        {"value": None, EVENT_TIME: 30, KEEP: False, OBSERVED_TIME: 31},
    ]
    (after,) = steps([pa.RecordBatch.from_pylist(rows, schema=schema)])
    assert after.to_pydict() == {
        "value": [2, 2, None, None],
        EVENT_TIME: [10, 10, 20, 30],
        KEEP: [True, True, False, False],
        OBSERVED_TIME: [11, None, 21, 31],
    }


def test_a_large_element_becomes_many() -> None:
    """Only the metadata of an element is repeated for the elements that it becomes: its text would be 3 GB here."""
    schema = arrow_schema(row_schema(TEXT, {name: META_TYPES[name] for name in (EVENT_TIME, KEEP)}))
    layout = layout_of(TEXT)
    steps = PythonSteps(
        layout, layout, ((FlatMap(Call(lambda text: [text[:1]] * 1000)),),), guarded=True, schema=schema
    )
    row: dict[str, str | int | bool] = {"value": "a" * 3_000_000, EVENT_TIME: 10, KEEP: True}
    (after,) = steps([pa.RecordBatch.from_pylist([row], schema=schema)])
    assert after.to_pydict() == {"value": ["a"] * 1000, EVENT_TIME: [10] * 1000, KEEP: [True] * 1000}


def test_the_clocks_observe_an_element_in_several_windows_or_none_once() -> None:
    """Custom windows repeat rows, of which one has the observed time; control rows keep their window."""
    pair = kv_of(INTEGER, INTEGER)
    before = arrow_schema(
        row_schema(pair, {name: META_TYPES[name] for name in (EVENT_TIME, KEEP, OBSERVED_TIME, START, END)})
    )
    windows = CustomWindows(
        "key windows",
        lambda point, key: [Window(EventTime(start), EventTime(9)) for start in range(key)],
    )
    layout = layout_of(pair)
    assigning = AssignWindows("windows", layout, windows, before)
    rows: list[dict[str, int | bool | None]] = [
        {"key": 0, "value": 5, EVENT_TIME: 3, KEEP: True, OBSERVED_TIME: 3},
        {"key": 2, "value": 6, EVENT_TIME: 4, KEEP: True, OBSERVED_TIME: 4},
        {"key": None, "value": None, EVENT_TIME: 5, KEEP: False, OBSERVED_TIME: 5, START: 7, END: 8},
    ]
    (after,) = assigning([pa.RecordBatch.from_pylist(rows, schema=before)])
    assert after.select(["value", KEEP, OBSERVED_TIME, START, END]).to_pydict() == {
        "value": [6, 6, 5, None],
        KEEP: [True, True, False, False],
        OBSERVED_TIME: [4, None, 3, 5],
        START: [0, 1, None, 7],
        END: [9, 9, None, 8],
    }


def scaled(factor: int, n: int) -> float:
    """Is called by a lambda."""
    return math.log(factor * n)


def wordy(r: Reading) -> str:
    """Reads two fields of its element, in statements."""
    total = r.value
    return f"{r.key}{total:>3}"


def test_a_function_receives_only_the_fields_that_it_reads() -> None:
    """A lambda that calls a function has columns as arguments; other functions receive a record of fields they read."""
    shape = shape_of(Reading)
    call = delegated_call(lambda r: scaled(3, len(r.key) + 1), shape)
    assert call is not None
    assert call[0] is scaled
    assert [argument.shape for argument in call[1]] == [INTEGER, INTEGER]
    assert delegated_call(lambda r: scaled(3, r.value + 1), shape) is None, "which may need more than 64 bits"
    read = required_shape(wordy, shape)
    assert isinstance(read, RecordOf)
    assert [field.name for field in read.fields] == ["key", "value"]
    assert wordy(read.cls("a", 1)) == "a  1"
    assert repr(read.cls("a", 1)) == "Reading(key='a', value=1, …)"


@pytest.mark.parametrize(
    "f", [lambda r: (r, r.key), lambda r: str(r), lambda r: vars(r), lambda r: [r], lambda r: r.key and r]
)
def test_a_function_that_uses_the_element_itself_receives_it(f: Callable[[Reading], object]) -> None:
    """A function that does more than read fields receives the whole element."""
    shape = shape_of(Reading)
    call = delegated_call(f, shape)
    assert required_shape(f, shape) is shape
    assert call is None or [argument.shape for argument in call[1]] == [shape]


def test_values_of_a_column_are_checked() -> None:
    """An integer of more than 64 bits, a value of another type, and a bool instead of an int raise an error."""
    cases: list[tuple[list[object], str]] = [
        ([1, 2**63], "there is 9223372036854775808, which overflows 64 bits"),
        ([1, "a"], "there must be of type int; got 'a' (str)"),
        ([1, True], "there must be of type int; got True (bool)"),
    ]
    for values, message in cases:
        with pytest.raises((ElementError, ValueRangeError), match=re.escape(message)):
            write_arrays(layout_of(INTEGER), values, "there")
    assert write_arrays(layout_of(FLOAT), [1, 2.5], "there")[0].to_pylist() == [1.0, 2.5]


@frozen
class Numbered:
    """A record that counts its instances."""

    n: int
    instances: ClassVar[list[int]] = []

    def __attrs_post_init__(self) -> None:
        Numbered.instances.append(self.n)


@frozen(slots=False)
class Loose:
    """A record without slots."""

    n: int
    word: str


@frozen(cache_hash=True)
class Hashed:
    """A record that caches its hash."""

    n: int
    word: str


@frozen(kw_only=True)
class Named:
    """A record with keyword-only fields."""

    n: int
    word: str


@pytest.mark.parametrize("cls", [Loose, Hashed, Named, KV])
def test_records_from_columns_equal_those_of_the_constructor(cls: type) -> None:
    """They are equal, with equal hashes, and frozen, for classes with and without slots, and with a cached hash."""
    records = build_records(cls, [[1, 2], ["a", "b"]])
    names = [field.name for field in attrs.fields(cls)]
    expected = [cls(**dict(zip(names, row, strict=True))) for row in ((1, "a"), (2, "b"))]
    assert records == expected
    assert list(map(hash, records)) == list(map(hash, expected))
    assert list(map(repr, records)) == list(map(repr, expected))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(records[0], names[0], 3)


def test_post_init_of_a_record_runs() -> None:
    """``__attrs_post_init__`` runs for each record that is built from columns."""
    build_records(Numbered, [[1, 2]])
    assert Numbered.instances == [1, 2]
