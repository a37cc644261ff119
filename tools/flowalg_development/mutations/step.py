"""Faults of the shard step: of the compiled automaton, of arrival, merging and panes, and of contents at rest."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_SHARD: Final = "interpreters/flowalg_shard"
_AUTOMATON: Final = f"{_SHARD}/step/automaton.py"
_SEEN: Final = f"{_SHARD}/step/trigger_summary.py"
_CLOCKS: Final = f"{_SHARD}/clocks/clocks.py"
_BUNDLE: Final = f"{_SHARD}/step/bundle.py"
_ARRIVAL: Final = f"{_SHARD}/step/arrival.py"
_MERGING: Final = f"{_SHARD}/step/merging.py"
_STEP: Final = f"{_SHARD}/step/step.py"
_PANES: Final = f"{_SHARD}/step/panes.py"
_OBJECTS: Final = f"{_SHARD}/step/objects.py"
_AGGREGATES: Final = f"{_SHARD}/step/aggregates.py"

STEP_MUTANTS: Final = (
    Mutant(
        "a member of a sequence starts with what it saw before its turn",
        _AUTOMATON,
        "fresh = _reset(member) if number else {}",
        "fresh: dict[str, pl.Expr] = {}",
    ),
    Mutant(
        "a repeated trigger is not reset when it finishes",
        _AUTOMATON,
        "name: pl.when(finished).then(fresh[name]).otherwise(expr).alias(name)",
        "name: expr.alias(name)",
    ),
    Mutant(
        "OrFinally goes on when its main trigger has finished",
        _AUTOMATON,
        "return pl.col(until.holds) | finished, after",
        "return pl.col(until.holds), after",
    ),
    Mutant(
        "OrFinally goes on when its limit is ready",
        _AUTOMATON,
        "return pl.col(until.holds) | finished, after",
        "return finished, after",
    ),
    Mutant(
        "a trigger that has finished fires again",
        _AUTOMATON,
        "fires &= ~pl.col(CLOSED)",
        "fires &= pl.lit(True)",
    ),
    Mutant(
        "a deadline counts only once it is past",
        _AUTOMATON,
        "(deadline <= clocks.processing_time)",
        "(deadline < clocks.processing_time)",
    ),
    Mutant(
        "AtWatermark waits for a watermark beyond the end of the window",
        _AUTOMATON,
        "pl.col(end) <= clocks.percentile(percentile)",
        "pl.col(end) < clocks.percentile(percentile)",
    ),
    Mutant(
        "deadlines of members whose turn it is not wake the engine",
        _AUTOMATON,
        "yield from _active(member, within & (pl.col(active) == number))",
        "yield from _active(member, within)",
    ),
    Mutant(
        "what came last starts the clocks",
        _SEEN,
        "pl.min_horizontal(one + SINCE, other + SINCE)",
        "pl.max_horizontal(one + SINCE, other + SINCE)",
    ),
    Mutant(
        "a measure is added up without an end",
        _SEEN,
        "return pl.min_horizontal(total, pl.lit(leaf.amount, pl.Int128())).cast(pl.Int64())",
        "return total.cast(pl.Int64())",
    ),
    Mutant(
        "the watermark behind a grouping moves back",
        _CLOCKS,
        "watermark = max(before.watermark, min(self.watermark, hold))",
        "watermark = min(self.watermark, hold)",
    ),
    Mutant(
        "a retraction counts",
        _BUNDLE,
        "given = pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)",
        "given = pl.lit(True)",
    ),
    Mutant(
        "a window expires an instant too late",
        _ARRIVAL,
        "pl.lit(False) if limit is None else pl.col(end) <= limit",
        "pl.lit(False) if limit is None else pl.col(end) < limit",
    ),
    Mutant(
        "what joins a live window is dropped when it would have expired",
        _ARRIVAL,
        "expired = (pl.col(MEMBERS) == 0) & _expired(stage, TO_END, state.watermark)",
        "expired = _expired(stage, END, state.watermark)",
    ),
    Mutant(
        "a complete window that is extended keeps its trigger",
        _ARRIVAL,
        "(several | reopened).alias(AFRESH)",
        "several.alias(AFRESH)",
    ),
    Mutant(
        "windows that merge keep a trigger of theirs",
        _ARRIVAL,
        "(several | reopened).alias(AFRESH)",
        "reopened.alias(AFRESH)",
    ),
    Mutant(
        "a window that grows goes on counting its panes",
        _ARRIVAL,
        "pl.when(grown).then(0)",
        "pl.when(several).then(0)",
    ),
    Mutant(
        "the end is inside of a closed window",
        _ARRIVAL,
        "(pl.col(POINT) < pl.col(_CLOSED_END))",
        "(pl.col(POINT) <= pl.col(_CLOSED_END))",
    ),
    Mutant(
        "panes that stand are left behind when windows merge",
        _ARRIVAL,
        "    standing = _standing_moved(stage, standing, goes)\n",
        "",
    ),
    Mutant(
        "sessions that touch stay apart",
        _MERGING,
        "apart = (pl.col(START) > before).fill_null(True)",
        "apart = (pl.col(START) >= before).fill_null(True)",
    ),
    Mutant(
        "a session reaches as far as the last window in it",
        _MERGING,
        "pl.col(END).cum_max().shift(1)",
        "pl.col(END).shift(1)",
    ),
    Mutant(
        "a trigger that starts afresh is not shown what is pending",
        _STEP,
        "_where(pl.col(AFRESH), automaton.observed(PENDING))",
        "_where(pl.lit(False), automaton.observed(PENDING))",
    ),
    Mutant(
        "what is pending is forgotten",
        _STEP,
        "table = table.with_columns(**fields.merged(PENDING, NEW))",
        "table = table.with_columns(**fields.nothing(PENDING))",
    ),
    Mutant(
        "signals are not heard",
        _STEP,
        "if clocks.signals:",
        "if not clocks.signals:",
    ),
    Mutant(
        "what has been shown stays pending",
        _PANES,
        "pl.when(done).then(expr).otherwise(pl.col(name))",
        "pl.when(False).then(expr).otherwise(pl.col(name))",
    ),
    Mutant(
        "late firings count as on time",
        _PANES,
        "passed = (pl.col(END) > before) & (pl.col(END) <= clocks.watermark)",
        "passed = pl.col(END) <= clocks.watermark",
    ),
    Mutant(
        "an empty window says nothing on time",
        _PANES,
        "gives = gives | (insists & ~pl.col(CHANGED))",
        "gives = gives & ~(insists & ~pl.col(CHANGED))",
    ),
    Mutant(
        "a pane of a finished trigger is not the last",
        _PANES,
        "(expires | closed).alias(IS_LAST)",
        "expires.alias(IS_LAST)",
    ),
    Mutant(
        "every retraction of a window's last is the last",
        _PANES,
        "(pl.col(IS_LAST) & ~pl.col(SHOWN) & final)",
        "(pl.col(IS_LAST) & ~pl.col(SHOWN))",
    ),
    Mutant(
        "a retraction carries the window of now",
        _PANES,
        "bounds[PANE_START].alias(START), bounds[PANE_END].alias(END)",
        "bounds[PANE_END].alias(END)",
    ),
    Mutant(
        "retractions to come do not hold the watermark",
        _PANES,
        "point = pl.min_horizontal(point, HOLD)",
        "pass",
    ),
    Mutant(
        "what is pending does not hold the watermark",
        _PANES,
        "table.with_columns(pl.when(CHANGED).then(point).alias(HOLD))",
        "table.with_columns(pl.when(~pl.col(CHANGED)).then(point).alias(HOLD))",
    ),
    Mutant(
        "a discarding window forgets changes that it could not show",
        _PANES,
        "done = pl.col(SHOWN if discards else SHOWS)",
        "done = pl.col(SHOWS)",
    ),
    Mutant(
        "a window whose end the watermark meets is late",
        _PANES,
        ".when(pl.col(END) > before)",
        ".when(pl.col(END) > before + 60_000_000)",
    ),
    Mutant(
        "a retraction takes back any equal value",
        _OBJECTS,
        "met = next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "met = opposite[0]",
    ),
    Mutant(
        "values are combined in order of arrival",
        _OBJECTS,
        "for one in sorted(bag.held, key=lambda one: one.event_time):",
        "for one in bag.held:",
    ),
    Mutant(
        "values of one instant follow each other by partition",
        _OBJECTS,
        "for _, one in sorted(arrived, key=lambda pair: pair[0]):",
        "for _, one in arrived:",
    ),
    Mutant(
        "retractions that met nothing are discarded too",
        _OBJECTS,
        "held = tuple(one for one in bag.held if one.weight < 0)",
        "held: tuple[Held, ...] = ()",
    ),
    Mutant(
        "retractions are added",
        _AGGREGATES,
        "return value * pl.col(WEIGHT).cast(pl.Int64())",
        "return value",
    ),
    Mutant(
        "a sum of changes below nothing is not said",
        _AGGREGATES,
        "return pl.lit(True) if discards and signed else pl.col(SIZE) > 0",
        "return pl.col(SIZE) > 0",
    ),
    Mutant(
        "what was discarded still counts",
        _AGGREGATES,
        "pl.lit(0 if name in self._sums or name == SIZE else None, kinds[name])",
        "(pl.col(SIZE) if name == SIZE else pl.lit(0 if name in self._sums else None, kinds[name]))",
    ),
)

__all__ = ["STEP_MUTANTS"]
