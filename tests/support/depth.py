"""Which of many similar cases belong to ``make test``: a few of each kind; ``make test-thorough`` runs all."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest


def a_few(cases: Iterable[object], kept: Collection[object] | int) -> list[object]:
    """Returns cases for ``parametrize``, all but the kept ones marked ``thorough``.

    ``kept`` is the number of cases from the start, or the kept cases themselves.
    """
    listed = list(cases)
    chosen = range(kept) if isinstance(kept, int) else [listed.index(case) for case in kept]
    return [
        pytest.param(*_parts(case), marks=() if number in chosen else pytest.mark.thorough)
        for number, case in enumerate(listed)
    ]


def _parts(case: object) -> tuple[object, ...]:
    return case if isinstance(case, tuple) else (case,)
