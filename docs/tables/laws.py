"""``docs/laws.md``: every law, what it states, where it holds, where it is from and who relies on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flowalg_laws import CATALOGUE, Law

PATH: Final = Path(__file__).parents[1] / "laws.md"

_HEAD: Final = """\
# The laws

Generated from `flowalg_laws` by `make docs`. Each law is a value: call it with values for its variables and it gives
its two sides. `check_law` tries one on generated values; `make laws-thorough` tries all, on 2,000 values each. Where a
law has a side condition, the smallest case outside it is a test in `tests/laws/test_counterexamples.py`, or the
condition says why.

Equality of triggers is observational: the same panes and the same drops, in every situation. SEMANTICS is
[semantics.md](semantics.md), by its sections.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for name, laws in CATALOGUE.items() for line in _family(name, laws))])


def _family(name: str, laws: tuple[Law[..., object], ...]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| law | states | where | source | relied on by |"
    yield "| --- | --- | --- | --- | --- |"
    for law in laws:
        cells = (law.name.replace("_", " "), law.statement, law.condition, law.source, law.relied_on_by)
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


__all__ = ["PATH", "page"]
