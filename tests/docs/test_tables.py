"""The generated pages of the documentation are up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from docs.tables import capabilities, laws, lifting


class Page(Protocol):
    """A module that makes one page."""

    PATH: Path

    def page(self) -> str:
        """The page."""
        ...


@pytest.mark.parametrize("table", [capabilities, laws, lifting], ids=["capabilities", "laws", "lifting"])
def test_a_page_is_what_the_code_says(table: Page) -> None:
    """``make docs`` writes it anew."""
    assert table.PATH.read_text(encoding="utf-8") == table.page()
