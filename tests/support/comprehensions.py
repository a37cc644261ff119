"""Pipelines whose ``flat_map`` returns a comprehension; ``LIFTED`` are columns of a batch, ``IN_PYTHON`` are not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from attrs import frozen

from flowalg import KV, Max, PCollection, Source, TopN
from flowalg.pipeline import SideInput
from tests.support.scores import NOON


@frozen
class Word:
    """A word and its length, which may be unknown."""

    text: str
    length: int | None


@frozen
class Line:
    """Words with and without their length."""

    text: str
    words: list[Word]
    numbers: list[int]
    at: datetime


LINES: Final = Source("lines", Line, event_time=lambda line: line.at)
longest: SideInput[Mapping[str, int]] = (
    LINES.key_by(lambda line: line.text[:1])
    .map_values(lambda line: len(line.text))
    .combine_per_key(Max())
    .as_map()
)
FEW: Final = 3


def ranked(words: list[Word]) -> list[KV[str, int]]:
    """Numbers the words from 1."""
    return [KV(word.text, rank) for rank, word in enumerate(words, start=1)]


def either(line: Line) -> list[str]:
    """Returns one of two comprehensions."""
    if line.numbers:
        return [word.text for word in line.words]
    return [line.text]


LIFTED: Final[dict[str, PCollection[object]]] = {
    "words": LINES.flat_map(lambda line: [word.strip(",.") for word in line.text.split()]),
    "an item beside its element": LINES.flat_map(
        lambda line: [(line.text, number + 1) for number in line.numbers]
    ),
    "a filter": LINES.flat_map(lambda line: [word.text for word in line.words if len(word.text) > 1]),
    "a filter of optionals": LINES.flat_map(
        lambda line: [word.length + 1 for word in line.words if word.length is not None if word.length % 4]
    ),
    "positions": LINES.flat_map(lambda line: [(i, n) for i, n in enumerate(line.numbers) if i < n]),
    "positions alone": LINES.flat_map(lambda line: [i for i, _ in enumerate(line.words)]),
    "ranks": LINES.flat_map(lambda line: ranked(line.words)),
    "records": LINES.flat_map(lambda line: [Word(word, len(word)) for word in line.text.split(" ")]),
    "pairs": LINES.flat_map(lambda line: [a + b for a, b in [(line.text, "!"), ("?", line.text)]]),
    "a captured number": LINES.flat_map(lambda line: [n * FEW % 7 for n in line.numbers if n > FEW]),
    "the items of a combiner": LINES.key_by(lambda line: line.text)
    .map_values(lambda line: len(line.words))
    .combine_per_key(TopN(2))
    .flat_map(lambda pair: [(pair.key, place, size) for place, size in enumerate(pair.value, 1)]),
    "a lookup of each item": LINES.flat_map_with(
        longest, lambda line, lengths: [(number, lengths.get(line.text[:1], 0)) for number in line.numbers]
    ),
    "steps after it": LINES.flat_map(lambda line: [n % 5 for n in line.numbers])
    .filter(lambda n: n != 0)
    .map(lambda n: n + 1),
}

IN_PYTHON: Final[dict[str, PCollection[object]]] = {
    "a comprehension of comprehensions": LINES.flat_map(
        lambda line: [[n % 3 for n in line.numbers] for word in line.words]
    ),
    "two loops": LINES.flat_map(
        lambda line: [(word.text, n % 3) for word in line.words for n in line.numbers], result=tuple[str, int]
    ),
    "one of two": LINES.flat_map(either),
    "a list of a map": LINES.map(lambda line: [n % 3 for n in line.numbers]),
    "a range": LINES.flat_map(lambda line: [n % 3 for n in range(len(line.text))], result=int),
}


def line(text: str, numbers: list[int]) -> Line:
    """Returns a line with the words of a text, of which those with an even length have it."""
    words = [Word(word, len(word) if len(word) % 2 == 0 else None) for word in text.split()]
    return Line(text, words, numbers, NOON)
