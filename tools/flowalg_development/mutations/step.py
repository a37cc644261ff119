"""Faults of the shard step: of the compiled automaton, of arrival, merging and panes, and of contents at rest."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

STEP_MUTANTS: Final = (
    Replacement(
        "a member of a sequence starts with what it saw before its turn",
        "_passed_on",
        "fresh = _reset(member) if number else {}",
        "fresh: dict[str, pl.Expr] = {}",
    ),
    Replacement(
        "a repeated trigger is not reset when it finishes",
        "_fired",
        "pl.when(finished).then(fresh[name]).otherwise(expr)",
        "expr",
    ),
    Replacement(
        "OrFinally goes on when its main trigger has finished",
        "_fired",
        "pl.col(until.holds) | finished",
        "pl.col(until.holds)",
    ),
    Replacement(
        "OrFinally goes on when its limit is ready", "_fired", "pl.col(until.holds) | finished", "finished"
    ),
    Replacement(
        "a trigger that has finished fires again", "Automaton.evaluate", "~pl.col(CLOSED)", "pl.lit(True)"
    ),
    Replacement(
        "a deadline counts only once it is past",
        "_holds",
        "deadline <= clocks.processing_time",
        "deadline < clocks.processing_time",
    ),
    Replacement(
        "AtWatermark waits for a watermark beyond the end of the window",
        "_holds",
        "pl.col(end) <= clocks.percentile(percentile)",
        "pl.col(end) < clocks.percentile(percentile)",
    ),
    Replacement(
        "deadlines of members whose turn it is not wake the engine",
        "_active",
        "within & (pl.col(active) == number)",
        "within",
    ),
    Replacement(
        "what came last starts the clocks",
        "Fields.merged",
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
        "the watermark behind a grouping moves back",
        "flowalg_shard:Clocks.with_hold",
        "max(before.watermark, min(self.watermark, hold))",
        "min(self.watermark, hold)",
    ),
    Replacement(
        "a retraction counts",
        "precombine",
        "pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)",
        "pl.lit(True)",
    ),
    Replacement(
        "a window expires an instant too late", "_expired", "pl.col(end) <= limit", "pl.col(end) < limit"
    ),
    Replacement(
        "what joins a live window is dropped when it would have expired",
        "_merge",
        "(pl.col(MEMBERS) == 0) & _expired(stage, TO_END, state.watermark)",
        "_expired(stage, END, state.watermark)",
    ),
    Replacement(
        "a complete window that is extended keeps its trigger", "_moved", "several | reopened", "several"
    ),
    Replacement("windows that merge keep a trigger of theirs", "_moved", "several | reopened", "reopened"),
    Replacement(
        "a window that grows goes on counting its panes", "_moved", "pl.when(grown)", "pl.when(several)"
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
        "standing = _standing_moved(stage, standing, goes)",
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
        "_observed",
        "_where(pl.col(AFRESH), automaton.observed(PENDING))",
        "_where(pl.lit(False), automaton.observed(PENDING))",
    ),
    Replacement(
        "what is pending is forgotten", "_observed", "fields.merged(PENDING, NEW)", "fields.nothing(PENDING)"
    ),
    Replacement(
        "signals are not heard", "step", "if clocks.signals:\n    ...", "if not clocks.signals:\n    ..."
    ),
    Replacement("what has been shown stays pending", "_moved_on", "pl.when(done)", "pl.when(False)"),
    Replacement(
        "late firings count as on time",
        "_decided",
        "(pl.col(END) > before) & (pl.col(END) <= clocks.watermark)",
        "pl.col(END) <= clocks.watermark",
    ),
    Replacement(
        "an empty window says nothing on time",
        "_decided",
        "gives | insists & ~pl.col(CHANGED)",
        "gives & ~(insists & ~pl.col(CHANGED))",
    ),
    Replacement("a pane of a finished trigger is not the last", "_decided", "expires | closed", "expires"),
    Replacement(
        "every retraction of a window's last is the last",
        "_taken_back",
        "pl.col(IS_LAST) & ~pl.col(SHOWN) & final",
        "pl.col(IS_LAST) & ~pl.col(SHOWN)",
    ),
    Replacement(
        "a retraction carries the window of now",
        "_taken_back",
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
        "_moved_on",
        "SHOWN if discards else SHOWS",
        "SHOWS",
    ),
    Replacement(
        "a window whose end the watermark meets is late",
        "timing",
        "pl.col(END) > before",
        "pl.col(END) > before + 60000000",
    ),
    Replacement(
        "a retraction takes back any equal value",
        "Line.take",
        "next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "opposite[0]",
    ),
    Replacement(
        "values are combined in order of arrival",
        "InObjects._result",
        "sorted(bag.held, key=lambda one: one.event_time)",
        "bag.held",
    ),
    Replacement(
        "values of one instant follow each other by partition",
        "InObjects._joined",
        "for _, one in sorted(arrived, key=lambda pair: pair[0]):\n    ...",
        "for _, one in arrived:\n    ...",
    ),
    Replacement(
        "retractions that met nothing are discarded too",
        "InObjects._rest",
        "held = tuple((one for one in bag.held if one.weight < 0))",
        "held: tuple[Held, ...] = ()",
    ),
    Replacement(
        "retractions are added", "InColumns._weighted", "value * pl.col(WEIGHT).cast(pl.Int64())", "value"
    ),
    Replacement(
        "a sum of changes below nothing is not said",
        "InColumns.gives",
        "pl.lit(True) if discards and signed else pl.col(SIZE) > 0",
        "pl.col(SIZE) > 0",
    ),
    Replacement(
        "what was discarded still counts",
        "InColumns.discarded",
        "pl.lit(0 if name in self._sums or name == SIZE else None, kinds[name])",
        "pl.col(SIZE) if name == SIZE else pl.lit(0 if name in self._sums else None, kinds[name])",
    ),
)

__all__ = ["STEP_MUTANTS"]
