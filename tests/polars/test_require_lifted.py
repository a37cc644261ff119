"""Whether functions may run in Python is an option, and those that do are named in a log."""

from __future__ import annotations

import logging
from datetime import timedelta

import polars as pl
import pytest
from flowalg_polars import batch, streaming
from flowalg_polars.streaming import Frames, StreamInput

from flowalg import BoundedOutOfOrderness, Sum
from flowalg.errors import ArgumentError, UnsupportedError
from tests.support.scores import SCORES, Score

MINUTE = timedelta(minutes=1)


def shout(score: Score) -> str:
    """A function that engines leave to Python."""
    return score.team.swapcase()


LIFTED = SCORES.key_by(lambda score: score.team).map_values(lambda score: score.points).combine_per_key(Sum())
SHOUTED = SCORES.key_by(shout).map_values(lambda score: score.points).combine_per_key(Sum())
ROWS = pl.DataFrame({"team": ["a"], "points": [1], "at": [None]}).cast({"at": pl.Datetime("us", "UTC")})
NAMED = r"require_lifted: key_by\(shout at \S+\): runs in Python: the method swapcase: .*, at shout at \S+\.py:\d+"


def test_a_batch_requires_that_all_functions_are_lifted() -> None:
    """A function that runs in Python is an error that says why; without the option it is not."""
    inputs = {SCORES: ROWS.lazy()}
    assert batch.compile(LIFTED, inputs, require_lifted=True).lifting
    assert batch.compile(SHOUTED, inputs).lifting
    with pytest.raises(UnsupportedError, match=NAMED):
        batch.compile(SHOUTED, inputs, require_lifted=True)
    with pytest.raises(ArgumentError, match="require_lifted must be a bool"):
        batch.compile(SHOUTED, inputs, require_lifted=1)  # type: ignore[call-overload]


def test_a_stream_requires_that_all_functions_are_lifted() -> None:
    """The query of a local stream fails before it reads."""
    inputs = {SCORES: StreamInput(Frames([ROWS]), BoundedOutOfOrderness(MINUTE))}
    with pytest.raises(UnsupportedError, match=NAMED):
        list(streaming.batches(SHOUTED, inputs, require_lifted=True))


def test_functions_in_python_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The log ``flowalg.lifting`` has a line for each function that runs in Python, and none for lifted ones."""

    def quiet(score: Score) -> str:
        return score.team.swapcase()

    with caplog.at_level(logging.INFO, "flowalg.lifting"):
        for _ in range(2):
            batch.compile(SCORES.map(quiet), {SCORES: ROWS.lazy()})
            batch.compile(LIFTED, {SCORES: ROWS.lazy()})
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("map(quiet at ")
    assert "runs in Python: the method swapcase" in line
