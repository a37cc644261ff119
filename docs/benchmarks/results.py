"""Benchmark results as JSON: each run replaces its own results and keeps the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

Result = dict[str, object]


@frozen
class Results:
    """A file of results, in the order of their names under ``key``; results with other names are omitted."""

    path: Path
    key: str
    names: Sequence[str]

    def load(self) -> list[Result]:
        """The last result for each name."""
        if not self.path.exists():
            return []
        results: list[Result] = json.loads(self.path.read_text(encoding="utf-8"))
        named = [result for result in results if result[self.key] in self.names]
        return sorted(named, key=lambda result: self.names.index(str(result[self.key])))

    def save(self, result: Result) -> None:
        """Stores a result in place of an earlier one."""
        others = [earlier for earlier in self.load() if earlier[self.key] != result[self.key]]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps([*others, result], indent=1) + "\n", encoding="utf-8")
