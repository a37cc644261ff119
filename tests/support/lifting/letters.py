"""Texts for the case of letters: every character, and texts in which a capital sigma may end a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from hypothesis import strategies as st

LETTERS: Final = (
    range(0x3400),
    range(0xA000, 0xAC00),
    range(0xF900, 0x13500),
    range(0x16A00, 0x17000),
    range(0x1AF00, 0x1F400),
    range(0xE0000, 0xE0200),
)
"""All letters of two cases, and all characters that a sigma at the end of a word looks through, with their blocks."""

CHARACTERS: Final = (range(0xD800), range(0xE000, 0x110000))
"""All characters."""

_LETTERS: Final = "aAßŉİıǅΣσςΐᾳǰﬁ\u0345\u0301\u00ad\u200d'.:^`\u02b0ⅣⒶ𐐀1 -\u0378\U0001f600"

cased_texts: Final = st.text(
    st.sampled_from(_LETTERS) | st.characters(exclude_categories=["Cs"]), max_size=12
)


def texts_of_characters(numbers: Iterable[range]) -> Iterator[str]:
    """Yields each character, and texts in which it stands before and after capital sigmas."""
    for character in map(chr, chain(*numbers)):
        yield character
        yield f"{character}Σ"
        yield f"a{character}Σ{character}bΣ{character}"
