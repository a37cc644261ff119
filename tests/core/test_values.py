"""Values that engines cannot keep as they are: errors that name them, alike in all engines."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from enum import Enum
from random import Random

import pytest
from attrs import frozen
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference
from hypothesis import given
from hypothesis import strategies as st

from flowalg import KV, Count, Interpreter, Max, PCollection, Source, Timeline, ToList
from flowalg.data.values import canonicalize, same, sort_by_time, sort_key
from flowalg.errors import ElementError

LONE = "x\ud800"
START = datetime(2024, 1, 1, tzinfo=UTC)


@frozen
class Note:
    """A record with text."""

    key: str
    text: str
    at: datetime


NOTES = Source("notes", Note, event_time=lambda note: note.at)
BY_KEY = NOTES.key_by(lambda note: note.key).map_values(lambda note: note.text)


def spoil(text: str) -> str:
    """Returns text with a lone surrogate."""
    return text + chr(0xD800)


@pytest.mark.parametrize(
    "engine", [Reference(), PolarsStreaming(), PolarsBatch()], ids=lambda engine: type(engine).__name__
)
@pytest.mark.parametrize(
    ("pipeline", "note"),
    [
        (BY_KEY.combine_per_key(Count()), Note(LONE, "a", START)),
        (BY_KEY.combine_per_key(Max()), Note("k", LONE, START)),
        (BY_KEY.map_values(spoil).combine_per_key(ToList()), Note("k", "a", START)),
        (
            BY_KEY.map(lambda pair: KV(spoil(pair.key), 1), result=KV[str, int]).combine_per_key(Count()),
            Note("k", "a", START),
        ),
    ],
    ids=["key", "value", "made value", "made key"],
)
def test_a_lone_surrogate_is_named(engine: Interpreter, pipeline: PCollection[object], note: Note) -> None:
    """Text that UTF-8 cannot encode is an error that names the text, in every engine."""
    with pytest.raises(ElementError, match=r"lone surrogates, which UTF-8 cannot encode; got '.*\\ud800'"):
        engine.run(pipeline, {NOTES: Timeline[Note]().at(START, note).end(START)})


def test_text_in_any_script_is_canonical() -> None:
    """Text without lone surrogates is unchanged."""
    assert canonicalize(["äöü", "日本", "😀"], "the text") == ["äöü", "日本", "😀"]


def test_a_key_without_an_order_is_named() -> None:
    """The reference rejects a key that has no order with an error that names it, also if it is the only key."""
    pairs = NOTES.map(lambda note: KV(complex(1, len(note.text)), 1))
    with pytest.raises(ElementError, match=r"\(1\+1j\) \(complex\) cannot be ordered"):
        Reference().run(
            pairs.combine_per_key(Count()), {NOTES: Timeline[Note]().at(START, Note("k", "a", START))}
        )


class Color(Enum):
    """A kind of key."""

    RED = 1


def test_values_of_any_kinds_have_one_order() -> None:
    """Values of different kinds are ordered by kind, None first and NaN last; numbers are of one kind."""
    values = [
        None,
        True,
        2.5,
        3,
        "a",
        b"a",
        START,
        date(2024, 1, 1),
        Color.RED,
        ("a", 1),
        frozenset({1}),
        {"a": 1},
        float("nan"),
    ]
    ordered = sorted(values, key=sort_key)
    assert ordered[0] is None
    assert ordered[-1] != ordered[-1]
    backwards = values[::-1]
    assert sorted(backwards, key=sort_key)[1:-1] == ordered[1:-1]
    assert [value for value in ordered if isinstance(value, int | float)][:3] == [True, 2.5, 3]


SOME_VALUES = st.none() | st.text("ab") | st.tuples(st.integers(0, 2)) | st.sampled_from([1j, 2j])


@given(st.lists(st.tuples(st.integers(0, 2), SOME_VALUES)), st.randoms(use_true_random=False))
def test_values_in_order_of_time_do_not_depend_on_their_arrival(
    timed: list[tuple[int, object]], chance: Random
) -> None:
    """Values are by event time and then by value, from any order of arrival; also if complex numbers are among them."""
    shuffled = [*timed]
    chance.shuffle(shuffled)
    ordered = sort_by_time(timed)
    assert sort_by_time(shuffled) == ordered
    times = sorted(time for time, _ in timed)
    assert Counter(zip(times, ordered, strict=True)) == Counter(timed)


def test_nan_is_the_same_value_wherever_it_is() -> None:
    """Values are the same if they are equal with NaN equal to NaN, and different kinds stay different."""
    nan, other = float("nan"), float("nan")
    for left, right in (
        (nan, other),
        ((1, nan), (1, other)),
        ([nan], [other]),
        (frozenset({nan}), frozenset({other})),
        ({"a": nan}, {"a": other}),
        (KV("a", nan), KV("a", other)),
    ):
        assert left != right
        assert same(left, right)
    assert not same((nan,), [nan])
    assert not same(nan, 1.0)
    assert not same(KV("a", nan), KV("b", nan))
