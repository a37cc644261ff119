"""Errors in a grouping that belong to no element fail a run of every interpreter, with dead letters too.

These tests catch an error that is lost, that is taken for a bad record, or whose message does not name the part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Never

import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    FOREVER,
    KV,
    EventTime,
    Interpreter,
    PCollection,
    Repeat,
    Sum,
    Timeline,
    Window,
    combiner,
)
from flowalg.errors import UserFunctionError
from flowalg.triggers import EVERY_INSTANT, AtElement, AtMeasure, AtValue, CustomTrigger, OnceTrigger
from flowalg.windows import CustomWindows, WindowFn, WindowsByValue
from tests.support.elements import bounded
from tests.support.scores import NOON, POINTS, SCORES, Score

MINUTE = timedelta(minutes=1)
STREAMS: tuple[Interpreter, ...] = (Reference(dead_letters=True), PolarsStreaming(dead_letters=True))
ALL: tuple[Interpreter, ...] = (*STREAMS, ReferenceBatch(dead_letters=True), PolarsBatch(dead_letters=True))


def fails(*_: object) -> Never:
    """Raises."""
    raise LookupError("no answer")


def add(left: int, right: int) -> int:
    """Adds two numbers."""
    return left + right


def minutes(time: EventTime, key: object) -> list[Window]:
    """Returns the minute from an event time on."""
    return [Window(time, EventTime(time + 60_000_000))]


MINUTES = CustomWindows("minutes", minutes, lambda windows: [list(windows)])
WINDOWED = POINTS.window(MINUTES, allowed_lateness=FOREVER)


def total(
    merge: Callable[[int, int], int] = add, extract: Callable[[int], int] | None = None
) -> PCollection[KV[str, int]]:
    """Returns sums by a user-defined combiner."""
    of_points = combiner(zero=0, add=add, merge=merge, extract=extract or int, name="total", result=int)
    return WINDOWED.combine_per_key(of_points)


def triggered(trigger: OnceTrigger) -> PCollection[KV[str, int]]:
    """Returns sums with a trigger."""
    return POINTS.window(MINUTES, trigger=Repeat(trigger), allowed_lateness=FOREVER).combine_per_key(Sum())


def custom(**functions: object) -> OnceTrigger:
    """Returns a user-defined trigger with some functions."""
    defaults: dict[str, object] = {"zero": 0, "add": add, "merge": add, "ready": lambda total: total > 9}
    return CustomTrigger(**{**defaults, **functions})  # type: ignore[call-overload,no-any-return]  # the functions vary


KEY = r"; the key of the group is '[ab]' \(str\)"
WINDOW = r", its window \[2024-01-01T12:0"
FAILING_MERGE = POINTS.window(CustomWindows("minutes", minutes, fails), allowed_lateness=FOREVER)
RECORDS = [Score("a", 1, NOON), Score("a", 2, NOON + timedelta(seconds=30)), Score("b", 4, NOON)]


@pytest.mark.parametrize(("bad", "key"), [(3, "a"), (4, "b")])
def test_the_error_is_that_of_the_group_that_raised(bad: int, key: str) -> None:
    """The key and the window are those of the group with the result on which the function raises."""

    def extract(total: int) -> int:
        if total == bad:
            fails()
        return total

    timeline = Timeline[Score]().at(NOON, *RECORDS).end(NOON + 9 * MINUTE)
    for engine in ALL:
        with pytest.raises(UserFunctionError, match=rf"group is '{key}' \(str\), its window \["):
            engine.run(total(extract=extract), {SCORES: timeline})


@pytest.mark.parametrize(
    ("pipeline", "part", "engines"),
    [
        (total(extract=fails), "total.extract", ALL),
        (total(merge=fails), "total.merge", STREAMS[1:]),
        (FAILING_MERGE.combine_per_key(Sum()), "minutes.merge", ALL[:-1]),
        (triggered(AtValue(Sum(), fails)), "AtValue.predicate", STREAMS),
        (triggered(custom(ready=fails)), "CustomTrigger.ready", STREAMS),
        (triggered(custom(merge=fails)), "CustomTrigger.merge", STREAMS),
        (triggered(custom(ready=lambda total, clocks: True, due=fails)), "CustomTrigger.due", STREAMS),
        (triggered(custom(ready=fails, due=EVERY_INSTANT)), "CustomTrigger.ready", STREAMS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_of_no_element_fails_the_run(
    pipeline: PCollection[KV[str, int]], part: str, engines: Iterable[Interpreter]
) -> None:
    """The error names the transform, the part, the function, and the group: its key, and its window if it is known."""
    timeline = Timeline[Score]().at(NOON, RECORDS[0]).at(NOON + MINUTE, *RECORDS[1:]).end(NOON + 9 * MINUTE)
    label = rf"combine_per_key\((total|Sum)\): {re.escape(part)}: fails at .*test_grouping_errors.py:\d+ "
    for engine in engines:
        with pytest.raises(UserFunctionError, match=f"{label}raised LookupError: no answer") as caught:
            engine.run(pipeline, {SCORES: timeline})
        assert re.search(KEY if part == "minutes.merge" else KEY + WINDOW, str(caught.value))


@pytest.mark.parametrize("windows", [CustomWindows("odd", fails), WindowsByValue("odd", fails)], ids=str)
def test_windows_that_cannot_be_assigned_are_the_error_of_their_grouping(windows: WindowFn) -> None:
    """The error names the grouping, the windows and the function, in batches too; the element is its argument."""
    pipeline = POINTS.window(windows, allowed_lateness=FOREVER).combine_per_key(Sum())
    timeline = Timeline[Score]().at(NOON, *RECORDS).end(NOON + 9 * MINUTE)
    for engine in (Reference(), PolarsStreaming(), ReferenceBatch(), PolarsBatch()):
        with pytest.raises(
            UserFunctionError, match=r"^combine_per_key\(Sum\): odd.assign: fails at .* raised Look"
        ):
            engine.run(pipeline, {SCORES: timeline})


OF_ONE_ELEMENT: dict[str, OnceTrigger] = {
    "measure": AtMeasure(fails, 5),
    "type": AtMeasure(lambda n: "many", 5),  # type: ignore[arg-type,return-value]
    "element": AtElement(fails),
    "combiner": AtValue(combiner(zero=0, add=fails, merge=add, extract=int, name="total"), lambda n: True),
    "summary": custom(add=fails),
}
OF_THE_REST: dict[str, OnceTrigger] = {
    "predicate": AtValue(Sum(), fails),
    "ready": custom(ready=fails),
    "merge": custom(merge=fails),
    "due": custom(ready=lambda total, clocks: True, due=fails),
}


@pytest.mark.parametrize("name", [*OF_ONE_ELEMENT, *OF_THE_REST])
def test_a_batch_evaluates_no_trigger(name: str) -> None:
    """A trigger that fails changes no batch; with dead letters the elements that it cannot take are bad records."""
    pipeline = triggered((OF_ONE_ELEMENT | OF_THE_REST)[name])
    inputs = {SCORES: bounded(*RECORDS)}
    expected = ReferenceBatch().run(WINDOWED.combine_per_key(Sum()), inputs).panes
    batches: tuple[Interpreter, ...] = (ReferenceBatch(), PolarsBatch())
    letters: tuple[Interpreter, ...] = ALL[2:]
    for engine in batches if name in OF_ONE_ELEMENT else letters:
        assert engine.run(pipeline, inputs).panes == expected
        assert engine.run({"sums": pipeline}, inputs)["sums"].panes == expected
    runs = [engine.run(pipeline, inputs) for engine in letters]
    assert runs[0].bad_records == runs[1].bad_records
    assert len(runs[0].bad_records) == (len(RECORDS) if name in OF_ONE_ELEMENT else 0)
