"""Compares generated cases, by their number or until a time; the first of a chunk that differs is shrunk."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, Generic, TypeVar

from attrs import field, frozen
from flowalg_laws.conformance.generated import smallest_failure
from hypothesis.strategies import SearchStrategy

C = TypeVar("C")

CHUNK: Final = 250
"""The number of cases of one generation; its first difference ends it."""

MOST_DIFFERENCES: Final = 3
"""The differences after which a process stops, since more would most likely have the same cause."""


@frozen
class Difference:
    """A case that differs, and how."""

    case: object
    text: str

    def __str__(self) -> str:
        return f"{self.case}\n{self.text}"


@frozen
class Comparison:
    """The number of cases that were compared, the differences, and how many cases were of some kinds."""

    cases: int = 0
    differences: tuple[Difference, ...] = ()
    tally: Counter[str] = field(factory=Counter)

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(
            self.cases + other.cases, self.differences + other.differences, self.tally + other.tally
        )


@frozen
class Comparer(Generic[C]):
    """What a process compares: generated cases, how one of them differs (empty if not), and cases to begin with.

    ``difference`` may count cases in the ``tally``. ``as_text`` shows cases that cannot be sent between processes.
    """

    cases: SearchStrategy[C]
    difference: Callable[[C], str]
    kept: Sequence[C] = ()
    tally: Counter[str] = field(factory=Counter)
    as_text: bool = False

    def difference_of(self, case: C) -> Difference | None:
        """Returns the difference of a case; an error is one too."""
        try:
            text = self.difference(case)
        except Exception:
            text = traceback.format_exc()
        return Difference(str(case) if self.as_text else case, text) if text else None

    def compare_kept(self) -> Comparison:
        """Compares the cases to begin with."""
        differences = map(self.difference_of, self.kept)
        return Comparison(
            len(self.kept), tuple(difference for difference in differences if difference is not None)
        )

    def compare_generated(self, count: int, seed: int, deadline: float = inf) -> Comparison:
        """Compares at most ``count`` generated cases, until ``deadline`` of ``time.monotonic``.

        The first case that differs is shrunk; the difference is that of the smallest case that was found.
        """
        compared = 0
        differs = False

        def difference(case: C) -> Difference | None:
            nonlocal compared, differs
            if not differs:
                if time.monotonic() > deadline:
                    return None
                compared += 1
            result = self.difference_of(case)
            differs = differs or result is not None
            return result

        smallest = smallest_failure(self.cases, difference, count, seed=seed)
        return Comparison(compared, () if smallest is None else (smallest,))


@frozen
class Share:
    """The cases of one of several processes: every so many chunks of all, by their number or for some minutes."""

    process: int
    processes: int
    cases: int
    minutes: float
    seed: int

    def compare(self, comparer: Comparer[Any], name: str) -> Comparison:
        """Compares the cases of the process, and prints the count from time to time."""
        deadline = time.monotonic() + 60 * self.minutes
        result = comparer.compare_kept()
        chunk = self.process
        while (size := min(CHUNK, self.cases - chunk * CHUNK)) > 0:
            if time.monotonic() > deadline or len(result.differences) >= MOST_DIFFERENCES:
                break
            result += comparer.compare_generated(size, self.seed + chunk, deadline)
            chunk += self.processes
            print(f"{name}: {result.cases:,} compared, {len(result.differences)} different", flush=True)
        return result + Comparison(tally=comparer.tally)
