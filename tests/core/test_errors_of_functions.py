"""Errors of flowalg that a user's function raises: they keep their class, and the message names the step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from flowalg_laws.kit.readings import START, Reading
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    KV,
    Computation,
    FixedWindows,
    FlowalgError,
    Mode,
    PCollection,
    Source,
    Sum,
    Timeline,
    combiner,
)
from flowalg.computations import Clocks, Observed, Transition
from flowalg.errors import ArgumentError, ElementError, ValueRangeError
from flowalg.triggers import AtValue

READINGS = Source("readings", Reading, event_time=lambda reading: reading.seen)


class OwnError(FlowalgError):
    """An error of a user's class, which has a constructor of its own and an attribute."""

    def __init__(self, left: int, right: int) -> None:
        """Describes both."""
        super().__init__(f"{left} and {right}")
        self.right = right


RAISED: dict[str, Callable[[], FlowalgError]] = {
    "argument": lambda: ArgumentError("size", 1, "a str"),
    "own": lambda: OwnError(1, 2),
    "range": lambda: ValueRangeError("too large"),
}
"""Errors of flowalg that a user's function raises, by name."""


def raise_for(name: str) -> bool:
    """Raises one of these errors."""
    raise RAISED[name]()


def key_of(reading: Reading) -> str:
    """Raises the error that the key names."""
    raise_for(reading.key)
    return reading.key


def value_of(reading: Reading) -> int:
    """Returns the value."""
    return reading.value


def measure(pair: KV[str, int]) -> int:
    """Raises the error that the key names."""
    raise_for(pair.key)
    return pair.value


def observe(state: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Raises the error that the key names."""
    raise_for(seen.key)
    return Transition(state)


def add_text(total: str, value: str) -> str:
    """Raises the error that the value names, also when two totals are merged."""
    raise_for(value or total)
    return total


def extract_text(total: str) -> str:
    """Raises the error that the total names."""
    raise_for(total)
    return total


def join_texts(left: str, right: str) -> str:
    """Returns the longer of two texts."""
    return max(left, right)


def has_text(total: str) -> bool:
    """Raises the error that a total names."""
    return raise_for(total)


KEYED = READINGS.key_by(lambda reading: reading.key).map_values(value_of)
TEXTS = READINGS.key_by(lambda reading: reading.value).map_values(lambda reading: reading.key)
TEXTS_BY_MINUTE = TEXTS.window(FixedWindows(timedelta(minutes=1)), allowed_lateness=timedelta(0))
LONGEST = combiner(zero="", add=join_texts, merge=join_texts, name="longest")

STEPS: dict[str, PCollection[object]] = {
    "map": KEYED.map(measure),
    "key_by": READINGS.key_by(key_of),
    "process": KEYED.process(Computation(initial=0, on_element=observe, name="observing")),
    "extract": TEXTS_BY_MINUTE.combine_per_key(
        combiner(zero="", add=join_texts, merge=join_texts, extract=extract_text, name="extracting")
    ),
    "add": TEXTS_BY_MINUTE.combine_per_key(combiner(zero="", add=add_text, merge=join_texts, name="adding")),
    "of": TEXTS_BY_MINUTE.combine_per_key(Sum().of(lambda text: int(raise_for(text)))),
}
"""Pipelines by the step that raises."""


@pytest.mark.parametrize("name", RAISED)
@pytest.mark.parametrize("step", STEPS)
def test_an_error_of_flowalg_keeps_its_class_and_names_the_step(step: str, name: str) -> None:
    """The same message on all engines, with the class and attributes of the error; a computation is invalid."""
    record = Reading(name, 1, START, START + timedelta(minutes=1))
    expected = type(RAISED[name]())
    timelines = {READINGS: Timeline.batch([record], time=START + timedelta(minutes=2))}
    engines = (Reference(mode=Mode.MICRO_BATCH), PolarsStreaming(), ReferenceBatch(), PolarsBatch())
    for engine in engines:
        with pytest.raises(
            FlowalgError, match=step if step in ("map", "key_by") else "process|combine|Sum"
        ) as error:
            engine.run(STEPS[step], timelines)
        assert f"raised {expected.__name__}: " in str(error.value) or step == "process"
        assert type(error.value) is (ElementError if step == "process" else expected)
        assert step == "process" or expected is not OwnError or getattr(error.value, "right", None) == 2


def test_an_error_of_flowalg_in_a_trigger_keeps_its_class_and_names_the_step() -> None:
    """A predicate sees a group, so the message has the key and the window too, in streams."""
    record = Reading("own", 1, START, START + timedelta(minutes=1))
    strategy = TEXTS.window(
        FixedWindows(timedelta(minutes=1)), trigger=AtValue(LONGEST, has_text), allowed_lateness=timedelta(0)
    )
    timelines = {READINGS: Timeline[Reading]().at(START, record).end(START + timedelta(hours=1))}
    for engine in (Reference(mode=Mode.MICRO_BATCH), PolarsStreaming()):
        with pytest.raises(
            OwnError, match=r"combine_per_key.*AtValue.*raised OwnError.*the group is 1 .*window"
        ):
            engine.run(strategy.combine_per_key(LONGEST), timelines)
