"""Faults of the local engine: of its batches, of what a query reads, and of what its checkpoint stores."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

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
        "FileReader._names",
        "data_files(self.source.name, self.files.folder, self._read)",
        "data_files(self.source.name, self.files.folder, set())",
    ),
    Replacement(
        "a query with other shards goes on with their state",
        "Graph.plan",
        "shards != self.cluster.shards",
        "shards < 1",
    ),
    Replacement(
        "a query starts from a state that its plan does not accept",
        "Graph.restore",
        "plan.require_accepted()",
        "pass",
    ),
    Replacement(
        "a stage continues from the state of a stage with other upstreams",
        "compare_stages",
        "before.inputs != now.inputs",
        "False",
    ),
    Replacement(
        "a stage is new although it reads one that continues",
        "_added",
        "isinstance(each, int) and each in pairs",
        "False",
    ),
    Replacement(
        "which of two stages continues is guessed",
        "_correspondence",
        "len(old[label]) != len(new[label])",
        "len(old[label]) < len(new[label])",
    ),
    Replacement(
        "a fact that a stage did not have is a compatible change",
        "_is_compatible",
        "before is None or after is None",
        "False",
    ),
    Replacement(
        "keys stay in their shard when the state is divided",
        "_reshard_windows",
        "lambda rows: route(rows, key)",
        "lambda rows: pl.repeat(0, rows.height, dtype=pl.Int32(), eager=True)",
    ),
    Replacement(
        "elements that wait for a side input are lost when the state is divided",
        "_reshard_sides",
        "waiting.gather_every(shards, number)",
        "waiting.gather_every(shards, 0)",
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
        "raise carrier(str(error)) from error",
        "raise ValueError(str(error)) from error",
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

MONITORING_MUTANTS: Final = (
    Replacement(
        "elements of a source are those of the last micro-batch only",
        "SourceMetrics.then",
        "self.elements + later.elements",
        "later.elements",
    ),
    Replacement(
        "the state of a stage is the first one",
        "StageMetrics.then",
        "evolve(later, **{name: getattr(self, name) + getattr(later, name) for name in _OVER_TIME})",
        "evolve(self, **{name: getattr(self, name) + getattr(later, name) for name in _OVER_TIME})",
    ),
    Replacement(
        "the bad records of a query are those of the last micro-batch only",
        "QueryProgress.then",
        "self.bad_records + later.bad_records",
        "later.bad_records",
    ),
    Replacement(
        "the error of a query that failed is not reported",
        "Query.reported",
        'error = f"{type(failure).__name__}: {failure}"',
        "error = None",
    ),
    Replacement(
        "a failed sink is not the failure of its query",
        "flowalg_polars:run_all",
        "found.throw(failure)",
        "raise failure",
    ),
)
