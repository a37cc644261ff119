"""Pairs: records that unpack, and that otherwise do not behave as tuples."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError
from flowalg_reference import run_batch

from flowalg import KV, FixedWindows, Sum, explain
from flowalg.data.hashing import canonical_bytes
from flowalg.data.shapes import INTEGER, TEXT, kv_of, shape_of
from tests.support.scores import SCORES, Score, minute

PAIR = KV("red", 3)


def points_of(pair: KV[str, Score]) -> KV[str, int]:
    """Returns the pair of a team and its points; it unpacks a pair, so it cannot be lifted to a column."""
    team, score = pair
    return KV(team, score.points)


def test_a_pair_unpacks_into_its_key_and_its_value() -> None:
    """A pair unpacks in an assignment, in a loop, as arguments, and into a dict."""
    key, value = PAIR
    assert (key, value) == ("red", 3)
    assert [(k, v) for k, v in [PAIR]] == [("red", 3)]
    assert max(*PAIR, key=str) == "red"
    assert dict([PAIR]) == {"red": 3}


def test_a_pair_is_not_a_tuple() -> None:
    """A pair does not equal a tuple, is not an instance of one, and cannot be indexed, measured or ordered."""
    other: object = ("red", 3)
    assert other != PAIR
    assert other != PAIR
    assert not isinstance(PAIR, tuple)
    for use in (lambda: PAIR[0], lambda: len(PAIR), lambda: PAIR < PAIR):
        with pytest.raises(TypeError):
            use()


def test_a_pair_is_a_frozen_record() -> None:
    """A pair cannot be changed, is hashed by its fields, and has the shape and the canonical bytes of a record."""
    with pytest.raises(FrozenInstanceError):
        PAIR.key = "blue"  # type: ignore[misc]  # the error under test
    assert {PAIR: 1}[KV("red", 3)] == 1
    assert not hasattr(PAIR, "__dict__")
    assert pickle.loads(pickle.dumps(PAIR)) == PAIR
    assert evolve(PAIR, value=4) == KV("red", 4)  # type: ignore[misc]  # to mypy a pair is a tuple
    assert shape_of(KV[str, int]) == kv_of(TEXT, INTEGER)
    assert canonical_bytes(PAIR, "it") != canonical_bytes(("red", 3), "it")


def test_a_function_that_unpacks_a_pair_runs_in_python() -> None:
    """A function that unpacks a pair gives the same results; ``explain`` shows that it is not lifted."""
    scores = [Score("red", 3, minute(0)), Score("red", 4, minute(0)), Score("blue", 5, minute(0))]
    keyed = SCORES.window(FixedWindows(timedelta(minutes=1))).key_by(lambda score: score.team)
    unpacked = keyed.map(points_of, result=KV[str, int])
    fields = keyed.map(lambda pair: KV(pair.key, pair.value.points))
    results = [
        run_batch(pairs.combine_per_key(Sum()), {SCORES: scores}, time=minute(9)).panes
        for pairs in (unpacked, fields)
    ]
    assert results[0] == results[1]
    assert sorted((key, value) for key, value in (pane.element for pane in results[0])) == [
        ("blue", 5),
        ("red", 7),
    ]
    assert "points_of" in explain(unpacked)
