"""Sums: types such as ``Model | Count``, their values, tags and columns, and what takes them apart.

These tests catch two members that are mistaken for each other, in Python, in columns or in JSON, a value of no member
that is not reported, and a member that nothing handles.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum, IntEnum
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from attrs import frozen
from flowalg_columns.codec import Codec
from flowalg_columns.json_text import decode_json, encode_json
from flowalg_columns.layout import fields_in
from flowalg_columns.text.files import read_file
from flowalg_columns.text.json_objects import sum_of_objects
from flowalg_polars import batch, streaming
from flowalg_polars.columns import polars_type
from hypothesis import given
from hypothesis import strategies as st

from flowalg import KV, BoundedOutOfOrderness, Count, PCollection, Source, flatten
from flowalg.data import INGRESS_TIME, one_of, tagged
from flowalg.data.json_text import json_value
from flowalg.data.shapes import OptionalOf, SumOf, shape_of, sum_of
from flowalg.data.values import conform, sort_key
from flowalg.errors import ArgumentError, ElementError, RecordTypeError, UserFunctionError
from flowalg.evolution.structure import structure_of
from flowalg.serialization.types import type_of


class Colour(Enum):
    """An enumeration."""

    RED = 1


class Rank(IntEnum):
    """An enumeration whose members are numbers."""

    FIRST = 1


@frozen
class Model:
    """A model of how often a query is expected."""

    query: str
    rate: float


@tagged("sighting", field="kind")
@frozen
class Seen:
    """How often a query was seen. Its field of the same name has another type."""

    query: str
    rate: int
    before: Model | str | None


@frozen
class Box:
    """A record with sums in its fields."""

    number: int
    several: list[Model | Seen]
    maybe: Model | Seen | bool | None


Element = Model | Seen | str

WHOLE: Final = shape_of(Model | Seen)
assert isinstance(WHOLE, SumOf)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
models = st.builds(Model, texts, st.floats(-3, 3, width=16).map(lambda rate: rate or 0.0))
sightings = st.builds(Seen, texts, st.integers(-3, 3), st.none() | models | texts)
boxes = st.builds(
    Box,
    st.integers(0, 3),
    st.lists(models | sightings, max_size=3),
    st.none() | models | sightings | st.booleans(),
)


@pytest.mark.parametrize("members", list(permutations([Model, Seen, str, type(None)])))
def test_a_sum_is_one_shape_however_it_is_written(members: tuple[Any, ...]) -> None:
    """The order of its members, and how they are bracketed, do not matter; with ``None`` it is optional."""
    first, second, third, fourth = members
    whole = shape_of((first | second) | (third | fourth))
    assert (
        whole == shape_of(first | (second | (third | fourth))) == OptionalOf(sum_of([WHOLE, shape_of(str)]))
    )
    assert str(whole) == "Model | Seen | str | None"


@given(st.data(), st.sampled_from([Model | Seen, Model | Seen | str, Box, KV[str, Model | int]]))
def test_values_of_sums_come_back_from_columns_and_json(data: st.DataObject, kind: object) -> None:
    """Values are equal after they were written as columns, and as canonical JSON, which differs if they do."""
    shape = shape_of(kind)
    members = {
        Model | Seen: models | sightings,
        Model | Seen | str: models | sightings | texts,
        Box: boxes,
        KV[str, Model | int]: st.builds(KV, texts, models | st.integers(0, 3)),
    }
    values: list[object] = data.draw(st.lists(members[kind], max_size=6))
    codec = Codec.of(shape, "v")
    written = pl.DataFrame(codec.write(values, "it"))
    assert codec.read(written) == values
    assert written.select(codec.nested.alias("v")).schema["v"] == polars_type(shape)
    documents = [encode_json(value, shape) for value in values]
    assert [decode_json(document, shape) for document in documents] == values
    for one, text in zip(values, documents, strict=True):
        assert all(
            (one == other) == (text == of_other) for other, of_other in zip(values, documents, strict=True)
        )


@given(st.lists(models | sightings | texts))
def test_columns_order_values_as_python_does(values: list[Element]) -> None:
    """Values in columns, nulls first, are in the order of ``sort_key``: by their tags, then by their fields."""
    codec = Codec.of(shape_of(Element), "v")
    rows = pl.DataFrame([pl.Series("at", range(len(values))), *codec.write(list(values), "it")])
    sort = rows.sort([*codec.columns, "at"], nulls_last=False)
    assert codec.read(sort) == sorted(values, key=sort_key)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            int | float,
            r"int \| float is not an element type: its members .* since both are numbers; use a record",
        ),
        (bool | int, "since both are numbers"),
        (int | Rank, "since both are numbers"),
        (float | str, "since both are texts"),
        (datetime | str, "since both are texts"),
        (Colour | str, "since both are texts"),
        (list[int] | tuple[int, int], "since both are arrays"),
        (KV[str, int] | KV[str, float], r"int \| float is not an element type"),
        (tuple[int, str] | tuple[int], "since both are of tuple"),
        (Model | dict[str, int], r"dict\[str, int\].* is not an element type"),
        (Model | object, "object.* is not an element type"),
    ],
)
def test_members_that_cannot_be_told_apart_are_an_error(kind: Any, message: str) -> None:  # noqa: ANN401
    """So is a member that has no columns; the message names both."""
    with pytest.raises(RecordTypeError, match=message):
        Source("s", kind, event_time=INGRESS_TIME)


def named(name: str) -> type:
    """Returns a record class with a name."""

    @frozen
    class Record:
        value: int

    Record.__name__ = name
    return Record


def test_classes_of_one_name_need_tags() -> None:
    """Two classes whose names differ in case only are an error, until one has a tag."""
    lower, upper = named("record"), named("RECORD")
    with pytest.raises(RecordTypeError, match="both are objects with the tag record"):
        shape_of(lower | upper)
    whole = shape_of(lower | tagged("other")(upper))
    assert isinstance(whole, SumOf)
    assert [member.name for member in reversed(whole.members)] == ["other", "record"]


def test_a_tag_must_not_hide_a_field() -> None:
    """A field of the record that has the name of its tag's is an error, which names the remedy."""
    with pytest.raises(
        RecordTypeError, match=r"has a field value, .* choose another one with @tagged\('a', field="
    ):
        shape_of(tagged("a", field="value")(named("A")) | int)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a/b", 3])
def test_a_tag_is_a_name(name: Any) -> None:  # noqa: ANN401  # of a wrong type
    """Another tag is an error."""
    with pytest.raises(ArgumentError, match=r"tagged\.name must be a letter followed by letters"):
        tagged(name)


def test_a_value_of_no_member_is_an_error() -> None:
    """The message names the sum; an integer is a value of a member of floats, in its normal form."""
    with pytest.raises(ElementError, match=r"it must be of type Model \| Seen; got 3 \(int\)"):
        conform(3, WHOLE, "it")
    normal = conform(3, shape_of(float | list[str]), "it")
    assert (normal, type(normal)) == (3.0, float)


def test_a_sum_has_a_type_and_a_structure() -> None:
    """They are those of its members; the structure has the tags, which name columns of state."""
    assert shape_of(type_of(shape_of(Box))) == shape_of(Box)
    assert str(structure_of(WHOLE)) == (
        "Model: Model(query: str, rate: float) | sighting: Seen(query: str, rate: int, "
        "before: Model: Model(query: str, rate: float) | str: str | None)"
    )


# Text


def read_lines(*lines: str, kind: object = Model | Seen) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the rows and the errors of JSON lines."""
    shape = shape_of(kind)
    read = read_file("\n".join(lines).encode(), "json", fields_in(shape), whole=sum_of_objects(shape))
    return read.rows.to_pylist(), [line.error for line in read.bad]


@pytest.mark.parametrize("number", [1, 200])
def test_a_line_is_an_object_with_a_tag(number: int) -> None:
    """The tag is in the field that its class chose, anywhere in the object; many lines are read as one is."""
    lines = (
        '{"$type": "Model", "query": "a", "rate": 0.5}',
        '{"query": "b", "rate": 3, "before": {"rate": 1, "query": "c", "$type": "Model"}, "kind": "sighting"}',
        '{"kind": "sighting", "query": "b", "rate": 3, "before": "text", "more": [{"$type": "Seen"}]}',
    )
    seen = {"query": "b", "rate": 3, "before": {"str": None, "Model": {"query": "c", "rate": 1.0}}}
    rows = [
        {"sighting": None, "Model": {"query": "a", "rate": 0.5}},
        {"sighting": seen, "Model": None},
        {"sighting": {**seen, "before": {"str": "text", "Model": None}}, "Model": None},
    ]
    assert read_lines(*lines * number) == ([{"value": row} for row in rows] * number, [])


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"query": "a", "rate": 0.5}', "row 1: $type must be one of Model, sighting; got no such field"),
        ('{"$type": "Count", "rate": 0.5}', "row 1: $type must be one of Model, sighting; got 'Count'"),
        ('{"kind": 3}', "row 1: kind must be one of Model, sighting; got 3"),
        ('{"$type": "Model", "query": "a", "rate": "x"}', "row 1: rate must be of type double; got 'x'"),
        ('{"kind": "sighting", "before": 3}', "row 1: before must be of type Model | str; got 3"),
        (
            '{"kind": "sighting", "before": {}}',
            "row 1: before.$type must be one of Model, str; got no such field",
        ),
        ('{"kind": "sighting", "kind"', "row 1 is not valid JSON"),
        ("[]", "row 1 must be a JSON object; got []"),
    ],
)
def test_an_object_without_a_known_tag_is_a_bad_record(line: str, error: str) -> None:
    """The error names the field of the tag and the tags, or the field that is of another type."""
    rows, errors = read_lines(line)
    assert (rows, [found[: len(error)] for found in errors]) == ([], [error])


@given(st.lists(boxes, max_size=5))
def test_lines_are_read_as_they_are_written(values: list[Box]) -> None:
    """JSON lines of records with sums are read as the columns of the records."""
    shape = shape_of(Box)
    lines = (json.dumps(json_value(value, shape)) for value in values)
    rows, errors = read_lines(*lines, kind=Box)
    assert errors == []
    columns = pl.DataFrame(Codec.of(shape, "").write(list(values), "it"))
    assert rows == columns.to_dicts()


# Frames

SOURCE = Source("events", one_of(Model, Seen), event_time=INGRESS_TIME)
BY_QUERY = SOURCE.key_by(lambda event: event.query).combine_per_key(Count())
FRAME: Final = pl.DataFrame(
    {
        "value": [
            {"sighting": None, "Model": {"query": "a", "rate": 1.0}},
            {"sighting": {"query": "b", "rate": 1, "before": None}, "Model": None},
            {"sighting": {"query": "b", "rate": 1, "before": None}, "Model": {"query": "a", "rate": 1.0}},
            {"sighting": None, "Model": None},
        ]
    },
    schema={"value": polars_type(WHOLE)},
)


def test_a_frame_has_a_struct_of_the_members() -> None:
    """Exactly one member is not null; another row fails the query, or is a bad record."""
    message = r"exactly one of value\.\{Model, sighting\} must not be null; got "
    rows = batch.compile(BY_QUERY, {SOURCE: FRAME[:2]}).collect().sort("key")
    assert rows["key"].to_list() == ["a", "b"]
    for row, number in ((2, "2"), (3, "0")):
        with pytest.raises(ElementError, match=message + number):
            batch.run(BY_QUERY, {SOURCE: FRAME[[0, row]]})
    nothing = pl.DataFrame({"value": [None]}, schema=FRAME.schema)
    with pytest.raises(
        ElementError, match=r"value must be of type Model \| Seen; got null; remove such rows"
    ):
        batch.run(BY_QUERY, {SOURCE: nothing})
    run = batch.run(BY_QUERY, {SOURCE: pl.concat([FRAME, nothing])}, dead_letters=True)
    assert sorted(bad.error.partition("; got ")[2][:4] for bad in run.bad_records) == ["0", "2", "null"]
    assert len(run.panes) == 2


def test_files_of_lines_are_a_source_of_a_sum(tmp_path: Path) -> None:
    """A stream reads objects of several types from a folder, and keeps those without a known tag apart."""
    lines = (
        '{"$type": "Model", "query": "a", "rate": 0.5}',
        '{"$type": "Other"}',
        '{"kind": "sighting", "query": "a", "rate": 1}',
    )
    (tmp_path / "1.jsonl").write_text("\n".join(lines))
    policy = BoundedOutOfOrderness(timedelta(0))
    inputs = {SOURCE: streaming.StreamInput(streaming.Files(tmp_path, "jsonl"), policy)}
    batches = list(streaming.batches(BY_QUERY, inputs, dead_letters=True, drain=True))
    records = [bad.record for part in batches for bad in part.bad_records]
    assert [json.loads(record) for record in records] == [{"text": lines[1]}]


# Elimination

EITHER: PCollection[Model | Seen] = SOURCE


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ((Model, str), r"class 2 of partition\(\.\.\.\) must be a class of which some elements are"),
        ((Model, object), r"classes without a common member; Model is of Model and object"),
        ((Model, Model), r"classes without a common member"),
        ((Model,), r"classes of all members of Model \| Seen; Seen is of none of them"),
        ((Model, 3), r"class 2 of partition\(\.\.\.\) must be a class; got 3"),
    ],
)
def test_a_partition_has_each_element_once(kinds: tuple[Any, ...], message: str) -> None:
    """Classes that overlap, that lack a member, or of which no element is, are an error when it is built."""
    with pytest.raises(ArgumentError, match=message):
        EITHER.partition(*kinds)


def test_only_a_sum_has_a_partition() -> None:
    """A collection of one class is an error, and so is ``only`` of a class of which no element is."""
    with pytest.raises(ArgumentError, match=r"the elements of partition\(\.\.\.\) must be those of a sum"):
        EITHER.only(Model).partition(Model, Seen)
    with pytest.raises(
        ArgumentError, match="kind must be a class of which some elements are; they are Model | Seen"
    ):
        EITHER.only(str)


def test_types_of_one_class_are_one_member() -> None:
    """The sum of two pairs, tuples or lists has the sums of their parts."""
    pairs, lists = KV[str, Model] | KV[str, Seen], list[int] | list[str]
    assert shape_of(pairs) == shape_of(KV[str, Model | Seen])
    assert shape_of(tuple[int, str] | tuple[str, str]) == shape_of(tuple[int | str, str])
    assert shape_of(lists | pairs | None) == shape_of(list[int | str] | KV[str, Model | Seen] | None)
    keyed = flatten(EITHER.only(Model).key_by(lambda m: m.query), EITHER.only(Seen).key_by(lambda s: s.query))
    assert keyed.shape == shape_of(KV[str, Model | Seen])


def test_flatten_of_two_types_is_their_sum() -> None:
    """A sum and its member are the sum. Two types that cannot be members of one sum have no common type."""
    union = flatten(EITHER.only(Model), EITHER.only(Seen))
    assert union.shape == flatten(EITHER, EITHER.only(Seen)).shape == EITHER.shape
    numbers, floats = EITHER.map(lambda event: 3), EITHER.map(lambda event: 0.5)
    assert flatten(numbers, EITHER).shape == sum_of([WHOLE, shape_of(int)])
    assert flatten(numbers, floats).shape is None


def lacking_a_case(event: Model | Seen) -> int:  # type: ignore[return]
    """A match without a case for ``Seen``."""
    match event:  # type: ignore[exhaustive-match]
        case Model(rate=rate):
            return round(rate)


def lacking_none(event: Model | Seen | None) -> int:  # type: ignore[return]  # a fault on purpose
    """A match without a case for ``None``."""
    match event:  # type: ignore[exhaustive-match]
        case Model() | Seen():
            return 1


@pytest.mark.parametrize(
    ("build", "left"),
    [
        (lambda: EITHER.map(lacking_a_case), "Model | Seen has no case for Seen; add one, or `case _:`"),
        (
            lambda: EITHER.map(lambda event: None if event.query == "" else event).map(lacking_none),
            "Model | Seen | None has no case for None",
        ),
    ],
)
def test_a_match_without_a_case_for_a_member_is_an_error(
    build: Callable[[], PCollection[int]], left: str
) -> None:
    """It would return ``None`` for the values of that member; the error names them when the pipeline is built."""
    with pytest.raises(UserFunctionError) as raised:
        _ = build().shape
    assert left in str(raised.value)
