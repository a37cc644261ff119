"""Texts for the case of letters: every character, and texts in which a capital sigma may end a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hypothesis import strategies as st

CHARACTERS: Final = tuple(chr(number) for number in range(0x110000) if not 0xD800 <= number < 0xE000)

_LETTERS: Final = "aAßŉİıǅΣσςΐᾳǰﬁ\u0345\u0301\u00ad\u200d'.:^`\u02b0ⅣⒶ𐐀1 -\u0378\U0001f600"

cased_texts: Final = st.text(
    st.sampled_from(_LETTERS) | st.characters(exclude_categories=["Cs"]), max_size=12
)


def texts_of_characters() -> Iterator[str]:
    """Yields each character, and texts in which it stands before and after capital sigmas."""
    for character in CHARACTERS:
        yield character
        yield f"{character}Σ"
        yield f"a{character}Σ{character}bΣ{character}"
