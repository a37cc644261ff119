"""Benchmark results as JSON: each run replaces its own results and keeps the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

Found = dict[str, object]


@frozen
class Results:
    """A file of results, in the order of their names under ``key``; results with other names are omitted."""

    path: Path
    key: str
    names: Sequence[str]

    def saved(self) -> list[Found]:
        """The last result for each name."""
        if not self.path.exists():
            return []
        found: list[Found] = json.loads(self.path.read_text(encoding="utf-8"))
        known = [one for one in found if one[self.key] in self.names]
        return sorted(known, key=lambda one: self.names.index(str(one[self.key])))

    def save(self, one: Found) -> None:
        """Stores a result in place of an earlier one."""
        others = [known for known in self.saved() if known[self.key] != one[self.key]]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps([*others, one], indent=1) + "\n", encoding="utf-8")


__all__ = ["Found", "Results"]
