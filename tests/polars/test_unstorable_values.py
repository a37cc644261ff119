"""Values that cannot be stored: the local engine's error names the stage and the class.

The tests catch a raw error for a record class that is defined in a function, as in tests and notebooks.
"""

from __future__ import annotations

from datetime import timedelta
from threading import Lock

import polars as pl
import pytest
from attrs import asdict, frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput

from flowalg import BoundedOutOfOrderness, FixedWindows, ToList, combiner
from flowalg.errors import ElementError
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)
WINDOWED = SCORES.key_by(lambda score: score.team).map_values(lambda score: score.points)
STREAM = {
    SCORES: StreamInput(
        Frames([pl.DataFrame([asdict(Score("red", 1, NOON))])]), BoundedOutOfOrderness(MINUTE)
    )
}


def test_a_value_of_a_local_class_names_the_stage() -> None:
    """A combiner of functions receives its values one by one; the error says which class must be defined elsewhere."""

    @frozen
    class Local:
        points: int

    values = WINDOWED.map_values(Local, result=Local).window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    totals = values.combine_per_key(
        combiner(
            zero=0,
            add=lambda total, value: total + value.points,
            merge=lambda one, other: one + other,
            name="total",
            result=int,
        )
    )
    with pytest.raises(
        ElementError,
        match=r"combine_per_key\(total\): a value cannot be stored: .*Local, cannot be found again",
    ):
        list(streaming.batches(totals, STREAM))
    assert list(streaming.batches(values.combine_per_key(ToList()), STREAM)), "a list keeps them in columns"


def test_an_accumulator_with_a_lock_names_the_stage() -> None:
    """An accumulator of a combiner is stored too."""

    @frozen
    class Guarded:
        lock: object = None

    totals = WINDOWED.window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(
        combiner(
            zero=Guarded(),
            add=lambda held, _: Guarded(Lock()),
            merge=lambda one, _: one,
            extract=lambda _: 1,
            name="guarded",
            result=int,
        )
    )
    with pytest.raises(ElementError, match=r"combine_per_key\(.*guarded.*cannot be stored: "):
        list(streaming.batches(totals, STREAM))
