"""The generated pages of the documentation are up to date."""

from __future__ import annotations

from docs.tables import laws


def test_the_table_of_laws_is_the_code() -> None:
    """``make docs`` writes it anew."""
    assert laws.PATH.read_text() == laws.page()
