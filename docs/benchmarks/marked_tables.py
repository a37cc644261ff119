"""Tables of a page that a benchmark writes: those between ``<!-- table: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

_MARKED: Final = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


def fill_tables(text: str, lines_of: Callable[[str], Sequence[str]]) -> str:
    """Returns a page whose tables have the lines for their names; a table for which there are none stays as it is."""

    def fill(marked: re.Match[str]) -> str:
        lines = lines_of(marked[2])
        return "\n".join((marked[1], *lines, "", marked[3])) if lines else marked[0]

    return _MARKED.sub(fill, text)
