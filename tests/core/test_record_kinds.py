"""Records of attrs, dataclasses, typing, pydantic and msgspec: the same fields, columns, values and errors.

The tests catch a library whose records have other columns, other defaults, or objects that are not equal to those that
went in, on any engine, and a class that is accepted although its objects can change or have more than their fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar

import attrs
import msgspec
import numpy as np
import pydantic
import pytest
from flowalg_columns.records import build_records

from flowalg import (
    Count,
    FixedWindows,
    PCollection,
    Source,
    Sum,
    Timeline,
    ToList,
    from_json,
    load_interpreter,
    to_json,
)
from flowalg.data.record_classes import attributes_of
from flowalg.data.shapes import INTEGER, TEXT, OptionalOf, RecordOf, shape_of
from flowalg.data.values import conform, sort_key
from flowalg.elementwise.functions import Call
from flowalg.errors import ElementError, RecordTypeError
from flowalg.evolution.declared import defaults_of
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Opaque, Param
from flowalg.serialization.stored import read, store
from tests.support.record_kinds import KINDS, Meter, Pair, StructReading, TupleReading
from tests.support.scores import NOON, minute

T = TypeVar("T")

LOCAL: Final = ("local-batch", "local")


def read_at(reading: Any) -> datetime:  # noqa: ANN401
    """Returns when a meter was read."""
    at: datetime = reading.at
    return at


def source_of(kind: str) -> Source[Any]:
    """Returns a source of readings of a library."""
    return Source("readings", KINDS[kind][0], event_time=read_at)  # type: ignore[arg-type]


def make(kind: str, meter: str, at: float, value: int, **others: object) -> Any:  # noqa: ANN401
    """Returns a reading of a library."""
    cls = KINDS[kind][0]
    number = {"shown" if kind == "pydantic" else "value": value}
    return cls(meter=Meter(meter), at=minute(at), **number, **others)


def readings_of(kind: str) -> list[Any]:
    """Returns some readings of a library."""
    place = KINDS[kind][1]
    return [
        make(kind, "a", 0, 5),
        make(kind, "b", 0.5, 7, unit="MWh", place=place(street="x", floor=2), tags=["new", "big"]),
        make(kind, "a", 1, 3, place=place(street="y")),
        make(kind, "a", 1.5, 3, place=place(street="y")),
    ]


def pipelines_of(kind: str) -> dict[str, PCollection[Any]]:
    """Returns pipelines that read, keep, compare, group, order and make records."""
    place = KINDS[kind][1]
    source = source_of(kind)
    windows = source.window(FixedWindows(timedelta(minutes=1)))
    return {
        "values": windows.key_by(lambda r: r.meter).map_values(lambda r: r.value).combine_per_key(Sum()),
        "records": windows.key_by(lambda r: r.meter).combine_per_key(ToList()),
        "optional records as keys": windows.key_by(lambda r: r.place).combine_per_key(Count()),
        "made records": windows.map(lambda r: place(street=r.meter, floor=r.value), result=place)  # type: ignore[arg-type]
        .key_by(lambda p: p)
        .combine_per_key(Count()),
        "in Python": windows.map(lambda r: _as_place(place, r), result=place).combine_globally(ToList()),  # type: ignore[arg-type]
    }


def _as_place(place: Callable[..., Any], reading: Any) -> Any:  # noqa: ANN401
    return place(street=str(reading.unit), floor=len(reading.tags))


def fields_of(value: object) -> object:
    """Returns a value with the fields of records instead of the records."""
    match value:
        case tuple() | list() if not hasattr(value, "_fields"):
            return [fields_of(item) for item in value]
        case _:
            kind: type = type(value)
            names = attributes_of(kind)
            return value if names is None else [fields_of(getattr(value, name)) for name in names]


def panes_of(interpreter: str, kind: str, name: str) -> list[Any]:
    """Returns the elements of the panes of a pipeline over the readings of a library."""
    timeline = Timeline.batch(readings_of(kind), time=minute(2))
    run = load_interpreter(interpreter).run(pipelines_of(kind)[name], {source_of(kind): timeline})
    return [pane.element for pane in run.panes]


@pytest.mark.parametrize("kind", KINDS)
def test_the_shape_is_that_of_every_library(kind: str) -> None:
    """The fields have the names and types of those of attrs, and records of records are records."""
    shape = shape_of(KINDS[kind][0])
    assert isinstance(shape, RecordOf)
    named = {field.name: str(field.shape) for field in shape.fields}
    place = KINDS[kind][1].__name__
    assert named == {
        "meter": "str",
        "at": "datetime",
        "value": "int",
        "unit": "str",
        "place": f"{place} | None",
        "tags": "list[str]",
    }


@pytest.mark.parametrize("name", pipelines_of("attrs"))
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_attrs(kind: str, name: str) -> None:
    """The reference and the local engine have the same values for every library, and records of its classes."""
    wanted = panes_of("reference", "attrs", name)
    expected = panes_of("reference", kind, name)
    assert fields_of(expected) == fields_of(wanted)
    for interpreter in LOCAL:
        assert panes_of(interpreter, kind, name) == expected


@pytest.mark.spark
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "attrs"])
def test_values_are_those_of_the_reference_on_spark(spark: object, kind: str) -> None:
    """Spark batch gives the panes of the reference, also where records are kept and made in Python."""
    del spark
    for name in ("values", "records", "made records", "in Python"):
        assert panes_of("batch", kind, name) == panes_of("reference", kind, name)


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_records_are_lifted(kind: str) -> None:
    """Fields, defaults and constructors that only store their arguments are columns; validation is left to Python."""
    cls, place = KINDS[kind]
    reads = analyse_function(Call(lambda r: r.value + len(r.tags)), Param(shape_of(cls)))
    assert not isinstance(reads, Opaque)
    makes = analyse_function(Call(lambda r: place(street=r.meter)), Param(shape_of(cls)))
    assert not isinstance(makes, Opaque)
    assert makes.shape == shape_of(place)
    validated = analyse_function(
        Call(lambda r: KINDS["pydantic"][0](meter=r.meter, at=r.at, shown=1)), Param(shape_of(cls))
    )
    assert isinstance(validated, Opaque)


def test_copies_with_changes_are_lifted() -> None:
    """So are ``dataclasses.replace`` and ``msgspec.structs.replace``, and items of named tuples."""
    place = KINDS["dataclasses"][1]
    struct = KINDS["msgspec"][1]
    functions: list[tuple[Callable[..., object], Callable[..., object]]] = [
        (lambda p: dataclasses.replace(p, floor=3), place),
        (lambda p: msgspec.structs.replace(p, floor=3), struct),
        (lambda p: p[0] + p[-2], KINDS["NamedTuple"][1]),
    ]
    for function, cls in functions:
        assert not isinstance(analyse_function(Call(function), Param(shape_of(cls))), Opaque)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_kept(kind: str) -> None:
    """Documents, the state of objects, normal forms and columns give equal records of the class."""
    records = readings_of(kind)
    shape = shape_of(KINDS[kind][0])
    assert isinstance(shape, RecordOf)
    assert read(store(records), list) == records
    assert [conform(record, shape, "it") for record in records] == records
    columns = [[getattr(record, field.name) for record in records] for field in shape.fields]
    assert build_records(shape.cls, columns) == records
    assert sorted(records[1:], key=sort_key)[0] == records[2]
    pipeline = source_of(kind).map(Moved(records[1]), result=int)
    assert from_json(to_json(pipeline), PCollection[int]) == pipeline


@attrs.frozen
class Moved:
    """A function with a record in it."""

    record: Any

    def __call__(self, reading: Any) -> int:  # noqa: ANN401
        """Returns the number of its floor."""
        return int(reading.value - self.record.value)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_those_of_the_class(kind: str) -> None:
    """A field that is added to a record has its default in what was stored before."""
    defaults = defaults_of(KINDS[kind][0])  # type: ignore[arg-type]
    assert defaults == {"unit": "kWh", "place": None, "tags": []}


def test_a_generic_record_has_the_types_of_its_arguments() -> None:
    """Of a dataclass as of attrs."""
    shape = shape_of(Pair[int])
    assert isinstance(shape, RecordOf)
    assert [field.shape for field in shape.fields] == [INTEGER, INTEGER]


class Movable:
    """A class that is not a record class."""


@dataclasses.dataclass
class MutableDataclass:
    """A dataclass that can be changed."""

    value: int


class MutableModel(pydantic.BaseModel):
    """A model that can be changed."""

    value: int


class OpenModel(pydantic.BaseModel):
    """A model that keeps other fields."""

    model_config = pydantic.ConfigDict(frozen=True, extra="allow")
    value: int


class SecretModel(pydantic.BaseModel):
    """A model with a private attribute."""

    model_config = pydantic.ConfigDict(frozen=True)
    value: int
    _secret: int = 3


class MutableStruct(msgspec.Struct):
    """A struct that can be changed."""

    value: int


class Inherited(TupleReading):
    """A subclass of a named tuple, whose own fields no item has."""

    other: int = 3


@dataclasses.dataclass(frozen=True)
class Derived:
    """A dataclass with a field that its constructor does not take."""

    value: int
    double: int = dataclasses.field(init=False)


class Fields(TypedDict):
    """A dictionary with known names."""

    value: int


class Strange(NamedTuple, Generic[T]):
    """A generic named tuple of a list."""

    value: T


REFUSED: Final[list[tuple[object, str]]] = [
    (MutableDataclass, r"MutableDataclass is mutable; .*: use @dataclass\(frozen=True\)"),
    (MutableModel, r"MutableModel is mutable; .*: use model_config = ConfigDict\(frozen=True\)"),
    (MutableStruct, r"MutableStruct is mutable; .*: derive it from msgspec.Struct with frozen=True"),
    (OpenModel, r"OpenModel keeps fields that it does not declare; use extra='ignore'"),
    (SecretModel, r"SecretModel has the private attribute _secret, which columns do not have"),
    (Inherited, r"Inherited inherits from a record class; .*: derive it from NamedTuple itself"),
    (Derived, r"Derived.double has init=False"),
    (Movable, r"Movable is not an element type; .*; define a record class: use @dataclass\(frozen=True\)"),
    (Fields, r"Fields is not an element type; .*; define a record class: use @dataclass\(frozen=True\)"),
    (np.int64, r"int64 is not an element type; .*; use int, and .item\(\) of a value"),
    (np.float32, r"float32 is not an element type; .*; use float, and .item\(\) of a value"),
    (Strange[complex], r"Strange\[complex\]\[~T\] has type complex, which is not an element type"),
    (Literal["a", 1], r"the values of a Literal must have one type; got int, str"),
]


@pytest.mark.parametrize(("cls", "message"), REFUSED, ids=[str(cls) for cls, _ in REFUSED])
def test_another_class_says_what_to_write(cls: object, message: str) -> None:
    """A class whose objects can change, or have more than their fields, is an error with the remedy."""
    with pytest.raises(RecordTypeError, match=message):
        shape_of(cls)


def test_annotations_are_their_plain_types() -> None:
    """``Annotated``, ``NewType`` and ``Literal``, also with ``None``."""
    assert shape_of(Annotated[int, "metres"]) == INTEGER
    assert shape_of(NewType("Name", str)) == TEXT
    assert shape_of(Literal["a", "b"]) == TEXT
    assert shape_of(Literal[1, 2, None]) == OptionalOf(INTEGER)


def test_a_value_of_numpy_is_an_error() -> None:
    """It says what to write instead, since it is of another class."""
    with pytest.raises(ElementError, match=r"must be of type int; got .*int64.*; use \.item\(\)"):
        conform(np.int64(3), INTEGER, "it")


def test_named_tuples_that_may_be_equal_have_no_sum() -> None:
    """Neither two of them, nor one with a plain tuple; one with another record does."""
    for other in (KINDS["NamedTuple"][1], tuple[str, int]):
        with pytest.raises(RecordTypeError, match="both are tuples, which may be equal; use a record class"):
            shape_of(TupleReading | other)
    assert str(shape_of(TupleReading | StructReading)) == "StructReading | TupleReading"


def test_a_subclass_is_not_a_record_of_its_base() -> None:
    """Of structs and models as of attrs, where objects would lose what the subclass has."""

    class Longer(StructReading, frozen=True):
        more: int = 1

    record = Longer(meter=Meter("a"), at=NOON, value=1)
    with pytest.raises(ElementError, match="must be of type StructReading"):
        conform(record, shape_of(StructReading), "it")
