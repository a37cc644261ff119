"""Errors that user functions raise, and values, that cannot be shown: the message names the step all the same.

The tests catch a message that calls ``str`` or ``repr`` of a user's class, which may raise or be very long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import flowalg_reference as reference
import polars as pl
import pytest
from attrs import asdict
from flowalg_laws.kit.readings import START, Reading
from flowalg_polars import batch

from flowalg import FlowalgError, Source, Timeline, errors
from flowalg.data.errors import format_value
from flowalg.errors import UserFunctionError
from flowalg.runs import BadRecord

READINGS = Source("readings", Reading, event_time=lambda reading: reading.seen)
RECORD = Reading("a", 1, START, START + timedelta(minutes=1))


class SilentError(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        """Raises."""
        raise RuntimeError("no text")


class Shy:
    """A value without a text."""

    def __repr__(self) -> str:
        """Raises."""
        raise ValueError("no text")


def fail_silently(reading: Reading) -> bool:
    """Raises an error without a text."""
    raise SilentError


def fail_at_length(reading: Reading) -> bool:
    """Raises an error with a long text."""
    raise ValueError("x" * 5_000_000)


@pytest.mark.parametrize(
    ("fail", "raised"),
    [
        (fail_silently, "SilentError: an error whose text raises RuntimeError; its argument was Reading"),
        (fail_at_length, "ValueError: xxx"),
    ],
)
def test_an_error_that_cannot_be_shown_names_the_step(fail: Callable[[Reading], bool], raised: str) -> None:
    """On the reference and the local engine, as an error and as a bad record."""
    pipeline = READINGS.filter(fail)
    frame = pl.DataFrame([asdict(RECORD)])
    timeline = Timeline.batch([RECORD], time=START)

    def run_reference(dead_letters: bool) -> Sequence[BadRecord]:
        engine = reference.ReferenceBatch(dead_letters=dead_letters)
        return engine.run(pipeline, {READINGS: timeline}).bad_records

    def run_batch(dead_letters: bool) -> Sequence[BadRecord]:
        return batch.run(pipeline, {READINGS: frame}, dead_letters=dead_letters).bad_records

    for run in (run_reference, run_batch):
        with pytest.raises(UserFunctionError, match=rf"filter\({fail.__name__}.*raised {raised}") as error:
            run(False)
        (bad,) = run(True)
        for message in (str(error.value), bad.error):
            assert f"raised {raised}" in message
            assert len(message) < 20_000


def test_a_value_that_cannot_be_shown_has_a_type() -> None:
    """A message shows the class of a value whose ``repr`` raises."""
    assert format_value(Shy()) == "a value whose repr raises ValueError (Shy)"


def test_every_public_error_is_a_flowalg_error_and_a_built_in_one() -> None:
    """All public errors are ``FlowalgError``, and each is also the built-in error of its kind."""
    public = [vars(errors)[name] for name in errors.__all__]
    kinds = {
        error.__name__: [base.__name__ for base in error.__bases__ if base is not FlowalgError]
        for error in public
        if error is not FlowalgError
    }
    assert all(issubclass(error, FlowalgError) for error in public)
    assert kinds == {
        "ArgumentError": ["ValueError"],
        "CheckpointError": ["RuntimeError"],
        "DocumentError": ["ValueError"],
        "ElementError": ["ValueError"],
        "KeyedCollectionError": ["TypeError"],
        "MissingExtraError": ["ImportError"],
        "NotWritableError": ["TypeError"],
        "RecordTypeError": ["TypeError"],
        "SchemaMismatchError": ["TypeError"],
        "UnboundSourceError": ["KeyError"],
        "UnsupportedError": ["NotImplementedError"],
        "UserFunctionError": ["RuntimeError"],
        "ValueRangeError": ["ArithmeticError"],
    }
