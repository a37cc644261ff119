"""The combined value of dropped elements, which may not exist: no error, since it is in no pane.

These tests catch a stream that late elements end: the sum of two that were dropped did not fit in 64 bits.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from attrs import frozen
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference

from flowalg import KV, Aggregate, Count, FixedWindows, Mean, Mode, PCollection, Sum, Timeline
from flowalg.combiners import Combiner, together

MINUTE = timedelta(minutes=1)
LARGE = 2**62
TIMELINE = (
    Timeline[Reading]()
    .at(START, Reading("a", 1, START + 20 * MINUTE, START), watermark=START + 10 * MINUTE)
    .at(
        START,
        *(Reading("a", LARGE, START, START) for _ in range(2)),
        *(Reading(key, 5, START, START) for key in "bcd"),
    )
    .end(START + MINUTE)
)
"""Two late elements of a key, whose sum needs 64 bits and a sign, and one of each of three others."""


@frozen
class One(Combiner[int, tuple[int, ...], int]):
    """The only value."""

    def zero(self) -> tuple[int, ...]:
        """Returns no values."""
        return ()

    def add(self, accumulator: tuple[int, ...], value: int) -> tuple[int, ...]:
        """Returns the values with one more."""
        return (*accumulator, value)

    def merge(self, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the values of both."""
        return (*left, *right)

    def extract(self, accumulator: tuple[int, ...]) -> int:
        """Returns the value, or raises."""
        (value,) = accumulator
        return value


def twenty_times(value: int) -> Decimal:
    """Returns a decimal, whose sum of two does not fit."""
    return Decimal(value) * 20


def combined(combiner: Aggregate[int, object]) -> PCollection[KV[str, object]]:
    """Returns the results of a combiner in minutes."""
    return VALUES.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0)).combine_per_key(combiner)


COMBINERS: dict[str, Aggregate[int, object]] = {
    "sum": Sum(),
    "mean": Mean(),
    "several": together(Count(), Sum()),
    "decimals": Sum.of(twenty_times),
    "class": One(),
}


@pytest.mark.parametrize("name", COMBINERS)
def test_dropped_elements_without_a_combined_value_are_dropped(name: str) -> None:
    """The run has the panes and the drops of the reference."""
    pipeline = combined(COMBINERS[name])
    expected = Reference(Mode.MICRO_BATCH).run(pipeline, {READINGS: TIMELINE})
    run = PolarsStreaming().run(pipeline, {READINGS: TIMELINE})
    assert run.panes == expected.panes
    assert sum(drop.count for drop in run.dropped) == len(expected.dropped) == 5
