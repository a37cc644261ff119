"""The tables of the queries and of their times in ``docs/evaluation.md``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from docs.benchmarks.nexmark.queries.all import QUERIES
from docs.benchmarks.nexmark.timing import table as times
from docs.benchmarks.results import Result

PAGE: Final = Path(__file__).parents[2] / "evaluation.md"
_MARKED: Final = "(?<=<!-- table: {} -->\n).*?(?=<!-- end -->)"


def table() -> Iterator[str]:
    """Yields the lines of the table: each query, and what it uses."""
    yield "| | query | uses |"
    yield "| ---: | --- | --- |"
    for query in QUERIES:
        (module,) = Path(__file__).parent.glob(f"queries/*/q{query.number}_*.py")
        yield f"| {query.number} | [{query.name}]({module.relative_to(PAGE.parent)}) | {query.uses} |"


def page_with(text: str, results: Sequence[Result] = ()) -> str:
    """Returns a page with the current queries, and with the times of results if there are any."""
    text = _replaced(text, "nexmark", table())
    return _replaced(text, "nexmark times", times(results)) if results else text


def _replaced(text: str, name: str, lines: Iterable[str]) -> str:
    """Returns a page with other lines in one of its marked tables."""
    return re.sub(_MARKED.format(name), "\n".join((*lines, "", "")), text, flags=re.DOTALL)


__all__ = ["PAGE", "page_with", "table"]
