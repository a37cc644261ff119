"""Compares engines with the reference on generated cases until a time; the cases that differ are shrunk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import field, frozen
from flowalg_laws.conformance.generated import smallest_failure

from flowalg import Interpreter
from tests.differential.agree.case import Case, cases, read_case

CHUNK: Final = 200
"""The number of cases of one generation; its first difference ends it."""


@frozen
class Compared:
    """An engine that is compared; with ``ordered`` the order of its panes too."""

    name: str
    interpreter: Interpreter
    ordered: bool


@frozen
class Difference:
    """A case on which an engine differs, and how."""

    engine: str
    case: Case
    text: str

    def __str__(self) -> str:
        return f"{self.engine} differs from the reference:\n{self.case}\n{self.text}"


@frozen
class Comparison:
    """The cases that were compared on each of some engines, and the differences."""

    cases: int = 0
    differences: tuple[Difference, ...] = field(default=())

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(self.cases + other.cases, self.differences + other.differences)


def difference_of(case: Case, engines: Sequence[Compared]) -> Difference | None:
    """Returns the difference of the first engine that differs."""
    for engine in engines:
        text = case.difference(engine.interpreter, ordered=engine.ordered)
        if text:
            return Difference(engine.name, case, text)
    return None


def compare_kept(engines: Sequence[Compared], corpus: Path) -> Comparison:
    """Compares engines on the cases of a folder."""
    kept = [read_case(path) for path in sorted(corpus.glob("*.json"))]
    found = [difference_of(case, engines) for case in kept]
    return Comparison(len(kept), tuple(each for each in found if each is not None))


def compare_generated(engines: Sequence[Compared], deadline: float, seed: int) -> Comparison:
    """Compares engines on at most ``CHUNK`` generated cases, until ``deadline`` of ``time.monotonic``.

    The first case that differs is shrunk; the difference is that of the smallest case that was found.
    """
    compared = 0
    differs = False

    def difference(case: Case) -> Difference | None:
        nonlocal compared, differs
        if not differs:
            if time.monotonic() > deadline:
                return None
            compared += 1
        found = difference_of(case, engines)
        differs = differs or found is not None
        return found

    smallest = smallest_failure(cases(), difference, CHUNK, seed=seed)
    return Comparison(compared, () if smallest is None else (smallest,))
