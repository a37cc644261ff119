"""The table of the queries in ``docs/evaluation.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.benchmarks.nexmark.queries.all import QUERIES

PAGE: Final = Path(__file__).parents[2] / "evaluation.md"
_MARKED: Final = re.compile(r"(?<=<!-- table: nexmark -->\n).*?(?=<!-- end -->)", flags=re.DOTALL)


def table() -> Iterator[str]:
    """Yields the lines of the table: each query, and what it uses."""
    yield "| | query | uses |"
    yield "| ---: | --- | --- |"
    for query in QUERIES:
        (module,) = Path(__file__).parent.glob(f"queries/*/q{query.number}_*.py")
        yield f"| {query.number} | [{query.name}]({module.relative_to(PAGE.parent)}) | {query.uses} |"


def page_with(text: str) -> str:
    """Returns a page with the current table."""
    return _MARKED.sub("\n".join((*table(), "", "")), text)


__all__ = ["PAGE", "page_with", "table"]
