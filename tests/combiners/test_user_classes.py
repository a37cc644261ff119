"""Combiners that users write as classes: an error of one of their methods names the step, the method and its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import ClassVar, cast

import pytest
from attrs import frozen
from flowalg_laws.kit.readings import START, Reading
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch
from flowalg_spark import SparkBatch
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from flowalg import (
    Accumulation,
    Aggregate,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Mode,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
)
from flowalg.combiners import Combiner, Group, together
from flowalg.combiners.core import AnyCombiner
from flowalg.combiners.named_errors import with_named_errors
from flowalg.errors import UnsupportedError, UserFunctionError
from flowalg.triggers import AtValue
from flowalg.windows import OnTimeBehavior

READINGS = Source("readings", Reading, event_time=lambda reading: reading.at)
MINUTE = timedelta(minutes=1)
VALUES = READINGS.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
ENGINES = (Reference(mode=Mode.MICRO_BATCH), PolarsStreaming(), ReferenceBatch(), PolarsBatch())
"""A reference and an engine of each kind."""


@frozen
class Checked(Combiner[int, int, int]):
    """A sum, one method of which raises."""

    fails: str = ""

    def zero(self) -> int:
        """Returns zero."""
        return self._pass("zero", 0)

    def add(self, accumulator: int, value: int) -> int:
        """Returns the sum."""
        return self._pass("add", accumulator + value)

    def merge(self, left: int, right: int) -> int:
        """Returns the sum."""
        return self._pass("merge", left + right)

    def extract(self, accumulator: int) -> int:
        """Returns the sum."""
        return self._pass("extract", accumulator)

    def discard(self, accumulator: int) -> int:
        """Returns zero."""
        return self._pass("discard", 0)

    def _pass(self, method: str, value: int) -> int:
        if method == self.fails:
            raise LookupError(f"no {method}")
        return value


@frozen
class CheckedGroup(Checked, Group[int, int, int]):
    """A sum that can subtract."""

    is_signed: ClassVar[bool] = True

    def subtract(self, accumulator: int, value: int) -> int:
        """Returns the difference."""
        return self._pass("subtract", accumulator - value)


@frozen
class NeverNegative(CheckedGroup):
    """A sum that can subtract, without a meaning below zero."""

    is_signed: ClassVar[bool] = False


@frozen
class Latest(Combiner[int, tuple[int, int], int]):
    """The value with the latest event time, which it reads itself."""

    @property
    def is_ordered(self) -> bool:
        """The last value depends on the order."""
        return True

    @property
    def has_empty_result(self) -> bool:
        """There is one."""
        return True

    def zero(self) -> tuple[int, int]:
        """Returns no value."""
        return (-1, 0)

    def add(self, accumulator: tuple[int, int], value: int) -> tuple[int, int]:
        """Returns the greater value."""
        return max(accumulator, (-1, value))

    def merge(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        """Returns the later value."""
        return max(left, right)

    def extract(self, accumulator: tuple[int, int]) -> int:
        """Returns the value."""
        return accumulator[1]

    def add_timed(self, accumulator: tuple[int, int], timed: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Returns the last value."""
        return max(timed, default=accumulator)


def summed(combined: Aggregate[int, int], accumulation: Accumulation) -> PCollection[object]:
    """The combined values of sessions, with a pane after each element."""
    sessions = VALUES.window(
        Sessions(MINUTE), trigger=Repeat(AtCount(1)), accumulation=accumulation, allowed_lateness=MINUTE
    )
    return sessions.combine_per_key(combined)


def corrected(combined: Aggregate[int, int]) -> PCollection[object]:
    """The combined sums of minutes, which are retracted when they change."""
    minutes = VALUES.window(
        FixedWindows(MINUTE),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=MINUTE,
    )
    return minutes.combine_per_key(Sum()).combine_per_key(combined)


def triggered(combined: Aggregate[int, int]) -> PCollection[object]:
    """Counts of minutes; a trigger combines the values."""
    minutes = VALUES.window(
        FixedWindows(MINUTE), trigger=AtValue(combined, lambda total: total > 99), allowed_lateness=MINUTE
    )
    return minutes.combine_per_key(Count())


JOBS: dict[str, Callable[[Aggregate[int, int]], PCollection[object]]] = {
    "accumulating": lambda combined: summed(combined, Accumulation.ACCUMULATING),
    "discarding": lambda combined: summed(combined, Accumulation.DISCARDING),
    "corrected": corrected,
    "product": lambda combined: VALUES.window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(
        Count(), combined
    ),
    "triggered": triggered,
}
"""Pipelines with a combiner, by name."""

IN_BATCHES = ("zero", "add", "extract")
IN_STREAMS = {
    "accumulating": (*IN_BATCHES, "merge"),
    "discarding": (*IN_BATCHES, "merge", "discard"),
    "corrected": (*IN_BATCHES, "subtract"),
    "product": IN_BATCHES,
    "triggered": (*IN_BATCHES, "merge"),
}
"""The methods that a stream calls for the timeline below, whichever way an engine divides the values."""

TIMELINE = (
    Timeline[Reading]()
    .at(START, Reading("a", 1, START, START))
    .at(START, Reading("a", 2, START + MINUTE * 1.5, START))
    .at(START, Reading("a", 4, START + MINUTE * 0.75, START))
    .end(START + 3 * MINUTE)
)
"""Two sessions that the third element merges, in two minutes."""


def error_of(engine: Reference | ReferenceBatch | PolarsBatch | PolarsStreaming, job: str, fails: str) -> str:
    """Returns the message of the error that ends a run."""
    with pytest.raises(UserFunctionError) as error:
        engine.run(JOBS[job](CheckedGroup(fails)), {READINGS: TIMELINE})
    assert isinstance(error.value.__cause__, LookupError)
    return str(error.value)


@pytest.mark.parametrize(
    ("job", "method"), [(job, method) for job, those in IN_STREAMS.items() for method in those]
)
def test_an_error_of_a_method_names_the_step_the_method_and_its_argument(job: str, method: str) -> None:
    """The reference and the local engine raise errors that name all three, in streams and batches."""
    engines = ENGINES if job != "triggered" and method in IN_BATCHES else ENGINES[:2]
    for engine in engines:
        named = rf"combine_per_key\(.*\): .*CheckedGroup\.{method}: {method} at .*test_user_classes.py:\d+ "
        raised = rf"raised LookupError: .*no {method}.*; its argument was .+"
        assert re.search(named + raised, error_of(engine, job, method))


@pytest.mark.parametrize("engine", ENGINES[:2], ids=str)
@pytest.mark.parametrize("signed", [True, False])
def test_a_group_with_a_meaning_below_zero_has_a_result_of_nothing(
    engine: Reference | PolarsStreaming, signed: bool
) -> None:
    """So ``ALWAYS`` emits an empty discarding pane of it, as of a sum, and none of another group."""
    group = CheckedGroup() if signed else NeverNegative()
    windowed = VALUES.window(
        FixedWindows(MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
        on_time_behavior=OnTimeBehavior.ALWAYS,
        allowed_lateness=MINUTE,
    )
    timeline = (
        Timeline[Reading]().at(START, Reading("a", 5, START, START)).at(START, watermark=START + MINUTE)
    )
    panes = engine.run(windowed.combine_per_key(group), {READINGS: timeline}).panes
    assert group.has_empty_result is signed
    assert [pane.value for pane in panes] == ([5, 0] if signed else [5])


def test_a_combiner_without_a_class_of_a_user_is_itself() -> None:
    """What it caches for its messages stays: a trigger asks for each element."""
    of_sizes: Aggregate[int, int] = Sum.of(abs)
    several: Aggregate[int, int] = together(of_sizes, Count(), into=max)
    for combiner in (cast("AnyCombiner", of_sizes), cast("AnyCombiner", several)):
        assert with_named_errors(combiner) is combiner


@given(values=st.lists(st.integers(-9, 9)), added=st.integers(-9, 9))
def test_a_combiner_with_named_errors_is_the_same_combiner(values: list[int], added: int) -> None:
    """Every method and property is that of the class of the user."""
    for combiner in (Checked(), CheckedGroup(), Latest()):
        original = cast("AnyCombiner", combiner)
        named = with_named_errors(original)
        timed = list(enumerate(values))
        total = named.add_timed(named.zero(), timed)
        assert total == original.add_timed(original.zero(), timed)
        assert named.add(total, added) == original.add(total, added)
        assert named.merge(total, total) == original.merge(total, total)
        assert named.discard(total) == original.discard(total)
        assert named.extract(total) == original.extract(total)
        assert isinstance(named, Group) == isinstance(original, Group)
        for name in ("is_ordered", "has_empty_result", "title", "is_signed"):
            assert getattr(named, name, None) == getattr(original, name, None)


def in_one_number(latest: int, count: int) -> int:
    """Returns two small numbers as one."""
    return 10 * latest + count


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_product_adds_values_as_its_parts_do(
    engine: Reference | ReferenceBatch | PolarsBatch | PolarsStreaming,
) -> None:
    """Several combiners at once give each part the event times of its values, also under a function of the result."""
    windowed = VALUES.window(GlobalWindows())
    nested = together(together(Latest(), Count(), into=in_one_number), Sum())
    alone = engine.run(windowed.combine_per_key(Latest()), {READINGS: TIMELINE}).panes
    at_once = engine.run(windowed.combine_per_key(Latest(), Count()), {READINGS: TIMELINE}).panes
    within = engine.run(windowed.combine_per_key(nested), {READINGS: TIMELINE}).panes
    assert [pane.value for pane in alone] == [2]
    assert [pane.value for pane in at_once] == [(2, 3)]
    assert [pane.value for pane in within] == [(23, 7)]


@pytest.mark.spark
def test_a_batch_of_spark_adds_values_with_their_event_times(spark: SparkSession) -> None:
    """A combiner that reads event times receives them on Spark too, alone and among others."""
    windowed = VALUES.window(GlobalWindows())
    pipeline = windowed.combine_per_key(Latest(), Count())
    run = SparkBatch(spark).run(pipeline, {READINGS: TIMELINE})
    assert [pane.value for pane in run.panes] == [(2, 3)]


class Unannotated(Combiner[int, int, int]):
    """A sum whose result is not annotated."""

    def zero(self):  # type: ignore[no-untyped-def]
        """Returns zero."""
        return 0

    def add(self, accumulator, value):  # type: ignore[no-untyped-def]
        """Returns the sum."""
        return accumulator + value

    def merge(self, left, right):  # type: ignore[no-untyped-def]
        """Returns the sum."""
        return left + right

    def extract(self, accumulator):  # type: ignore[no-untyped-def]
        """Returns the sum."""
        return accumulator


def test_a_class_without_annotations_says_which_is_missing() -> None:
    """An engine with columns needs the type of the result, and names the method that lacks it."""
    with pytest.raises(UnsupportedError, match=r"is unknown; annotate the result of Unannotated\.extract$"):
        PolarsBatch().run(VALUES.combine_per_key(Unannotated()), {READINGS: Timeline.batch([], time=START)})
