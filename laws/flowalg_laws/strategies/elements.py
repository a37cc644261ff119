"""Keyed elements, alone and in bundles: late, early and out of order, in bursts, and more than once."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg_laws.kit.readings import Reading
from flowalg_laws.strategies.cached import kept
from flowalg_laws.strategies.times import MAX_MINUTE, minutes, point


@kept
def keys() -> SearchStrategy[str]:
    """One of two keys."""
    return st.sampled_from("ab")


@kept
def readings(*, keys: str = "ab") -> SearchStrategy[Reading]:
    """Readings whose two times are independent of each other."""
    return st.builds(
        Reading, key=st.sampled_from(keys), value=st.integers(-5, 5), at=minutes(), seen=minutes()
    )


def _reading(parts: tuple[str, int, int]) -> Reading:
    key, value, minute = parts
    return Reading(key, value, point(minute), point(minute))


@kept
def bundles(*, latest: int = MAX_MINUTE) -> SearchStrategy[tuple[Reading, ...]]:
    """What comes together: few readings mostly, sometimes a burst, sometimes each of them twice.

    ``latest`` is the greatest minute at which they happened; if it is small, they meet each other in few windows.
    """
    one = st.tuples(keys(), st.integers(-5, 5), st.integers(0, latest)).map(_reading)
    few = st.lists(one, max_size=3).map(tuple)
    twice = st.lists(one, min_size=1, max_size=2).map(lambda some: (*some, *some))
    burst = st.lists(one, min_size=4, max_size=9).map(tuple)
    return st.one_of(few, few, few, twice, burst)


@kept
def batches(*, most: int = 8) -> SearchStrategy[list[list[Reading]]]:
    """Micro-batches of readings, empty ones among them."""
    return st.lists(st.lists(readings(), max_size=6), max_size=most)


__all__ = ["batches", "bundles", "keys", "readings"]
