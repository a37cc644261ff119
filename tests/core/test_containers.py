"""``Maybe`` and ``Result`` as element types: their shapes, values, columns and JSON, and what reads them.

These tests catch a ``Nothing`` that becomes ``None``, a failure that is lost, and a method of a container that columns
compute otherwise than ``returns`` does. The methods are compared with Python row by row in ``test_lifted_columns``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import flowalg_reference as reference
import polars as pl
import pytest
from attrs import frozen
from flowalg_columns.codec import Codec
from flowalg_columns.json_text import decode_json, encode_json
from flowalg_laws.kit.readings import READINGS, Reading
from flowalg_laws.strategies.timelines import free_timelines
from flowalg_polars import PolarsBatch, PolarsStreaming, batch, streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_sinks.cells import element_columns, to_cells
from hypothesis import given
from hypothesis import strategies as st
from returns.maybe import Maybe, Nothing, Some
from returns.result import Failure, Result, Success, safe

from flowalg import KV, BoundedOutOfOrderness, Count, PCollection, Source, Timeline, ToList
from flowalg.data.hashing import canonical_bytes
from flowalg.data.json_text import render_json
from flowalg.data.shapes import INTEGER, TEXT, MaybeOf, RecordOf, contains_sum, result_of, shape_of
from flowalg.data.values import canonicalize, comparable, conform, same, sort_key
from flowalg.errors import ElementError, RecordTypeError, UnsupportedError
from flowalg.evolution.structure import outline, structure_of
from flowalg.pipeline import Failed
from flowalg.pipeline.nodes import ElementWise
from flowalg.serialization.types import type_of
from tests.support.cells import from_cells
from tests.support.scores import NOON

INT_OR_WHY: Final = shape_of(Result[int, str])

numbers = st.integers(-5, 5)
maybes: st.SearchStrategy[Maybe[int]] = numbers.map(Some) | st.just(Nothing)
outcomes: st.SearchStrategy[Result[int, str]] = numbers.map(Success) | st.text("ab", max_size=2).map(Failure)

VALUES: Final[dict[object, st.SearchStrategy[Any]]] = {
    Maybe[int]: maybes,
    Result[int, str]: outcomes,
    Result[int, str] | None: outcomes | st.none(),
    Maybe[Result[int, str]]: outcomes.map(Some) | st.just(Nothing),
    Result[Maybe[int], list[str]]: maybes.map(Success) | st.lists(st.text("ab")).map(Failure),
    KV[str, Maybe[int]]: st.builds(KV, st.text("ab", max_size=1), maybes),
    list[Maybe[int]]: st.lists(maybes, max_size=3),
    frozenset[Maybe[int]]: st.frozensets(maybes, max_size=3),
    tuple[Maybe[tuple[int, str]], int]: st.tuples(
        st.just(Nothing) | st.tuples(numbers, st.just("a")).map(Some), numbers
    ),
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_values_come_back_from_columns_and_json(data: st.DataObject, kind: object) -> None:
    """In type too: ``Nothing`` is not ``None``, and a ``Success`` is not its value."""
    shape = shape_of(kind)
    values = data.draw(st.lists(VALUES[kind], max_size=5))
    codec = Codec.of(shape, "x")
    columns = pl.DataFrame([pl.Series(s.name, s) for s in codec.write(values, "a value")])
    if columns.width and columns.height:
        assert codec.read(columns) == values
    for value in values:
        assert conform(value, shape, "a value") == canonicalize(value, "a value") == value
        assert decode_json(encode_json(value, shape), shape) == value


@given(st.lists(maybes), st.lists(outcomes))
def test_values_are_ordered_as_their_columns(
    several: list[Maybe[int]], results: list[Result[int, str]]
) -> None:
    """``Nothing`` is first, a failure before a success; within them the values decide."""
    assert sorted(several, key=sort_key) == sorted(several, key=lambda m: (m is not Nothing, m.value_or(0)))
    by_hand = sorted(
        results,
        key=lambda r: (
            isinstance(r, Success),
            str(r.failure()) if isinstance(r, Failure) else "",
            r.value_or(0),
        ),
    )
    assert sorted(results, key=sort_key) == by_hand
    codec = Codec.of(INT_OR_WHY, "x")
    columns = pl.DataFrame(codec.write(list(results), "a result"))
    if results:
        success, failure = codec.columns
        assert codec.read(columns.sort(success, failure)) == by_hand


def test_types_have_a_shape_a_structure_and_a_type() -> None:
    """A ``Some`` is a ``Maybe``; a ``Result`` is a sum of its two classes."""
    assert shape_of(Maybe[int]) == shape_of(Some[int]) == MaybeOf(INTEGER)
    assert INT_OR_WHY == result_of(INTEGER, TEXT) == shape_of(Success[int] | Failure[str])
    assert [str(shape_of(kind)) for kind in (Maybe[int], Result[int, str], Success[int])] == [
        "Maybe[int]",
        "Result[int, str]",
        "Success[int]",
    ]
    assert str(structure_of(shape_of(KV[str, Maybe[int]]))) == "KV[str, Maybe[int]]"
    assert str(structure_of(INT_OR_WHY)) == "Failure: Failure(value: str) | Success: Success(value: int)"
    assert outline((Success(1), Nothing)).startswith("tuple[an object")
    assert contains_sum(INT_OR_WHY)
    assert not contains_sum(MaybeOf(INTEGER))
    for kind in VALUES:
        assert shape_of(type_of(shape_of(kind))) == shape_of(kind)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Maybe[int | None], r"Maybe\[int \| None\] is not an element type, .* use Maybe\[int\]"),
        (Maybe[Maybe[int]], r"Maybe\[Maybe\[int\]\] is not an element type, .* use Maybe\[int\]"),
        (Maybe[int] | None, r"Maybe\[int\] \| None is not an element type, .* use Maybe\[int\]"),
        (Maybe[int] | str, r"Maybe\[int\] \| str is not an element type"),
        (Result[int, ValueError], r"ValueError, which is not an element type; .* try_map makes a record"),
        (Maybe[object], "object, which is not an element type"),
    ],
    ids=str,
)
def test_a_value_that_may_be_missing_twice_is_no_type(kind: Any, message: str) -> None:  # noqa: ANN401
    """Columns have one null, so the message says what to write instead."""
    with pytest.raises(RecordTypeError, match=message):
        shape_of(kind)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (None, Maybe[int], r"x must be of type Maybe\[int\]; got None"),
        (1, Maybe[int], r"x must be of type Maybe\[int\]; got 1"),
        (Some(None), Maybe[int], "x must be of type int; got None"),
        (Success("a"), Result[int, str], r"x.value must be of type int; got 'a'"),
        (1, Result[int, str], r"x must be of type Result\[int, str\]; got 1"),
    ],
    ids=str,
)
def test_another_value_is_an_error(value: object, kind: object, message: str) -> None:
    """The message has the type, and the value."""
    with pytest.raises(ElementError, match=message):
        conform(value, shape_of(kind), "x")


def test_values_of_unknown_types_have_a_normal_form() -> None:
    """So have those inside of them; a ``Nothing`` differs from ``None`` in hashes, and NaN equals NaN."""
    assert canonicalize(Some([Success(-0.0)]), "x") == Some([Success(0.0)])
    assert (
        len({canonical_bytes(value, "x") for value in (Nothing, None, Some(1), Success(1), Failure(1), 1)})
        == 6
    )
    nan = float("nan")
    assert same(Success(nan), Success(float("nan")))
    assert comparable(Success(1.0)) == Success(1.0)
    assert render_json([Some(1), Nothing, Failure("a")]) == '[1,null,{"value":"a"}]'
    assert render_json(Failure("a"), INT_OR_WHY) == '{"$type":"Failure","value":"a"}'


@safe
def per_value(reading: Reading) -> float:
    """Returns a quotient, which there is not for three."""
    return 12 / (reading.value - 3)


@safe
def above(reading: Reading) -> int:
    """Never fails."""
    return reading.value + 1


def checked(reading: Reading) -> Result[int, str]:
    """Returns a positive value, or the key of another one."""
    return Success(reading.value) if reading.value > 0 else Failure(reading.key)


def final(collection: PCollection[object], timeline: Timeline[Reading], engine: Any) -> object:  # noqa: ANN401
    """Returns the list of all elements, as an engine makes it."""
    run = engine.run(collection.combine_globally(ToList()), {READINGS: timeline})
    return run.final_values(by=lambda values: None)


@given(timeline=free_timelines())
def test_a_split_has_each_outcome_once(timeline: Timeline[Reading]) -> None:
    """Its parts are the successes and failures of the map, on each engine."""
    good, bad = READINGS.split(checked)
    again, others = READINGS.map(checked).split()
    for engine in (reference.Reference(), PolarsBatch(), PolarsStreaming()):
        by_hand = READINGS.filter(lambda r: r.value > 0).map(lambda r: r.value)
        assert (
            final(good, timeline, engine)
            == final(again, timeline, engine)
            == final(by_hand, timeline, engine)
        )
        keys = READINGS.filter(lambda r: r.value <= 0).map(lambda r: r.key)
        assert (
            final(bad, timeline, engine) == final(others, timeline, engine) == final(keys, timeline, engine)
        )


@given(timeline=free_timelines())
def test_try_map_keeps_each_exception_with_its_element(timeline: Timeline[Reading]) -> None:
    """No element is lost: each is a success, or in a ``Failed`` with the exception."""
    good, bad = READINGS.try_map(per_value).split()
    three = READINGS.filter(lambda r: r.value == 3).map(
        lambda r: Failed(r, "ZeroDivisionError", "division by zero"), result=Failed[Reading]
    )
    for engine in (reference.Reference(), PolarsBatch(), PolarsStreaming()):
        assert final(bad, timeline, engine) == final(three, timeline, engine)
        rest = READINGS.filter(lambda r: r.value != 3).map(lambda r: 12 / (r.value - 3))
        assert final(good, timeline, engine) == final(rest, timeline, engine)


def test_try_map_knows_its_types() -> None:
    """From the annotation inside ``@safe``, or ``result=``; a function that never raises is columns."""
    shape = READINGS.try_map(per_value).shape
    assert str(shape) == "Result[float, Failed]"
    assert READINGS.try_map(safe(lambda r: r.key.swapcase()), result=str).split()[0].shape == TEXT
    failed = READINGS.try_map(per_value).split()[1].shape
    assert isinstance(failed, RecordOf)
    assert [field.shape for field in failed.fields] == [READINGS.shape, TEXT, TEXT]
    never = READINGS.try_map(above).node
    assert isinstance(never, ElementWise)
    assert [analysis.opaque for analysis in never.analyses] == [None]
    assert READINGS.map(per_value).shape is None  # its annotation is that of the function inside


NUMBER: Final[Any] = lambda reading: reading.value  # noqa: E731  # of a wrong type
TEXT_FAILURE: Final[Any] = lambda reading: Failure("a")  # noqa: E731  # of a wrong type
UNTYPED: Final[PCollection[Any]] = READINGS.map(lambda reading: reading.key.partition("a"))


@pytest.mark.parametrize(
    ("collection", "message"),
    [
        (
            READINGS.try_map(NUMBER),
            r"try_map\(.*\) must be a Success, or a Failure of an exception, .*; got 1",
        ),
        (READINGS.try_map(TEXT_FAILURE), r"try_map\(.*\) must be a Success, or a Failure of an exception"),
        (READINGS.split(NUMBER)[0], r"split\(.*\) must be a Success or a Failure; got 1"),
        (UNTYPED.split()[0], "an element of split must be a Success or a Failure; got"),
    ],
)
def test_another_result_is_an_error(collection: PCollection[object], message: str) -> None:
    """It names the method and the function."""
    with pytest.raises(ElementError, match=message):
        reference.run_batch(collection, {READINGS: [Reading("a", 1, NOON, NOON)]})


def test_a_maybe_is_a_field_of_a_frame() -> None:
    """A null is ``Nothing`` there; a key that is ``Nothing`` is a key, but matches none in a join."""
    source = Source(
        "pairs", KV[Maybe[str], int], event_time=lambda pair: NOON + timedelta(seconds=pair.value)
    )
    frame = pl.DataFrame({"key": ["a", None, None], "value": [1, 2, 3]})
    counts = batch.run(source.combine_per_key(Count()), {source: frame}, time=NOON)
    assert {pane.element.key: pane.element.value for pane in counts.panes} == {Some("a"): 1, Nothing: 2}
    joined = batch.run(source.inner_join(source), {source: frame}, time=NOON)
    assert [pane.element.key for pane in joined.panes] == [Some("a")]
    left = reference.run_batch(
        source.left_join(source.map_values(str)), {source: [KV(Nothing, 2), KV(Some("a"), 1)]}
    )
    assert sorted(str(pane.element.value) for pane in left.panes) == ["(1, '1')", "(2, None)"]


@frozen
class Visit:
    """A record with a value that may be missing, and a result."""

    user: Maybe[str]
    outcome: Result[int, str]
    at: datetime


VISITS: Final = Source("visits", Visit, event_time=lambda visit: visit.at)


def test_lines_of_json_have_containers(tmp_path: Path) -> None:
    """A null or a lacking field is ``Nothing``; a result has the tag of its class, and another tag is a bad record."""
    at = NOON.isoformat()
    rows = [
        {"user": "a", "outcome": {"$type": "Success", "value": 3}, "at": at},
        {"user": None, "outcome": {"$type": "Failure", "value": "x"}, "at": at},
        {"outcome": {"$type": "Success", "value": 4}, "at": at},
        {"user": "b", "outcome": {"$type": "Other", "value": 4}, "at": at},
    ]
    (tmp_path / "visits.jsonl").write_text("\n".join(map(json.dumps, rows)))
    stream = StreamInput(Files(tmp_path, "jsonl"), BoundedOutOfOrderness(timedelta()))
    whole = VISITS.map(lambda visit: (visit.user, visit.outcome))
    (batch_of_all,) = streaming.batches(whole, {VISITS: stream}, dead_letters=True)
    assert [each.element for each in batch_of_all.elements] == [
        (Nothing, Failure("x")),
        (Nothing, Success(4)),
        (Some("a"), Success(3)),
    ]
    (bad,) = batch_of_all.bad_records
    assert "outcome.$type must be one of Failure, Success; got 'Other'" in bad.error


def test_a_table_has_a_column_for_each_part() -> None:
    """A ``Maybe`` is a cell that may be null, and a result has one column for its value and one for its error."""
    shape = VISITS.shape
    assert shape is not None
    names = [column.name for column in element_columns(shape)]
    assert names == ["user", "outcome_Success", "outcome_Failure", "at"]
    visit = Visit(Nothing, Failure("x"), NOON)
    cells = to_cells(visit, shape)
    assert cells == (None, None, '{"value":"x"}', NOON)
    assert from_cells(cells, shape) == visit


SHAPELESS: Final[Callable[[Reading], Result[Any, str]]] = lambda r: Success(r.key.partition("a"))  # noqa: E731


def test_an_unknown_type_names_both_arguments() -> None:
    """A function in Python needs its types on engines of columns."""
    with pytest.raises(UnsupportedError, match=r"pass result=\.\.\. and failure=\.\.\., or use a def"):
        batch.check(READINGS.split(SHAPELESS)[0].combine_globally(Count())).alt(_raise)


def _raise(error: Exception) -> None:
    raise error
