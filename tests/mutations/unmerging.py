"""Faults of merged windows that come apart, in the reference and in the shard step."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

UNMERGING_MUTANTS: Final = (
    Replacement("merged windows never come apart", "ProtoWindow.is_empty", "self.count == 0", "False"),
    Replacement(
        "a window stays although its proto-windows are in several groups",
        "flowalg_reference:regroup",
        "len(reached) == 1 and covers(target := reached.pop(), at)",
        "reached and covers(target := reached.pop(), at)",
    ),
    Replacement(
        "a window stays although its group no longer covers it",
        "flowalg_reference:regroup",
        "len(reached) == 1 and covers(target := reached.pop(), at)",
        "len(reached) == 1 and (target := reached.pop())",
    ),
    Replacement(
        "bounds that come again count their panes from 0",
        "flowalg_reference:regroup",
        "indices.get(window, 0)",
        "0",
    ),
    Replacement(
        "a window that has come apart leaves its panes current",
        "flowalg_reference:regroup",
        "gone.ended_panes = ended.get(at, [])",
        "pass",
    ),
    Replacement(
        "a part keeps the panes of the window that had its bounds",
        "flowalg_reference:regroup",
        "state.ended_panes = ended.get(window, [])",
        "state.current_panes = ended.get(window, [])",
    ),
    Replacement(
        "the number of panes of expired bounds is forgotten while a part may have them",
        "Grouping._evaluate",
        "expires and returns and state.next_index",
        "False",
    ),
    Replacement(
        "a part is emitted before the retraction of the pane with its bounds",
        "Grouping._advance",
        "if self.spec.unmerges:\n    panes.sort(key=lambda pane: pane[0])",
        "pass",
    ),
    Replacement(
        "the trigger of a part starts without what the part holds",
        "_part",
        "part.pending = part.pending.merge(proto.observed)",
        "pass",
    ),
    Replacement(
        "a window does not observe retractions that empty its proto-windows",
        "flowalg_reference:regroup",
        "None if owner is None else staying.get(owner)",
        "None",
    ),
    Replacement(
        "in the step, empty proto-windows stay",
        "flowalg_shard:regroup",
        "(pl.col(MULTIPLICITY) == 0) & contents.is_empty",
        "pl.lit(False)",
    ),
    Replacement(
        "in the step, a window stays although its group no longer covers it",
        "flowalg_shard:regroup",
        "homes.filter(pl.len().over(owner) == 1, covered)",
        "homes.filter(pl.len().over(owner) == 1)",
    ),
    Replacement(
        "in the step, a window that has come apart leaves its panes current",
        "emit",
        "_retract_ended(stage, table, ended_panes, state.watermark, clocks)",
        "[]",
    ),
    Replacement(
        "in the step, a part is emitted before the retraction of the pane with its bounds",
        "_retract_ended",
        "pl.col(RANK) - _LAST",
        "pl.col(RANK) + _LAST + 1",
    ),
    Replacement(
        "in the step, the number of panes of expired bounds is forgotten while a part may have them",
        "_without_expired",
        "overlapped(stage, vacant, table.filter(~is_vacant()))",
        "pl.repeat(False, vacant.height, dtype=pl.Boolean(), eager=True)",
    ),
    Replacement(
        "in the step, parts are not pending",
        "_arriving",
        "pl.when(_PARTS).then(pl.col(name))",
        "pl.lit(None)",
    ),
    Replacement(
        "in the step, what has been discarded stays in proto-windows",
        "_reset_emitted",
        "discard(stage, table, EMITS_VALUE) if stage.unmerges else table",
        "table",
    ),
    Replacement(
        "in the step, a vacant window fires",
        "flowalg_shard:_evaluate",
        "vacant.with_columns(pl.lit(False).alias(FIRES))",
        "stage.automaton.evaluate(vacant, END, clocks)",
    ),
)
