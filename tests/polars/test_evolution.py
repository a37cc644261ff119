"""The table of changes of ``docs/state.md``: what each row says happens on the local engine.

These tests catch a change that continues with other panes than a fresh run has, a plan that says something else than
the start, an error after the start, and a page that says something else than the engine does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.differential.evolution import outcome
from tests.support.program_changes import ROWS, TABLE, Row

PAGE: Final = Path(__file__).parents[2] / "docs" / "state.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.change)
def test_a_change_continues_as_a_fresh_run_or_is_rejected_as_the_page_says(row: Row) -> None:
    """A change that continues has the panes of a fresh run; the plan and the start reject any other one alike."""
    assert outcome(row.case) == ("continued" if row.continues else "refused", "")


def test_the_page_has_the_table() -> None:
    """The rows of the page are those that are tested."""
    assert TABLE in PAGE.read_text(encoding="utf-8")
