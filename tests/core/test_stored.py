"""Values in the state are data: each comes back as it was, and reading one runs no code of a checkpoint's writer.

These tests catch a value that comes back with another type or content, a class that a checkpoint could import, and a
``pickle`` in a query that restarts.
"""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from attrs import field, frozen
from flowalg_laws import check_interpreter
from flowalg_laws.conformance import JOBS, covering
from flowalg_polars import Cluster, PolarsStreaming
from hypothesis import given
from hypothesis import strategies as st
from returns.maybe import Nothing, Some
from returns.result import Failure, Success

from flowalg.analysis.features import AREA_OF
from flowalg.data import KV, EventTime, ProcessingTime, stored
from flowalg.errors import ArgumentError, CheckpointError, ElementError
from flowalg.serialization.stored import read, store, store_value


class Colour(Enum):
    """An enumeration."""

    RED = 1


def _positive(number: int) -> int:
    return abs(number)


@frozen
class Point:
    """A record, whose constructor changes what it receives."""

    x: int = field(converter=_positive)
    name: str = "origin"


@frozen(cache_hash=True)
class Named:
    """A record that keeps its hash."""

    name: str


@dataclass
class Mutable:
    """A record of another library, which can be modified."""

    values: list[int]


class Pair(NamedTuple):
    """A named tuple."""

    left: object
    right: object


@stored(lambda sketch: sketch.registers, lambda registers: Sketch(registers))
class Sketch:
    """An object with a codec."""

    def __init__(self, registers: tuple[int, ...]) -> None:
        self.registers = registers

    def __eq__(self, other: object) -> bool:
        """Returns whether the registers are equal."""
        return isinstance(other, Sketch) and self.registers == other.registers

    __hash__ = None  # type: ignore[assignment]  # it can be modified


class Plain:
    """An object without a codec."""


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(alphabet=st.characters())
    | st.binary(max_size=4)
    | st.datetimes(timezones=st.just(UTC))
    | st.datetimes()
    | st.datetimes(timezones=st.just(timezone(timedelta(hours=3, minutes=30))))
    | st.datetimes(timezones=st.just(ZoneInfo("Europe/Berlin")), allow_imaginary=False)
    | st.dates()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.sampled_from([Colour.RED, Nothing, EventTime(5), ProcessingTime(-1)])
)
hashable = scalars | st.tuples(scalars, scalars) | st.builds(Named, st.text()) | scalars.map(Success)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=3).map(deque)
        | st.frozensets(hashable, max_size=3)
        | st.sets(hashable, max_size=3)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.dictionaries(hashable, inner, max_size=3).map(OrderedDict)
        | st.dictionaries(hashable, st.integers(), max_size=3).map(Counter)
        | st.builds(KV, inner, inner)
        | st.builds(Point, st.integers(), st.text())
        | st.builds(Mutable, st.lists(st.integers()))
        | st.builds(Pair, inner, inner)
        | st.lists(st.integers()).map(lambda numbers: Sketch(tuple(numbers)))
        | inner.map(lambda value: Some((value,)))
        | inner.map(Failure)
    )


def shape_of_value(value: object) -> object:
    """Returns a value with the types of all of its parts, which equality ignores in part (``1 == True``)."""
    match value:
        case dict():
            return type(value), [(shape_of_value(k), shape_of_value(v)) for k, v in value.items()]
        case list() | tuple() | deque():
            return type(value), [*map(shape_of_value, value)]
        case set() | frozenset():
            return type(value), sorted(map(repr, map(shape_of_value, value)))
        case float():
            return float, value.hex()
        case datetime():
            return datetime, value.isoformat(), value.fold, repr(value.tzinfo)
        case Decimal():
            return Decimal, value.as_tuple()
        case _:
            return type(value), value


@given(st.recursive(scalars, _nested, max_leaves=8))
def test_a_value_comes_back_as_it_was(value: object) -> None:
    """With all types, also those of its parts; and its bytes are JSON."""
    packed = store(value)
    json.loads(packed)
    assert shape_of_value(read(packed, object)) == shape_of_value(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_number_comes_back(value: float) -> None:
    """JSON has none, so it is a text there; NaN is one too."""
    assert read(store([value, -0.0]), list) == [value, 0.0]
    assert math.isnan(read(store(math.nan), float))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Plain(), "an object of the class Plain is not data: use a record class, or @stored"),
        ([lambda: 0], "an object of the class function is not data"),
        (iter(()), "is not data"),
        (type("Local", (), {}), "an object of the class type is not data"),
        (
            frozen(type("Local", (), {}))(),
            "Local, cannot be found again; it must be defined at the top level",
        ),
    ],
    ids=["object", "function", "iterator", "class", "local record"],
)
def test_what_is_not_data_is_named(value: object, reason: str) -> None:
    """A stage names itself and what it would store."""
    with pytest.raises(ElementError, match=f"^the stage: a state cannot be stored: TypeError: .*{reason}"):
        store_value("the stage", "a state", value)


def test_a_cycle_is_an_error() -> None:
    """Such a value has no document."""
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(ElementError, match="the stage: a state cannot be stored"):
        store_value("the stage", "a state", cycle)


def document(*parts: object) -> bytes:
    """Returns the bytes of a document."""
    return json.dumps(parts).encode()


HERE: Final = __name__


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (document("r", f"{HERE}:Gone", {}), "the class .*:Gone, which cannot be found"),
        (document("r", "antigravity:Gone", {}), "the class antigravity:Gone, which cannot be found"),
        (document("r", "os:system", {"command": "true"}), "the class os:system, which cannot be found"),
        (document("e", f"{HERE}:Colour", "BLUE"), "has BLUE of Colour, which has no such member now"),
        (document("e", f"{HERE}:Plain", "BLUE"), "has BLUE of Plain, which has no such member now"),
        (document("c", f"{HERE}:Plain", 1), r"Plain, which has no @stored\(...\) now"),
        (document("r", f"{HERE}:Plain", {}), "a record of Plain, which is not a record class now"),
        (document("r", f"{HERE}:Point", {"name": "a"}), "a record in the checkpoint has no Point.x"),
    ],
)
def test_a_class_that_has_changed_is_named(packed: bytes, message: str) -> None:
    """It is never imported, and nothing is called."""
    with pytest.raises(CheckpointError, match=message):
        read(packed, object)


def test_a_record_is_read_without_its_constructor() -> None:
    """The constructor may reject or change values, and is not called."""
    assert read(document("r", f"{HERE}:Point", {"x": -3, "name": "origin", "gone": 1}), Point) == _negative()


def _negative() -> Point:
    point = Point(3)
    object.__setattr__(point, "x", -3)
    return point


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=3))
def test_numbers_of_numpy_come_back(numbers: list[float]) -> None:
    """A scalar has its type, and an array its type and its shape; one of objects is not data."""
    array = np.array([numbers, numbers], np.float32)
    back = read(store(array), np.ndarray)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert (back == array).all()
    assert back.flags.writeable
    scalar = read(store(np.int16(3)), np.int16)
    assert scalar == 3
    assert type(scalar) is np.int16
    with pytest.raises(TypeError, match="ndarray is not data"):
        store(np.array([object()]))


def test_a_value_of_another_class_is_an_error() -> None:
    """The reader says which class it needs."""
    with pytest.raises(ValueError, match="it is int instead of tuple"):
        read(store(3), tuple)


def test_a_codec_is_two_functions() -> None:
    """On a class; subclasses have none, since an object of theirs has more."""
    with pytest.raises(ArgumentError, match="stored.decode must be a function; got 3"):
        stored(str, 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"the argument of @stored\(...\) must be a class; got 3"):
        stored(str, str)(3)  # type: ignore[arg-type]
    subclass = type("Local", (Sketch,), {})
    with pytest.raises(TypeError, match="Local is not data"):
        store(subclass(()))


@pytest.mark.long
def test_no_restart_needs_a_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of each feature restart after each micro-batch while ``pickle`` is forbidden."""

    def forbidden(*arguments: object, **named: object) -> Callable[[], None]:
        raise AssertionError("pickle is forbidden here")

    for name in ("dumps", "dump", "loads", "load", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    engine = PolarsStreaming(Cluster(partitions=2, shards=2, restarts=True))
    check_interpreter(engine, jobs=covering(JOBS, {*AREA_OF}))
