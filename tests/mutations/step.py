"""Faults of the shard step, which computes the same panes in columns and imports nothing of the reference."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Area, Mutant

STEP: Final = (
    Area(
        "step",
        ("corrections", "automaton", "step", "step_pipelines"),
        (
            Mutant(
                "a member of a sequence observes elements before it is active",
                "the automaton fires when the reference does: a member observes from its own start",
                "_fire_active",
                "fresh = _initial(member) if number else {}",
                "fresh: dict[str, pl.Expr] = {}",
            ),
            Mutant(
                "sessions of neighbouring keys merge",
                "`keys_are_independent`, although a step computes many keys at a time",
                "number_islands",
                "pl.any_horizontal(apart, *changed)",
                "pl.any_horizontal(apart)",
            ),
            Mutant(
                "merged windows keep a trigger state",
                "`a_merge_restarts_the_trigger_on_unemitted_elements`",
                "_move",
                "several | reopened",
                "reopened",
            ),
            Mutant(
                "a column combiner adds retractions",
                "`merge_has_an_inverse`, in columns",
                "ColumnContents._weighted",
                "value * pl.col(WEIGHT).cast(pl.Int64())",
                "value",
            ),
            Mutant(
                "in the step, a window that has come apart leaves its panes current",
                "`a_retracted_element_leaves_no_trace`: the panes of a session that comes apart are retracted",
                "emit",
                "_retract_ended(stage, table, ended_panes, before.watermark, clocks)",
                "[]",
            ),
        ),
    ),
    Area(
        "late data",
        ("late_data",),
        (
            Mutant(
                "late data has all elements of a merging window of which one was dropped",
                "each dropped element is that of the reference: a closed window drops elements by their event time",
                "dropped_rows",
                "keeps_event_times(stage)",
                "False",
            ),
        ),
    ),
    Area(
        "bags",
        ("bags",),
        (
            Mutant(
                "in columns, a pane repeats the pairs that its window has emitted",
                "`discarding_joins_emit_each_pair_once`, in columns",
                "_pairs_of_old",
                "right.filter(emitted_right.is_null())",
                "right",
            ),
        ),
    ),
    Area(
        "dormancy",
        ("window_store", "state_cache", "step_pipelines"),
        (
            Mutant(
                "the hold of a dormant window is ignored",
                "`the_hold_is_the_least_pending_pane_time`, over all windows and not over the active ones",
                "Grouping.step",
                "min(emission.hold, active.dormant.hold)",
                "emission.hold",
            ),
            Mutant(
                "a window is dormant although its trigger can fire again without input",
                "`a_ready_part_keeps_its_window_active`",
                "_with_wakeups",
                "again[FIRES] & has_moved",
                "again[FIRES] & has_moved & False",
            ),
            Mutant(
                "compaction loses tombstones",
                "compaction has no effect on what the log means",
                "_compact",
                "[] if oldest else [*older.hidden, *newer.hidden]",
                "[]",
            ),
            Mutant(
                "a restored segment does not hide earlier rows",
                "a log that is read back means what it meant",
                "WindowStore.restore",
                "hidden.append(part.segment.hashes)",
                "hidden.append(part.segment.hashes.clear())",
            ),
        ),
    ),
)
