"""The contents of a window compared with plain Python: values are added and retracted in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from flowalg_reference.contents import Contents
from hypothesis import given
from hypothesis import strategies as st

from flowalg import KV, Accumulation, Count, EventTime, Mean, Sum, ToList
from flowalg.combiners.core import Aggregate, require_combiner

ENTRY = st.tuples(st.sampled_from("xy"), st.integers(1, 5).map(EventTime))
Entry = tuple[str, EventTime]


def contents_of(combiner: Aggregate[object, object], *, keeps_values: bool) -> Contents:
    """Returns empty contents."""
    return Contents.empty(require_combiner("combiner", combiner), keeps_values=keeps_values)


def earliest_and_latest(contents: Contents) -> tuple[EventTime | None, EventTime | None]:
    """Returns the earliest and the latest event time of the contents."""
    return contents.earliest, contents.latest


@given(st.lists(ENTRY, max_size=6, unique=True), st.data())
def test_a_retraction_removes_an_equal_value(given_values: list[Entry], data: st.DataObject) -> None:
    """A retraction removes an equal value, of the same event time if possible; the rest is by event time and value."""
    contents = contents_of(ToList(), keeps_values=True)
    for value, time in given_values:
        contents.absorb(value, time, 1)
    retracted = data.draw(
        st.lists(st.sampled_from(given_values), unique=True) if given_values else st.just([])
    )
    for value, time in retracted:
        contents.absorb(value, time, -1)
    left = [kept for kept in given_values if kept not in retracted]
    assert contents.extract() == [value for value, _ in sorted(left, key=lambda kept: (kept[1], kept[0]))]
    assert contents.has_value(Accumulation.ACCUMULATING) is bool(left)
    times = [time for _, time in left]
    assert earliest_and_latest(contents) == (min(times, default=None), max(times, default=None))


@pytest.mark.parametrize(
    "make", [lambda: float("nan"), lambda: (1, float("nan")), lambda: KV("a", [float("nan")])]
)
def test_nan_is_found_when_it_is_retracted(make: Callable[[], object]) -> None:
    """A retraction of NaN, also inside of a value, removes a value with another NaN object."""
    contents = contents_of(ToList(), keeps_values=True)
    for value, weight in ((1.0, 1), (make(), 1), (make(), -1)):
        contents.absorb(value, EventTime(1), weight)
    assert contents.extract() == [1.0]


@given(st.lists(ENTRY, max_size=5), st.lists(ENTRY, max_size=5))
def test_the_order_of_values_and_retractions_does_not_matter(
    given_values: list[Entry], retracted: list[Entry]
) -> None:
    """A retraction that arrives before its value waits for it, also while contents are discarded and merged."""
    first, second = contents_of(ToList(), keeps_values=True), contents_of(ToList(), keeps_values=True)
    for value, time in retracted:
        first.absorb(value, time, -1)
    first = first.after_discard()
    for value, time in given_values:
        second.absorb(value, time, 1)
    first.merge(second)
    left = Counter(value for value, _ in given_values) - Counter(value for value, _ in retracted)
    extracted = first.extract()
    assert isinstance(extracted, list)
    assert Counter(extracted) == left
    assert first.has_value(Accumulation.DISCARDING) is bool(left)


@given(
    st.lists(st.tuples(ENTRY, st.sampled_from((1, -1))), max_size=6).flatmap(
        lambda e: st.tuples(st.just(e), st.permutations(e))
    )
)
def test_contents_are_a_function_of_the_bag(
    orders: tuple[list[tuple[Entry, int]], list[tuple[Entry, int]]],
) -> None:
    """Values and retractions that arrive in another order, or in another window that merges, leave the same."""
    results = []
    for entries in orders:
        both = [contents_of(ToList(), keeps_values=True) for _ in range(2)]
        for number, ((value, time), weight) in enumerate(entries):
            both[number % 2].absorb(value, time, weight)
        both[0].merge(both[1])
        results.append((both[0].extract(), both[0].is_empty, earliest_and_latest(both[0])))
    assert results[0] == results[1]


@given(st.lists(ENTRY), st.lists(ENTRY))
def test_merged_contents_span_the_event_times_of_both(first: list[Entry], second: list[Entry]) -> None:
    """Merged contents span the event times of both, whether values are kept or only their sum."""
    both = contents_of(Count(), keeps_values=False), contents_of(Count(), keeps_values=False)
    for contents, entries in zip(both, (first, second), strict=True):
        for value, time in entries:
            contents.absorb(value, time, 1)
    both[0].merge(both[1])
    times = [time for _, time in first + second]
    assert earliest_and_latest(both[0]) == (min(times, default=None), max(times, default=None))


@pytest.mark.parametrize(("combiner", "has_value"), [(Sum[int](), True), (Count(), True), (Mean(), False)])
def test_only_a_signed_combiner_has_a_value_of_more_retractions(
    combiner: Aggregate[object, object], has_value: bool
) -> None:
    """Contents with more retractions than values have a value only under DISCARDING, for signed combiners."""
    contents = contents_of(combiner, keeps_values=False)
    contents.absorb(3, EventTime(0), -1)
    assert contents.has_value(Accumulation.DISCARDING) is has_value
    assert not contents.has_value(Accumulation.ACCUMULATING)
    assert not contents.has_value(Accumulation.RETRACTING)
