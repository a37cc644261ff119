"""Generates regular expressions, and texts that they may match."""

from __future__ import annotations

import re
from typing import Final

from hypothesis import strategies as st

from tests.support.lifting.family import EdgeFunction

CHARACTERS: Final = "ab1_ \n\r\u2028\x1f-.é٣²語\U0001f600"

texts: Final = st.text(CHARACTERS, max_size=8)

_ATOMS: Final = (
    *("a", "b", "1", r"\.", r"\-", "é", "\U0001f600", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"),
    *("[ab]", "[^a]", r"[\w.]", r"[^\d\s]", "[a-é]", r"[\S\n]", "(?:)", "^", r"\A", r"\Z"),
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bounds = st.sampled_from(("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"))
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        inner.map(lambda part: f"({part})"),
        st.builds(lambda part, bound: f"(?:{part}){bound}", inner, bounds),
    )


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


patterns: Final = st.builds(
    lambda start, part, end: f"{start}{part}{end}",
    st.sampled_from(("", "", "^")),
    st.recursive(st.sampled_from(_ATOMS), _compound, max_leaves=6),
    st.sampled_from(("", "", "$", "(?:,|$)")),
).filter(_compiles)
flags: Final = st.sampled_from((0, re.ASCII, re.DOTALL))


def functions_of(pattern: re.Pattern[str]) -> list[EdgeFunction]:
    """Returns a function for each use of a pattern."""
    return [
        lambda e: bool(pattern.search(e.s)),
        lambda e: pattern.match(e.s) is not None,
        lambda e: 1 if pattern.fullmatch(e.s) else 0,
        lambda e: pattern.sub("<$1>", e.s),
        lambda e: pattern.findall(e.s),
        lambda e: pattern.search(e.s).group(),  # type: ignore[union-attr]
        lambda e: pattern.match(e.s).group(1),  # type: ignore[union-attr]
        lambda e: pattern.fullmatch(e.s).group(2),  # type: ignore[union-attr]
    ]
