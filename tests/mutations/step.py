"""Faults of the shard step: of compiled triggers, of arrival, merging and panes, and of stored contents."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

STEP_MUTANTS: Final = (
    Replacement("an error has the first group of a table", "for_rows", "table[len(found)]", "table[0]"),
    Replacement(
        "a member of a sequence observes elements before it is active",
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
        "OrFinally does not finish with its main trigger",
        "_fire",
        "pl.col(until.satisfied) | finished",
        "pl.col(until.satisfied)",
    ),
    Replacement(
        "OrFinally does not finish when its limit is ready",
        "_fire",
        "pl.col(until.satisfied) | finished",
        "finished",
    ),
    Replacement("a finished trigger fires again", "Automaton.evaluate", "~pl.col(CLOSED)", "pl.lit(True)"),
    Replacement(
        "a deadline is met only after its time",
        "_satisfied",
        "_deadline(trigger, once) <= clocks.processing_time",
        "_deadline(trigger, once) < clocks.processing_time",
    ),
    Replacement(
        "AtWatermark fires only when the watermark exceeds the end of the window",
        "_satisfied",
        "pl.col(end) <= clocks.percentile(percentile)",
        "pl.col(end) < clocks.percentile(percentile)",
    ),
    Replacement(
        "deadlines of inactive members of a sequence are timers",
        "_with_activity",
        "within & (pl.col(active) == number)",
        "within",
    ),
    Replacement(
        "AfterDelay counts from the last element",
        "SummaryColumns.merge",
        "pl.min_horizontal(one + FIRST, other + FIRST)",
        "pl.max_horizontal(one + FIRST, other + FIRST)",
    ),
    Replacement(
        "AfterInactivity counts from the first element",
        "SummaryColumns.merge",
        "pl.max_horizontal(one + LAST, other + LAST)",
        "pl.min_horizontal(one + LAST, other + LAST)",
    ),
    Replacement(
        "the total of a measure has no limit",
        "_capped",
        "pl.min_horizontal(total, pl.lit(leaf.amount, pl.Int128()))",
        "total",
    ),
    Replacement(
        "a retraction does not count as a change",
        "_precombine",
        "pl.lit(1, pl.Int64()).alias(NEW + SUMMARY_COUNT)",
        "(pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)).cast(pl.Int64()).alias(NEW + SUMMARY_COUNT)",
    ),
    Replacement(
        "a window expires one instant too late", "_is_expired", "pl.col(end) <= limit", "pl.col(end) < limit"
    ),
    Replacement(
        "an element that joins a live window is dropped if its own window has expired",
        "_merge",
        "(pl.col(MEMBERS) == 0) & _is_expired(stage, TO_END, state.watermark)",
        "_is_expired(stage, END, state.watermark)",
    ),
    Replacement("a reopened window keeps its trigger state", "_move", "several | reopened", "several"),
    Replacement("merged windows keep a trigger state", "_move", "several | reopened", "reopened"),
    Replacement("an extended window continues its pane index", "_move", "pl.when(grown)", "pl.when(several)"),
    Replacement(
        "a closed window contains its end",
        "_inside",
        "pl.col(POINT) < pl.col(_CLOSED_END)",
        "pl.col(POINT) <= pl.col(_CLOSED_END)",
    ),
    Replacement(
        "current panes do not move to the merged window",
        "_merge",
        "current_panes = _move_current_panes(stage, current_panes, goes)",
        "pass",
    ),
    Replacement(
        "adjacent sessions do not merge",
        "number_islands",
        "pl.col(START) > _reached(windows, keys)",
        "pl.col(START) >= _reached(windows, keys)",
    ),
    Replacement(
        "the end of a session is that of its last window",
        "_reached",
        "(offset + pl.col(END)).cum_max()",
        "(offset + pl.col(END))",
    ),
    Replacement(
        "sessions of neighbouring keys merge",
        "number_islands",
        "pl.any_horizontal(apart, *changed)",
        "pl.any_horizontal(apart)",
    ),
    Replacement(
        "expired sessions merge before they are dropped",
        "merge_islands",
        "table.filter(pl.col(END) > limit)",
        "table",
    ),
    Replacement(
        "fixed windows lose their end",
        "implied_bounds",
        "return {END: end_of_fixed(fixed)}",
        "return {END: pl.col(START)}",
    ),
    Replacement(
        "a reset trigger does not observe pending elements",
        "_observe",
        "_where(pl.col(RESTARTS), automaton.observe(PENDING))",
        "_where(pl.lit(False), automaton.observe(PENDING))",
    ),
    Replacement(
        "a restarted trigger does not accumulate pending elements",
        "_accumulate",
        "automaton.accumulate(table, PENDING, pl.col(RESTARTS))",
        "table",
    ),
    Replacement(
        "pending accumulators are lost",
        "_accumulate",
        "summary.merge_accumulators(table, PENDING, NEW)",
        "table",
    ),
    Replacement(
        "the step does not latch AtValue",
        "Automaton.evaluate_accumulators",
        "active & changed(name) & ~held if latches else active & changed(name)",
        "active & changed(name)",
    ),
    Replacement(
        "a window with a user-defined trigger that is due becomes dormant",
        "Automaton.is_restless",
        "pl.col(once.due(name)) <= clocks.processing_time",
        "pl.lit(False)",
    ),
    Replacement(
        "pending elements are lost", "_observe", "summary.merge(PENDING, NEW)", "summary.nothing(PENDING)"
    ),
    Replacement(
        "signals are ignored", "_step", "if clocks.signals:\n    ...", "if not clocks.signals:\n    ..."
    ),
    Replacement("emitted elements stay pending", "_reset_emitted", "pl.when(done)", "pl.when(False)"),
    Replacement(
        "late firings have the timing ON_TIME",
        "_decide",
        "(pl.col(END) > before) & (pl.col(END) <= clocks.watermark)",
        "pl.col(END) <= clocks.watermark",
    ),
    Replacement(
        "on_time=ALWAYS emits no pane of an empty window",
        "_decide",
        "has_value | insists & ~pl.col(CHANGED)",
        "has_value & ~(insists & ~pl.col(CHANGED))",
    ),
    Replacement("the pane of a finished trigger is not marked as last", "_decide", "final | closed", "final"),
    Replacement(
        "every retraction of a last firing is marked as last",
        "_retract",
        "pl.col(IS_LAST) & ~pl.col(EMITS_VALUE) & final",
        "pl.col(IS_LAST) & ~pl.col(EMITS_VALUE)",
    ),
    Replacement(
        "a retraction has the start of the merged window",
        "_retract",
        "taken.with_columns(bounds[PANE_START].alias(START), bounds[PANE_END].alias(END))",
        "taken.with_columns(bounds[PANE_END].alias(END))",
    ),
    Replacement(
        "future retractions do not hold the watermark",
        "with_holds",
        "point = pl.min_horizontal(point, HOLD)",
        "pass",
    ),
    Replacement(
        "pending elements do not hold the watermark",
        "with_holds",
        "pl.when(CHANGED)",
        "pl.when(~pl.col(CHANGED))",
    ),
    Replacement(
        "DISCARDING clears changes that it did not emit",
        "_reset_emitted",
        "EMITS_VALUE if discards else EMITS",
        "EMITS",
    ),
    Replacement(
        "a window is late when the watermark equals its end",
        "timing",
        "pl.col(END) > before",
        "pl.col(END) > before + 60000000",
    ),
    Replacement(
        "a retraction removes any equal value",
        "ValueList.add",
        "next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "opposite[0]",
    ),
    Replacement(
        "DISCARDING clears retractions without a value",
        "ObjectContents._after_discard",
        "values = tuple((one for one in contents.values if one.weight < 0))",
        "values: tuple[KeptValue, ...] = ()",
    ),
    Replacement(
        "a column combiner adds retractions",
        "ColumnContents._weighted",
        "value * pl.col(WEIGHT).cast(pl.Int64())",
        "value",
    ),
    Replacement(
        "a discarding sum omits a net retraction",
        "ColumnContents.has_value",
        "pl.lit(True) if discards and signed else pl.col(SIZE) > 0",
        "pl.col(SIZE) > 0",
    ),
    Replacement(
        "discarded elements still count",
        "ColumnContents.discard",
        "pl.lit(0 if name in self._sums or name == SIZE else None, kinds[name])",
        "pl.col(SIZE) if name == SIZE else pl.lit(0 if name in self._sums else None, kinds[name])",
    ),
)
