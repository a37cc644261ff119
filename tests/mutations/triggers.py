"""Faults of triggers: boundaries, resets and observations."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

TRIGGER_MUTANTS: Final = (
    Replacement(
        "AtWatermark fires only when the watermark exceeds the end of the window",
        "is_satisfied",
        "clocks.percentile(percentile) >= window.end",
        "clocks.percentile(percentile) > window.end",
    ),
    Replacement(
        "AtWatermark fires at the last instant of the window",
        "is_satisfied",
        "clocks.percentile(percentile) >= window.end",
        "clocks.percentile(percentile) >= window.last_instant",
    ),
    Replacement(
        "AtWatermark(percentile=q) waits for the watermark itself",
        "is_satisfied",
        "clocks.percentile(percentile)",
        "clocks.watermark",
    ),
    Replacement(
        "AtCount fires one element too late",
        "is_satisfied",
        "summary.count >= count",
        "summary.count > count",
    ),
    Replacement(
        "AtMeasure fires only above its amount",
        "is_satisfied",
        "summary.measures.get(trigger, 0) >= amount",
        "summary.measures.get(trigger, 0) > amount",
    ),
    Replacement(
        "AfterInactivity counts from the first element", "deadline_of", "summary.last", "summary.first"
    ),
    Replacement(
        "a deadline is met only after its time",
        "is_satisfied",
        "clocks.processing_time >= deadline",
        "clocks.processing_time > deadline",
    ),
    Replacement(
        "And fires when any of its triggers is satisfied",
        "is_satisfied",
        "all(is_satisfied(part, state, window, clocks) for part in parts)",
        "any(is_satisfied(part, state, window, clocks) for part in parts)",
    ),
    Replacement(
        "Or fires only when all of its triggers are satisfied",
        "is_satisfied",
        "any(is_satisfied(part, state, window, clocks) for part in parts)",
        "all(is_satisfied(part, state, window, clocks) for part in parts)",
    ),
    Replacement(
        "Repeat does not reset a finished trigger",
        "fire",
        "initial_state(repeated) if isinstance(after, Finished) else after",
        "after",
    ),
    Replacement(
        "Repeat resets after every firing, finished or not",
        "fire",
        "initial_state(repeated) if isinstance(after, Finished) else after",
        "initial_state(repeated)",
    ),
    Replacement(
        "Repeat finishes with its trigger",
        "fire",
        "RepeatState(initial_state(repeated) if isinstance(after, Finished) else after)",
        "after if isinstance(after, Finished) else RepeatState(after)",
    ),
    Replacement(
        "the limit of OrFinally is reset at each firing",
        "fire",
        "OrFinallyState(after, limit)",
        "OrFinallyState(after, OnceState())",
    ),
    Replacement(
        "the limit of OrFinally observes nothing",
        "observe",
        "limit.observe(until, summary)",
        "limit",
    ),
    Replacement(
        "OrFinally resets its main trigger when that finishes",
        "fire",
        "Finished() if isinstance(after, Finished) else OrFinallyState(after, limit)",
        "OrFinallyState(initial_state(main) if isinstance(after, Finished) else after, limit)",
    ),
    Replacement(
        "OrFinally fires at its limit but does not finish",
        "fire",
        "if is_satisfied(until, limit, window, clocks):\n    return Finished()",
        "if is_satisfied(until, limit, window, clocks):\n    return OrFinallyState(inner, limit)",
    ),
    Replacement(
        "OrFinally is not ready at its limit",
        "is_ready",
        "is_satisfied(until, limit, window, clocks) or is_ready(main, inner, window, clocks)",
        "is_ready(main, inner, window, clocks)",
    ),
    Replacement(
        "the next member of a sequence starts with the observations of its predecessor",
        "fire",
        "initial_state(parts[active + 1])",
        "observe(parts[active + 1], initial_state(parts[active + 1]), "
        "inner.summary if isinstance(inner, OnceState) else TriggerSummary())",
    ),
    Replacement(
        "a sequence finishes one member early", "fire", "active + 1 == len(parts)", "active + 2 >= len(parts)"
    ),
    Replacement(
        "a sequence restarts after its last member",
        "fire",
        "Finished() if last else SequenceState(active + 1, initial_state(parts[active + 1]))",
        "SequenceState(0, initial_state(parts[0])) if last else "
        "SequenceState(active + 1, initial_state(parts[active + 1]))",
    ),
    Replacement(
        "a sequence advances at each firing of its active member",
        "fire",
        "if not isinstance(after, Finished):\n    return SequenceState(active, after)",
        "pass",
    ),
    Replacement(
        "a merged summary keeps the later of two arrival times",
        "TriggerSummary.merge",
        "min(times, default=None)",
        "max(times, default=None)",
    ),
    Replacement(
        "a merged summary has the maximum of two measures instead of their sum",
        "TriggerSummary.merge",
        "self.measures.get(leaf, 0) + other.measures.get(leaf, 0)",
        "max(self.measures.get(leaf, 0), other.measures.get(leaf, 0))",
    ),
    Replacement(
        "a satisfied predicate is reset at the next element",
        "TriggerSummary.merge",
        "self.satisfied | other.satisfied",
        "other.satisfied",
    ),
    Replacement(
        "a signal is reset at the next element",
        "TriggerSummary.merge",
        "self.signals | other.signals",
        "other.signals",
    ),
    Replacement(
        "AtValue does not latch",
        "OnceState.observe",
        "self.latched.union(held)",
        "frozenset(held)",
    ),
    Replacement(
        "AtValue does not combine with earlier instants",
        "OnceState.observe",
        "holds(leaf, known.accumulated[leaf])",
        "holds(leaf, summary.accumulated[leaf])",
    ),
    Replacement(
        "a predicate of combined values is evaluated although everything was retracted",
        "holds",
        "observed.size <= 0 and not is_signed(leaf.combiner)",
        "False",
    ),
    Replacement(
        "a retraction does not change combined values",
        "accumulate",
        "Accumulated(subtract(combiner, combiner.zero(), value), -1)",
        "None",
    ),
    Replacement(
        "accumulators of both summaries are not merged",
        "TriggerSummary.merge",
        "{**self.accumulated, **other.accumulated, **merged}",
        "{**self.accumulated, **other.accumulated}",
    ),
    Replacement(
        "a user-defined trigger is ready before it is due",
        "_is_custom_ready",
        "clocks.processing_time < due",
        "False",
    ),
    Replacement(
        "a user-defined trigger has no deadline",
        "_satisfied_from",
        "due_time(trigger, state.summary)",
        "None",
    ),
    Replacement(
        "a user-defined trigger is evaluated only when an element arrives",
        "depends_on_every_instant",
        "leaf.due is not None",
        "leaf.due is None",
    ),
    Replacement(
        "a retraction does not count as a change",
        "summarize",
        "TriggerSummary(1, time, time, measures, satisfied, accumulated=accumulated)",
        "TriggerSummary(int(weight > 0), time, time, measures, satisfied, accumulated=accumulated)",
    ),
    Replacement(
        "a retraction does not start delays",
        "summarize",
        "TriggerSummary(1, time, time, measures, satisfied, accumulated=accumulated)",
        "TriggerSummary(1, *((time, time) if weight > 0 else (None, None)), measures, satisfied, "
        "accumulated=accumulated)",
    ),
    Replacement(
        "the deadlines of the limit of OrFinally are ignored",
        "next_deadline",
        "_soonest((at_limit, next_deadline(main, inner, window, clocks)))",
        "next_deadline(main, inner, window, clocks)",
    ),
    Replacement(
        "And is due at the first of its deadlines",
        "_satisfied_from",
        "max(known) if len(known) == len(points) else None",
        "min(known) if len(known) == len(points) else None",
    ),
    Replacement(
        "And is due at a deadline although a trigger without a deadline is not satisfied",
        "_satisfied_from",
        "len(known) == len(points)",
        "known",
    ),
    Replacement(
        "And with a satisfied trigger has no deadline",
        "_satisfied_from",
        "clocks.processing_time if is_satisfied(trigger, state, window, clocks) else None",
        "None",
    ),
    Replacement(
        "AtPeriod skips a boundary at which an element arrives",
        "AtPeriod.deadline",
        "first + (offset - first) % period",
        "first + period - (first - offset) % period",
    ),
    Replacement("AtPeriod ignores its offset", "AtPeriod.deadline", "offset - first", "0 - first"),
    Replacement(
        "early firings fire once",
        "AtWatermark.with_early_firings",
        "OrFinally(Repeat(early), self)",
        "OrFinally(early, self)",
    ),
    Replacement(
        "late firings fire once",
        "AtWatermark.with_late_firings",
        "SequenceOf(self, Repeat(late))",
        "SequenceOf(self, late)",
    ),
    Replacement(
        "a percentile watermark is behind the watermark",
        "Clocks.percentile",
        "max(known, self.watermark)",
        "known",
    ),
    Replacement(
        "a signal to a key reaches all keys",
        "_reaches",
        "signal.key == key and type(signal.key) is type(key)",
        "True",
    ),
    Replacement(
        "a signal to a window reaches all windows of its key",
        "_reaches",
        "signal.window in (None, window)",
        "True",
    ),
    Replacement(
        "a signal to a key reaches all keys of a shard",
        "flowalg_shard:_reached",
        "pl.col(name).eq_missing(pl.lit(column.cast(table.schema[name])))",
        "pl.lit(True)",
    ),
    Replacement(
        "no window is evaluated at a signal",
        "Grouping._advance",
        "touched |= set(self._signal(clocks.signals))",
        "touched &= {*touched, *self._signal(clocks.signals)}",
    ),
    Replacement(
        "a trigger that is ready again is not evaluated in the next instant",
        "Grouping._schedule",
        "self.ready_again.add(keyed_window)",
        "self.ready_again.discard(keyed_window)",
    ),
    Replacement(
        "no window is evaluated at a percentile watermark",
        "Grouping._due",
        "due += [KeyedWindow(window, key) for key, windows in self.windows.items() for window in windows]",
        "pass",
    ),
    Replacement(
        "a window is evaluated only after its deadline",
        "Grouping._due",
        "self.processing_timers[0][0] <= clocks.processing_time",
        "self.processing_timers[0][0] < clocks.processing_time",
    ),
    Replacement(
        "a deadline at the time of an instant fires before its elements",
        "empty_instants",
        "deadline < until",
        "deadline <= until",
    ),
    Replacement(
        "a micro-batch engine evaluates windows at deadlines",
        "_advance",
        "mode is Mode.CONTINUOUS and before is not None",
        "before is not None",
    ),
    Replacement(
        "a continuous engine does not evaluate windows at deadlines",
        "_advance",
        "mode is Mode.CONTINUOUS",
        "mode is Mode.MICRO_BATCH",
    ),
)
"""Faults of trigger states, of clocks, and of timers."""
