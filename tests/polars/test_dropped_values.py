"""The combined value of dropped elements, which may not exist: no error, since it is in no pane.

These tests catch a stream that late elements end: the sum of two that were dropped did not fit in 64 bits.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import polars as pl
import pytest
from attrs import frozen
from flowalg_columns.tables import record_table
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_polars import PolarsStreaming, streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_reference import Reference

from flowalg import (
    KV,
    Accumulation,
    Aggregate,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Mean,
    Mode,
    PCollection,
    Sum,
    Timeline,
)
from flowalg.combiners import Combiner, together
from flowalg.pipeline.joins import JoinKind

MINUTE = timedelta(minutes=1)
LARGE = 2**62
BATCHES = (
    [Reading("a", 1, START + 20 * MINUTE, START)],
    [Reading(key, value, START, START) for key, value in (("a", 2), ("a", 1), ("b", 3), ("c", 4))],
)
"""An element, and late ones: two of a key that is on both sides of a join, and one of each of two others."""
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


@pytest.mark.parametrize("kind", [kind for kind in JoinKind if kind is not JoinKind.EXCEPT])
@pytest.mark.parametrize("mode", [Accumulation.DISCARDING, Accumulation.RETRACTING])
def test_values_that_a_join_drops_are_shown(kind: JoinKind, mode: Accumulation) -> None:
    """Those of both sides, each once: also one that was dropped alone, which is in no pair of an inner join."""

    def side(key: str) -> PCollection[KV[str, int]]:
        chosen = VALUES.filter(lambda pair: pair.key in ("a", key))
        trigger = AtWatermark() if mode is Accumulation.DISCARDING else AtWatermark().repeat()
        return chosen.window(
            FixedWindows(MINUTE), trigger=trigger, accumulation=mode, allowed_lateness=timedelta(0)
        )

    join = getattr(side("b"), kind.value)
    timeline = Frames([pl.DataFrame(record_table(READINGS, elements)) for elements in BATCHES])
    batches = streaming.batches(
        join(side("c")), {READINGS: StreamInput(timeline, BoundedOutOfOrderness(MINUTE))}
    )
    drops = [fields["drop"] for batch in batches for fields in batch.drop_fields]
    shown = {drop["key"]: (drop["count"], drop["value"]) for drop in drops if isinstance(drop, dict)}
    assert shown == {
        '"a"': (4, "[[1,2],[1,2]]"),
        '"b"': (1, "[[3],[]]"),
        '"c"': (1, "[[],[4]]"),
    }
