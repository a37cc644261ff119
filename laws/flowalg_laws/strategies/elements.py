"""Keyed elements, alone and in bundles: late, early, out of order, in bursts, and duplicated."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg_laws.kit.readings import Reading
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import MAX_MINUTE, minutes, point


@cached
def keys() -> SearchStrategy[str]:
    """One of two keys."""
    return st.sampled_from("ab")


@cached
def readings(*, keys: str = "ab") -> SearchStrategy[Reading]:
    """Readings with independent event and processing times."""
    return st.builds(
        Reading, key=st.sampled_from(keys), value=st.integers(-5, 5), at=minutes(), seen=minutes()
    )


def _reading(parts: tuple[str, int, int]) -> Reading:
    key, value, minute = parts
    return Reading(key, value, point(minute), point(minute))


@cached
def bundles(*, latest: int = MAX_MINUTE) -> SearchStrategy[tuple[Reading, ...]]:
    """Bundles of elements: mostly small, sometimes a burst, sometimes with duplicates.

    ``latest`` is the greatest minute of their event times; if it is small, many elements share a window.
    """
    reading = st.tuples(keys(), st.integers(-5, 5), st.integers(0, latest)).map(_reading)
    few = st.lists(reading, max_size=3).map(tuple)
    twice = st.lists(reading, min_size=1, max_size=2).map(lambda bundle: (*bundle, *bundle))
    burst = st.lists(reading, min_size=4, max_size=9).map(tuple)
    return st.one_of(few, few, few, twice, burst)


@cached
def batches(*, most: int = 8) -> SearchStrategy[list[list[Reading]]]:
    """Micro-batches of readings, some of them empty."""
    return st.lists(st.lists(readings(), max_size=6), max_size=most)
