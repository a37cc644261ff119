"""What it costs to keep bad rows apart: Python looks through few rows where few are bad, and finds the same ones."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from flowalg_polars import batch
from flowalg_polars.lowering import sifting
from flowalg_polars.lowering.sifting import Sifted, Sifter
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Count, FixedWindows
from flowalg.data.errors import ElementError
from flowalg.runs import BadRecord
from flowalg.runs.elements import read_or_reject
from tests.support.scores import NOON, SCORES

ROWS = 40_000


def work(rows: pl.DataFrame) -> pl.DataFrame:
    """Doubles numbers; fails on a negative one, as columns do."""
    if (rows["n"] < 0).any():
        raise ElementError("a row is negative")
    return rows.with_columns(n=2 * pl.col("n"))


def sift(bad: set[int]) -> tuple[Sifted, int]:
    """Returns what a sifter makes of rows of which some are bad, and how many rows Python has looked through."""
    seen = 0

    def in_python(rows: pl.DataFrame) -> Sifted:
        nonlocal seen
        seen += rows.height
        good = rows["n"] >= 0
        rejected = (BadRecord("step", "negative", str(n)) for n in rows.filter(~good)["n"])
        return Sifted(work(rows.filter(good)), tuple(rejected))

    numbers = [-number - 1 if number in bad else number for number in range(ROWS)]
    return Sifter(work, in_python).sift(pl.DataFrame({"n": numbers})), seen


@given(st.sets(st.integers(0, ROWS - 1), max_size=40))
def test_a_sifter_finds_every_bad_row_and_keeps_the_order_of_the_others(bad: set[int]) -> None:
    """However many rows are bad, the others are computed in order, and each bad one is found once."""
    sifted, _ = sift(bad)
    assert sifted.frame["n"].to_list() == [2 * number for number in range(ROWS) if number not in bad]
    assert [record.record for record in sifted.bad] == [str(-number - 1) for number in sorted(bad)]


@pytest.mark.parametrize(
    ("count", "most"), [(1, 4_096), (2, 4_096 + 128), (8, 4_096 + 7 * 128), (40_000, ROWS)]
)
def test_python_looks_through_few_rows_where_few_are_bad(count: int, most: int) -> None:
    """Some thousand rows around the first bad one, and about a hundred around each of the others if they are rare."""
    _, seen = sift({number * (ROWS // count) for number in range(count)})
    assert seen <= most


def test_rows_that_lack_a_field_are_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many rows, of which some lack a field, Python reads those that do and no others."""
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
    counts = SCORES.key_by(lambda score: score.team).window(FixedWindows(timedelta(days=1)))
    panes = batch.compile(counts.combine_per_key(Count()), {SCORES: pl.DataFrame(rows)}, dead_letters=True)
    emitted, letters = pl.collect_all([panes, panes.dead_letters()])
    assert (emitted["value"].to_list(), letters.height, read) == (
        [ROWS - ROWS // 100],
        ROWS // 100,
        ROWS // 100,
    )
