"""The tables of the queries and of their times in ``docs/evaluation.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docs.benchmarks.marked_tables import fill_tables
from docs.benchmarks.nexmark.queries.all import QUERIES
from docs.benchmarks.nexmark.timing import table as times
from docs.benchmarks.results import Result

PAGE: Final = Path(__file__).parents[2] / "evaluation.md"


def table() -> Iterator[str]:
    """Yields the lines of the table: each query, and what it uses."""
    yield "| | query | uses |"
    yield "| ---: | --- | --- |"
    for query in QUERIES:
        (module,) = Path(__file__).parent.glob(f"queries/*/q{query.number}_*.py")
        yield f"| {query.number} | [{query.name}]({module.relative_to(PAGE.parent)}) | {query.uses} |"


def page_with(text: str, results: Sequence[Result] = ()) -> str:
    """Returns a page with the current queries, and with the times of results if there are any."""
    tables = {"nexmark": list(table()), "nexmark times": list(times(results)) if results else []}
    return fill_tables(text, lambda name: tables[name])
