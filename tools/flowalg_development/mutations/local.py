"""Faults of the local engine: of its batches, of what a query reads, and of what its checkpoint stores."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

LOCAL_MUTANTS: Final = (
    Replacement(
        "windows of a batch ignore their offset",
        "latest_multiple",
        "(point - offset).mod(every)",
        "point.mod(every)",
    ),
    Replacement(
        "elements a gap apart are in two sessions of a batch",
        "_sessions",
        "pl.col(EVENT_TIME) - pl.col(EVENT_TIME).shift(1) > gap",
        "pl.col(EVENT_TIME) - pl.col(EVENT_TIME).shift(1) >= gap",
    ),
    Replacement(
        "a micro-batch that was committed is repeated",
        "Checkpoint.intent",
        "found.batch > done",
        "found.batch >= done",
    ),
    Replacement(
        "a query does not repeat the micro-batch that it had begun",
        "Query.next_intent",
        "return begun",
        "pass",
    ),
    Replacement(
        "a file is read twice",
        "FileReader.available",
        "[name for name in self._names() if name not in read]",
        "self._names()",
    ),
    Replacement(
        "a query with other shards goes on with their state",
        "Graph.restore",
        "len(before.shards) != self.cluster.shards",
        "len(before.shards) < 1",
    ),
    Replacement(
        "a record that is too far ahead advances the watermark",
        "observed_report",
        "row.get(_TOO_FAR)",
        "row.get(_TOO_FAR) and False",
    ),
    Replacement(
        "the error of a function loses its cause",
        "keep_causes",
        "self.__cause__ = cause",
        "pass",
    ),
    Replacement(
        "dropped elements are counted by window",
        "Late.count",
        "int(rows[COUNT].sum())",
        "rows.height",
    ),
    Replacement(
        "panes of an instant are ordered by key first",
        "ShardedGrouping._order",
        "[END, *(() if one_size else (START,)), *stage.keys]",
        "[*stage.keys, END]",
    ),
)

__all__ = ["LOCAL_MUTANTS"]
