"""Maps that call functions in Python; of ``PARTIAL``, Python computes only these calls, and of ``WHOLE`` all of it."""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from flowalg import PCollection
from tests.support.scores import SCORES, Score


@frozen
class Row:
    """A number, and the vowel that a function in Python found."""

    number: int
    vowel: str | None


VOWELS: Final = re.compile("[aeiou]", re.IGNORECASE)


def first_vowel(text: str) -> str | None:
    """Finds the first vowel of a text."""
    match = VOWELS.search(text)
    return match[0] if match else None


def repeated(text: str, times: int) -> str:
    """Returns a text of upper case."""
    return text.upper() * (times % 3)


def built(score: Score) -> Row:
    """Builds a row in a function that is inlined."""
    return Row(score.points, first_vowel(score.team))


def choose(number: int, text: str) -> str | None:
    """Calls a function only for some numbers."""
    return first_vowel(text) if number > 0 else None


PARTIAL: Final[dict[str, PCollection[object]]] = {
    "a record": SCORES.map(lambda score: Row(score.points, first_vowel(score.team))),
    "a function that is inlined": SCORES.map(built),
    "a tuple of two calls": SCORES.map(
        lambda score: (first_vowel(score.team), score.points + 1, repeated(score.team, score.points))
    ),
    "calls in nested parts": SCORES.map(lambda score: (score.at, Row(score.points, first_vowel(score.team)))),
    "a call of which a branch needs Python": SCORES.map(
        lambda score: Row(score.points, choose(score.points, score.team))
    ),
    "the value of a pair": SCORES.key_by(lambda score: score.points).map_values(
        lambda score: (score.team, first_vowel(score.team))
    ),
    "the same call twice": SCORES.map(lambda score: (first_vowel(score.team), first_vowel(score.team))),
}
WHOLE: Final[dict[str, PCollection[object]]] = {
    "a branch that calls": SCORES.map(
        lambda score: Row(score.points, first_vowel(score.team) if score.points > 0 else None), result=Row
    ),
    "an argument that may fail": SCORES.map(
        lambda score: (score.points, repeated(score.team, 6 // (score.points + 9)))
    ),
    "a call with named arguments": SCORES.map(lambda score: (score.points, first_vowel(text=score.team))),
    "a method": SCORES.map(lambda score: (score.points, score.team.swapcase())),
}
