"""Keeping bad rows apart: flags find the rows that Python, which computes all of them, finds bad, and only these."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from enum import Enum
from typing import cast

import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import batch
from flowalg_polars.lowering import sifting
from flowalg_polars.lowering.binding import bind_source
from flowalg_polars.lowering.programs import compile_steps
from flowalg_polars.lowering.python_steps import PythonPass, frame_schema
from flowalg_polars.lowering.sections import Sifted, sift
from flowalg_polars.lowering.sifting import sift_source, stored_records
from flowalg_polars.meta import ELEMENT_META
from flowalg_shard.tables.columns import EVENT_TIME
from hypothesis import given
from hypothesis import strategies as st

from flowalg import KV, Count, FixedWindows, Source, Sum
from flowalg.data.shapes import Shape
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.pipeline.nodes import ElementWise, SourceNode
from flowalg.runs import BadRecord
from flowalg.runs.elements import ArrivalOf, Element, at_any_time, read_or_reject
from tests.support.failing_steps import READINGS, STEPS, Reading
from tests.support.scores import NOON, SCORES

ROWS = 40_000


CHAINS = {name: cast("ElementWise", make(READINGS).node).steps for name, make in STEPS.items()}
SHAPE = cast("SourceNode", READINGS.node).shape


def rows_of(readings: list[Reading]) -> pl.DataFrame:
    """Returns elements at one event time."""
    columns = [
        [r.text for r in readings],
        [r.n for r in readings],
        [r.m for r in readings],
        [0] * len(readings),
    ]
    return pl.DataFrame(columns, schema=frame_schema(SHAPE, ELEMENT_META))


@pytest.fixture
def rows_in_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows that Python computes again, for each call."""
    counts: list[int] = []
    original = PythonPass.sift

    def counted(python: PythonPass, frame: pl.DataFrame) -> Sifted:
        counts.append(frame.height)
        return original(python, frame)

    monkeypatch.setattr(PythonPass, "sift", counted)
    return counts


def in_python(steps: tuple[Step, ...], rows: pl.DataFrame) -> Sifted:
    """Returns what Python makes of rows, step by step."""
    shape: Shape = SHAPE
    bad: list[BadRecord] = []
    for analysis in analyse(steps, SHAPE):
        assert analysis.after is not None
        sifted = PythonPass(shape, analysis.after, ((analysis.step,),), ELEMENT_META).sift(rows)
        rows, shape = sifted.frame, analysis.after
        bad += sifted.bad
    return Sifted(rows, tuple(bad))


@pytest.mark.parametrize("name", STEPS)
@given(
    st.lists(
        st.builds(
            Reading,
            st.sampled_from(["1", "2", "7", "13", "x", ""]),
            st.integers(-3, 9),
            st.sampled_from([0, 1, 2, 3]),
        ),
        max_size=40,
    )
)
def test_flags_tell_the_elements_on_which_python_fails(name: str, readings: list[Reading]) -> None:
    """Columns with flags give the elements and the bad records that Python finds, one element at a time."""
    rows = rows_of(readings)
    sifted, expected = (
        sift(compile_steps(CHAINS[name], SHAPE, ELEMENT_META).sections, rows),
        in_python(CHAINS[name], rows),
    )
    assert Counter(sifted.frame.rows()) == Counter(expected.frame.rows())
    assert Counter(sifted.bad) == Counter(expected.bad)


@pytest.mark.parametrize("name", STEPS)
def test_python_sees_bad_elements_only(name: str, rows_in_python: list[int]) -> None:
    """Of many elements of which some are bad, Python sees the bad ones only, where flags tell them."""
    readings = [Reading("x", 0, 0) if number % 100 == 7 else Reading("2", 3, 1) for number in range(1_000)]
    sifted = sift(compile_steps(CHAINS[name], SHAPE, ELEMENT_META).sections, rows_of(readings))
    assert len(sifted.bad) == 10
    assert sum(rows_in_python) == (1_000 if name in UNTOLD else 10)


UNTOLD = {
    "a comprehension over a list that fails",
    "a flat_map in Python",
}
"""The steps without flags: Python computes all elements if one fails."""


class Color(Enum):
    """Two colors."""

    RED = 1
    BLUE = 2


@frozen
class Inner:
    """A record in a record."""

    day: date | None
    color: Color


@frozen
class Wide:
    """A record with a field of each kind that a frame may hold wrongly."""

    at: datetime
    color: Color | None
    colors: list[Color]
    inner: Inner
    shift: timedelta


WIDE = Source("wide", Wide, event_time=lambda w: w.at + w.shift)

WIDE_NODE = cast("SourceNode", WIDE.node)
WIDE_SCHEMA: dict[str, pl.DataType] = {
    "at": pl.Datetime("ms", "UTC"),
    "color": pl.String(),
    "colors": pl.List(pl.String()),
    "inner": pl.Struct({"day": pl.Date(), "color": pl.String()}),
    "shift": pl.Duration("us"),
}
NAMES = st.sampled_from(["RED", "BLUE", "BLUE", "GREEN", None])
FAR = 300 * 10**3 * 365 * 86_400
"""The milliseconds of three hundred thousand years."""


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "at": st.sampled_from([0, 1, 86_400_000, FAR * 1_000, -FAR * 1_000, None]),
                "color": NAMES,
                "colors": st.none() | st.lists(NAMES, max_size=3),
                "inner": st.none()
                | st.fixed_dictionaries(
                    {"day": st.sampled_from([0, 7, 10**8, -(10**8), None]), "color": NAMES}
                ),
                "shift": st.sampled_from([0, 5, 2**62, None]),
            }
        ),
        max_size=30,
    )
)
def test_flags_tell_the_rows_that_are_no_records(rows: list[dict[str, object]]) -> None:
    """Of the rows of a source, Python reads those that are bad, and the others are the elements that it would read."""
    numbers = {
        "at": pl.Int64(),
        "inner": pl.Struct({"day": pl.Int32(), "color": pl.String()}),
        "shift": pl.Int64(),
    }
    frame = pl.DataFrame(rows, schema=WIDE_SCHEMA | numbers).cast(pl.Schema(WIDE_SCHEMA))
    bound = bind_source(WIDE_NODE, WIDE_SCHEMA, pl.lit(0, pl.Int64()))
    expected = [read_or_reject(WIDE_NODE, record, at_any_time) for record in stored_records(WIDE_NODE, frame)]
    read: list[object] = []

    def reading(source: SourceNode, record: object, arrival: ArrivalOf) -> Element | BadRecord:
        read.append(record)
        return read_or_reject(source, record, arrival)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sifting, "read_or_reject", reading)
        sifted = sift_source(WIDE_NODE, bound, frame)
    bad = [record for record in expected if isinstance(record, BadRecord)]
    assert Counter(sifted.bad) == Counter(bad)
    assert len(read) == len(bad)
    times = [element.event_time for element in expected if not isinstance(element, BadRecord)]
    assert sorted(sifted.frame[EVENT_TIME]) == sorted(times)


@pytest.mark.parametrize("fails", [False, True], ids=["a source", "a source and a step"])
def test_rows_that_lack_a_field_are_not_searched_for(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """Of many rows, of which some lack a field, Python reads those that do, once, and no others.

    This holds for a source alone, and before a step that can fail as well.
    """
    read = 0

    def counted(*arguments: object) -> object:
        nonlocal read
        read += 1
        return original(*arguments)  # type: ignore[arg-type]

    original = read_or_reject
    monkeypatch.setattr(sifting, "read_or_reject", counted)
    rows = {
        "team": [None if number % 100 == 7 else "red" for number in range(ROWS)],
        "points": range(ROWS),
        "at": [NOON] * ROWS,
    }
    scores = SCORES.filter(lambda score: 10 // (score.points - 8) < 100) if fails else SCORES
    counts = scores.key_by(lambda score: score.team).window(FixedWindows(timedelta(days=1)))
    panes = batch.compile(counts.combine_per_key(Count()), {SCORES: pl.DataFrame(rows)}, dead_letters=True)
    emitted, letters = pl.collect_all([panes, panes.dead_letters()])
    assert (emitted["value"].to_list(), letters.height, read) == (
        [ROWS - ROWS // 100 - fails],
        ROWS // 100 + fails,
        ROWS // 100,
    )


def test_the_arguments_of_combiners_are_admitted_in_columns(rows_in_python: list[int]) -> None:
    """A grouping whose combiners read lifted arguments admits elements by flags, and gives the panes of the others."""
    keyed = READINGS.key_by(lambda r: r.text)
    sums = keyed.combine_per_key(Sum.of(lambda r: 6 // r.n), Sum.of(lambda r: 6 // r.m), Count())
    rows = pl.DataFrame({"text": ["a", "a", "a", "b"], "n": [1, 0, 2, 0], "m": [1, 2, 3, 0]})
    run = batch.run(sums, {READINGS: rows}, dead_letters=True)
    assert [pane.element for pane in run.panes] == [KV("a", (9, 8, 2))]
    assert len(run.bad_records) == 2
    assert sum(rows_in_python) == 2
