"""Tables of cases as text: a row is a call or a document, an arrow, and the message of its error."""

from __future__ import annotations

import re


def rows(table: str) -> list[tuple[str, str]]:
    r"""Returns the two sides of each row, ``left -> right``; a ``\`` at the end of a line continues the row."""
    sides = (re.sub(" +", " ", row).strip().split(" -> ") for row in table.strip().splitlines())
    return [(left, right) for left, right in sides]
