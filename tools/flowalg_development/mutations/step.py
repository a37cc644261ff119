"""Faults of the shard step: of the compiled automaton, of arrival, merging and panes, and of contents at rest."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

STEP_MUTANTS: Final = (
    Replacement(
        "a member of a sequence starts with what it saw before its turn",
        "_fire_active",
        "fresh = _initial(member) if number else {}",
        "fresh: dict[str, pl.Expr] = {}",
    ),
    Replacement(
        "a repeated trigger is not reset when it finishes",
        "_fire",
        "pl.when(finished).then(fresh[name]).otherwise(expr)",
        "expr",
    ),
    Replacement(
        "OrFinally goes on when its main trigger has finished",
        "_fire",
        "pl.col(until.satisfied) | finished",
        "pl.col(until.satisfied)",
    ),
    Replacement(
        "OrFinally goes on when its limit is ready", "_fire", "pl.col(until.satisfied) | finished", "finished"
    ),
    Replacement(
        "a trigger that has finished fires again", "Automaton.evaluate", "~pl.col(CLOSED)", "pl.lit(True)"
    ),
    Replacement(
        "a deadline counts only once it is past",
        "_satisfied",
        "deadline <= clocks.processing_time",
        "deadline < clocks.processing_time",
    ),
    Replacement(
        "AtWatermark waits for a watermark beyond the end of the window",
        "_satisfied",
        "pl.col(end) <= clocks.percentile(percentile)",
        "pl.col(end) < clocks.percentile(percentile)",
    ),
    Replacement(
        "deadlines of members whose turn it is not wake the engine",
        "_with_activity",
        "within & (pl.col(active) == number)",
        "within",
    ),
    Replacement(
        "what came last starts the clocks",
        "SummaryColumns.merge",
        "pl.min_horizontal(one + SINCE, other + SINCE)",
        "pl.max_horizontal(one + SINCE, other + SINCE)",
    ),
    Replacement(
        "a measure is added up without an end",
        "_capped",
        "pl.min_horizontal(total, pl.lit(leaf.amount, pl.Int128()))",
        "total",
    ),
    Replacement(
        "a retraction counts",
        "precombine",
        "pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)",
        "pl.lit(True)",
    ),
    Replacement(
        "a window expires an instant too late", "_is_expired", "pl.col(end) <= limit", "pl.col(end) < limit"
    ),
    Replacement(
        "what joins a live window is dropped when it would have expired",
        "_merge",
        "(pl.col(MEMBERS) == 0) & _is_expired(stage, TO_END, state.watermark)",
        "_is_expired(stage, END, state.watermark)",
    ),
    Replacement(
        "a complete window that is extended keeps its trigger", "_move", "several | reopened", "several"
    ),
    Replacement("windows that merge keep a trigger of theirs", "_move", "several | reopened", "reopened"),
    Replacement(
        "a window that grows goes on counting its panes", "_move", "pl.when(grown)", "pl.when(several)"
    ),
    Replacement(
        "the end is inside of a closed window",
        "_inside",
        "pl.col(POINT) < pl.col(_CLOSED_END)",
        "pl.col(POINT) <= pl.col(_CLOSED_END)",
    ),
    Replacement(
        "panes that stand are left behind when windows merge",
        "_merge",
        "current_panes = _move_current_panes(stage, current_panes, goes)",
        "pass",
    ),
    Replacement(
        "sessions that touch stay apart", "_touching", "pl.col(START) > before", "pl.col(START) >= before"
    ),
    Replacement(
        "a session reaches as far as the last window in it",
        "_touching",
        "pl.col(END).cum_max()",
        "pl.col(END)",
    ),
    Replacement(
        "a trigger that starts afresh is not shown what is pending",
        "_observe",
        "_where(pl.col(RESTARTS), automaton.observe(PENDING))",
        "_where(pl.lit(False), automaton.observe(PENDING))",
    ),
    Replacement(
        "what is pending is forgotten", "_observe", "summary.merge(PENDING, NEW)", "summary.nothing(PENDING)"
    ),
    Replacement(
        "signals are not heard", "step", "if clocks.signals:\n    ...", "if not clocks.signals:\n    ..."
    ),
    Replacement("what has been shown stays pending", "_reset_emitted", "pl.when(done)", "pl.when(False)"),
    Replacement(
        "late firings count as on time",
        "_decide",
        "(pl.col(END) > before) & (pl.col(END) <= clocks.watermark)",
        "pl.col(END) <= clocks.watermark",
    ),
    Replacement(
        "an empty window says nothing on time",
        "_decide",
        "has_value | insists & ~pl.col(CHANGED)",
        "has_value & ~(insists & ~pl.col(CHANGED))",
    ),
    Replacement("a pane of a finished trigger is not the last", "_decide", "expires | closed", "expires"),
    Replacement(
        "every retraction of a window's last is the last",
        "_retract",
        "pl.col(IS_LAST) & ~pl.col(EMITS_VALUE) & final",
        "pl.col(IS_LAST) & ~pl.col(EMITS_VALUE)",
    ),
    Replacement(
        "a retraction carries the window of now",
        "_retract",
        "taken.with_columns(bounds[PANE_START].alias(START), bounds[PANE_END].alias(END))",
        "taken.with_columns(bounds[PANE_END].alias(END))",
    ),
    Replacement(
        "retractions to come do not hold the watermark",
        "with_holds",
        "point = pl.min_horizontal(point, HOLD)",
        "pass",
    ),
    Replacement(
        "what is pending does not hold the watermark",
        "with_holds",
        "pl.when(CHANGED)",
        "pl.when(~pl.col(CHANGED))",
    ),
    Replacement(
        "a discarding window forgets changes that it could not show",
        "_reset_emitted",
        "EMITS_VALUE if discards else EMITS",
        "EMITS",
    ),
    Replacement(
        "a window whose end the watermark meets is late",
        "timing",
        "pl.col(END) > before",
        "pl.col(END) > before + 60000000",
    ),
    Replacement(
        "a retraction takes back any equal value",
        "ValueList.add",
        "next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "opposite[0]",
    ),
    Replacement(
        "values are combined in order of arrival",
        "ObjectContents._extract",
        "sorted(contents.values, key=lambda one: one.event_time)",
        "contents.values",
    ),
    Replacement(
        "values of one instant follow each other by partition",
        "ObjectContents._merge",
        "for _, one in sorted(arrived, key=lambda pair: pair[0]):\n    ...",
        "for _, one in arrived:\n    ...",
    ),
    Replacement(
        "retractions that met nothing are discarded too",
        "ObjectContents._after_discard",
        "values = tuple((one for one in contents.values if one.weight < 0))",
        "values: tuple[KeptValue, ...] = ()",
    ),
    Replacement(
        "retractions are added",
        "ColumnContents._weighted",
        "value * pl.col(WEIGHT).cast(pl.Int64())",
        "value",
    ),
    Replacement(
        "a sum of changes below nothing is not said",
        "ColumnContents.has_value",
        "pl.lit(True) if discards and signed else pl.col(SIZE) > 0",
        "pl.col(SIZE) > 0",
    ),
    Replacement(
        "what was discarded still counts",
        "ColumnContents.discard",
        "pl.lit(0 if name in self._sums or name == SIZE else None, kinds[name])",
        "pl.col(SIZE) if name == SIZE else pl.lit(0 if name in self._sums else None, kinds[name])",
    ),
)

__all__ = ["STEP_MUTANTS"]
