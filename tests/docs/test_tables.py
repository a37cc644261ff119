"""The generated pages of the documentation are up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from docs.tables import capabilities, laws, lifting


class Page(Protocol):
    """A module that generates a page."""

    PATH: Path

    def page(self) -> str:
        """Returns the page."""
        ...


@pytest.mark.parametrize("table", [capabilities, laws, lifting], ids=["capabilities", "laws", "lifting"])
def test_a_generated_page_is_up_to_date(table: Page) -> None:
    """``make docs`` updates the page."""
    assert table.PATH.read_text(encoding="utf-8") == table.page()
