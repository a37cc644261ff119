"""The table of changes of ``docs/state.md``: what each row says happens on the local engine.

These tests catch a change that continues with other panes than a fresh run has, a plan that says something else than
the start, an error after the start, and a page that says something else than the engine does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from attrs import evolve
from flowalg_polars import streaming

from flowalg import Accumulation, AtCount, AtWatermark, Repeat
from flowalg.errors import CheckpointError
from tests.differential.evolution import NUMBER, outcome, run
from tests.support.program_changes import ROWS, SETTINGS, TABLE, Row
from tests.support.versions import Field, Version

PAGE: Final = Path(__file__).parents[2] / "docs" / "state.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.change)
def test_a_change_continues_as_a_fresh_run_or_is_rejected_as_the_page_says(row: Row) -> None:
    """A change that continues has the panes of a fresh run; the plan and the start reject any other one alike."""
    assert outcome(row.case) == ("continued" if row.continues else "refused", "")


def test_the_page_has_the_table() -> None:
    """The rows of the page are those that are tested."""
    assert TABLE in PAGE.read_text(encoding="utf-8")


AMOUNT: Final = Field("amount", int, lambda n: 2**53 + n)


def _of_even(number: int) -> str:
    if number % 2:
        raise ValueError("it is odd")
    return str(number)


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (
            Version((NUMBER, Field("amount", float, float))),
            "the state cannot be converted: ArrowInvalid.*amount: int.* and is now .*amount: float",
        ),
        (
            Version((NUMBER, Field("amount", str, _of_even)), converts=(NUMBER, AMOUNT)),
            "the state cannot be converted: ValueError: it is odd",
        ),
        (
            Version((NUMBER, Field("amount", str, lambda n: n)), converts=(NUMBER, AMOUNT)),
            r"the state cannot be converted: ElementError: the result of evolves\(..., Item, ...\).amount must be",
        ),
    ],
    ids=["a number that does not fit", "a function that raises", "a result of another type"],
)
@pytest.mark.parametrize("place", ["lists", "states", "accumulators"])
def test_a_value_that_does_not_convert_fails_the_plan_and_the_start(
    tmp_path: Path, place: str, after: Version, message: str
) -> None:
    """Both name the stage, what has changed and why the value does not convert; the checkpoint is unchanged."""
    before = Version((NUMBER, AMOUNT))
    with before.installed() as item:
        whole = run(before.pipeline(item, place, SETTINGS), 1)
        run(before.pipeline(item, place, SETTINGS), 1, str(tmp_path), 3)
    with after.installed() as item:
        pipeline = after.pipeline(item, place, SETTINGS)
        for start in (lambda: streaming.plan(pipeline, tmp_path), lambda: run(pipeline, 1, str(tmp_path))):
            with pytest.raises(
                CheckpointError, match=message if place != "accumulators" else "cannot be converted"
            ):
                start()
    with before.installed() as item:
        assert run(before.pipeline(item, place, SETTINGS), 1, str(tmp_path)) == whole[2:]


def test_a_window_that_has_finished_does_not_begin_again(tmp_path: Path) -> None:
    """A trigger that never finishes is rejected where windows have finished, since they have dropped elements."""
    version, once = (
        Version((NUMBER,)),
        evolve(SETTINGS, trigger=AtCount(1), accumulation=Accumulation.DISCARDING),
    )
    with version.installed() as item:
        run(version.pipeline(item, "lists", once), 1, str(tmp_path), 3)
        again = version.pipeline(item, "lists", evolve(once, trigger=Repeat(AtCount(1))))
        with pytest.raises(
            CheckpointError, match="windows have finished by the trigger before.*never finishes"
        ):
            streaming.plan(again, tmp_path)
        later = version.pipeline(item, "lists", evolve(once, trigger=AtWatermark()))
        assert streaming.plan(later, tmp_path).accepted
        assert run(later, 1, str(tmp_path))
