"""``docs/laws.md``: all laws with their statement, side condition, source, and the code that relies on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flowalg_laws import CATALOGUE, Law

PATH: Final = Path(__file__).parents[1] / "laws.md"

_HEAD: Final = """\
# The laws

`make docs` generates this page from `flowalg_laws`. Each law is a value: called with values of its variables, it
returns the two sides of an equation. `check_law` tests a law on generated values; `make laws-thorough` tests all laws
on 2,000 values each. For a law with a side condition, `tests/laws/test_counterexamples.py` has the smallest
counterexample that violates the condition, or the condition gives the reason.

Two triggers are equal if they emit the same panes and drops in every scenario. SEMANTICS refers to the sections of
[semantics.md](semantics.md).
"""


def page() -> str:
    """Returns the whole page."""
    return "\n".join([_HEAD, *(line for name, laws in CATALOGUE.items() for line in _family(name, laws))])


def _family(name: str, laws: tuple[Law[..., object], ...]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| law | statement | side condition | source | relied on by |"
    yield "| --- | --- | --- | --- | --- |"
    for law in laws:
        cells = (law.name.replace("_", " "), law.statement, law.condition, law.source, law.relied_on_by)
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")
