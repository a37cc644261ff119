"""The parts of the table: features, cells and peers, and whether the result of a program is what its cell says."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from attrs import field, frozen

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value of JSON, as a program prints it."""


class Verdict(Enum):
    """Whether a peer has a feature."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


@frozen
class Feature:
    """A row of the table: what every program is given (``claim``), and what it must get for a yes (``wanted``)."""

    name: str
    title: str
    claim: str
    wanted: Json


@frozen
class Cell:
    """What a peer's program shows.

    A ``YES`` gets what the feature wants. Any other program gets ``got``, which is something else. ``note`` says in a
    few words what is different; a yes may have one too.
    """

    verdict: Verdict
    note: str = ""
    got: Json = None

    def expected(self, feature: Feature) -> Json:
        """Returns the result that the program must print."""
        return feature.wanted if self.verdict is Verdict.YES else self.got

    def difference(self, feature: Feature, got: Json) -> str | None:
        """Returns how the result of the program differs from the cell; ``None`` if it does not."""
        expected = self.expected(feature)
        return None if got == expected else f"the page says {expected!r}, the program got {got!r}"


@frozen
class Peer:
    """A column of the table: a system, with the packages of its environment, its scripts, and its cells.

    ``requirements`` are versions of packages from the registry, the first of which is the peer itself; none means the
    environment of the project. ``python`` is the newest Python that it supports, and ``java`` whether it needs Java.
    ``recorded`` is the day on which the programs of a peer without scripts last had the results of its cells.
    """

    name: str
    title: str
    requirements: tuple[str, ...]
    python: tuple[int, int]
    scripts: tuple[str, ...]
    cells: Mapping[str, Cell] = field(repr=False)
    java: bool = False
    recorded: str | None = None


def yes(note: str = "") -> Cell:
    """Returns the cell of a program that gets what the feature wants."""
    return Cell(Verdict.YES, note)


def partly(note: str, got: Json) -> Cell:
    """Returns the cell of a program that gets a part of what the feature wants."""
    return Cell(Verdict.PARTLY, note, got)


def no(note: str, got: Json) -> Cell:
    """Returns the cell of a program that does not get what the feature wants."""
    return Cell(Verdict.NO, note, got)
