"""Faults of the trigger automaton: boundaries, resets, and who observes what."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

TRIGGER_MUTANTS: Final = (
    Replacement(
        "AtWatermark waits for a watermark beyond the end of the window",
        "is_satisfied",
        "clocks.percentile(percentile) >= window.end",
        "clocks.percentile(percentile) > window.end",
    ),
    Replacement(
        "AtWatermark is ready at the last instant of the window",
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
        "AtCount needs one element more", "is_satisfied", "summary.count >= count", "summary.count > count"
    ),
    Replacement(
        "AtMeasure needs more than the amount",
        "is_satisfied",
        "summary.measures.get(trigger, 0) >= amount",
        "summary.measures.get(trigger, 0) > amount",
    ),
    Replacement(
        "a deadline counts only once it is past",
        "is_satisfied",
        "clocks.processing_time >= trigger.deadline(summary.since)",
        "clocks.processing_time > trigger.deadline(summary.since)",
    ),
    Replacement(
        "And is ready when any of its parts is",
        "is_satisfied",
        "all(is_satisfied(part, summary, window, clocks) for part in parts)",
        "any(is_satisfied(part, summary, window, clocks) for part in parts)",
    ),
    Replacement(
        "Or is ready when all of its parts are",
        "is_satisfied",
        "any(is_satisfied(part, summary, window, clocks) for part in parts)",
        "all(is_satisfied(part, summary, window, clocks) for part in parts)",
    ),
    Replacement(
        "Repeat does not reset what has finished",
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
        "Repeat finishes when what it repeats does",
        "fire",
        "RepeatState(initial_state(repeated) if isinstance(after, Finished) else after)",
        "after if isinstance(after, Finished) else RepeatState(after)",
    ),
    Replacement(
        "the limit of OrFinally is reset whenever main fires",
        "fire",
        "OrFinallyState(after, limit)",
        "OrFinallyState(after, OnceState())",
    ),
    Replacement(
        "the limit of OrFinally observes nothing",
        "observe",
        "OnceState(limit.summary.merge(summary))",
        "limit",
    ),
    Replacement(
        "OrFinally starts main again when main finishes",
        "fire",
        "Finished() if isinstance(after, Finished) else OrFinallyState(after, limit)",
        "OrFinallyState(initial_state(main) if isinstance(after, Finished) else after, limit)",
    ),
    Replacement(
        "OrFinally fires at its limit, but goes on",
        "fire",
        "if is_satisfied(until, limit.summary, window, clocks):\n    return Finished()",
        "if is_satisfied(until, limit.summary, window, clocks):\n    return OrFinallyState(inner, limit)",
    ),
    Replacement(
        "OrFinally finishes at its limit, but only when main is ready too",
        "is_ready",
        "is_satisfied(until, limit.summary, window, clocks) or is_ready(main, inner, window, clocks)",
        "is_ready(main, inner, window, clocks)",
    ),
    Replacement(
        "the next member of a sequence starts on what the last one has seen",
        "fire",
        "initial_state(parts[active + 1])",
        "observe(initial_state(parts[active + 1]), "
        "inner.summary if isinstance(inner, OnceState) else TriggerSummary())",
    ),
    Replacement(
        "a sequence finishes one member early", "fire", "active + 1 == len(parts)", "active + 2 >= len(parts)"
    ),
    Replacement(
        "a sequence begins again after its last member",
        "fire",
        "Finished() if last else SequenceState(active + 1, initial_state(parts[active + 1]))",
        "SequenceState(0, initial_state(parts[0])) if last else "
        "SequenceState(active + 1, initial_state(parts[active + 1]))",
    ),
    Replacement(
        "a sequence moves on at each firing of its active member",
        "fire",
        "if not isinstance(after, Finished):\n    return SequenceState(active, after)",
        "pass",
    ),
    Replacement(
        "what is seen keeps the later of two arrivals",
        "TriggerSummary.merge",
        "min(times, default=None)",
        "max(times, default=None)",
    ),
    Replacement(
        "what is seen has the larger of two measures, not their sum",
        "TriggerSummary.merge",
        "self.measures.get(leaf, 0) + other.measures.get(leaf, 0)",
        "max(self.measures.get(leaf, 0), other.measures.get(leaf, 0))",
    ),
    Replacement(
        "an element that satisfies a predicate is forgotten at the next one",
        "TriggerSummary.merge",
        "self.satisfied | other.satisfied",
        "other.satisfied",
    ),
    Replacement(
        "a signal is forgotten when an element comes",
        "TriggerSummary.merge",
        "self.signals | other.signals",
        "other.signals",
    ),
    Replacement(
        "a retraction counts as an element",
        "summarize",
        "TriggerSummary(since=time)",
        "TriggerSummary(1, time)",
    ),
    Replacement(
        "a retraction starts no clock", "summarize", "TriggerSummary(since=time)", "TriggerSummary()"
    ),
    Replacement(
        "the deadlines of a limit are forgotten",
        "next_deadline",
        "_soonest((at_limit, next_deadline(main, inner, window, clocks)))",
        "next_deadline(main, inner, window, clocks)",
    ),
    Replacement(
        "both of two are due when one of them is",
        "_satisfied_from",
        "max(known) if len(known) == len(points) else None",
        "min(known) if len(known) == len(points) else None",
    ),
    Replacement(
        "both of two are due though one waits for something else",
        "_satisfied_from",
        "len(known) == len(points)",
        "known",
    ),
    Replacement(
        "what holds already keeps both of two from being due",
        "_satisfied_from",
        "clocks.processing_time if is_satisfied(trigger, summary, window, clocks) else None",
        "None",
    ),
    Replacement(
        "AtPeriod skips a boundary at which an element comes",
        "AtPeriod.deadline",
        "first + (offset - first) % period",
        "first + period - (first - offset) % period",
    ),
    Replacement("AtPeriod ignores its offset", "AtPeriod.deadline", "offset - first", "0 - first"),
    Replacement(
        "early firings come once instead of repeatedly",
        "AtWatermark.with_early_firings",
        "OrFinally(Repeat(early), self)",
        "OrFinally(early, self)",
    ),
    Replacement(
        "late firings come once",
        "AtWatermark.with_late_firings",
        "SequenceOf(self, Repeat(late))",
        "SequenceOf(self, late)",
    ),
    Replacement(
        "a percentile watermark may be behind the watermark",
        "Clocks.percentile",
        "max(known, self.watermark)",
        "known",
    ),
    Replacement(
        "a signal wakes no window",
        "Grouping.advance",
        "touched |= set(self._signal(clocks.signals))",
        "touched &= {*touched, *self._signal(clocks.signals)}",
    ),
    Replacement(
        "a trigger that is ready again at once waits for what comes next",
        "Grouping._schedule",
        "self.ready_again.add(keyed_window)",
        "self.ready_again.discard(keyed_window)",
    ),
    Replacement(
        "percentile watermarks wake no window",
        "Grouping._due",
        "due += [KeyedWindow(window, key) for key, windows in self.windows.items() for window in windows]",
        "pass",
    ),
    Replacement(
        "a deadline that is reached exactly does not wake its window",
        "Grouping._due",
        "self.processing_timers[0][0] <= clocks.processing_time",
        "self.processing_timers[0][0] < clocks.processing_time",
    ),
    Replacement(
        "a deadline at an instant fires before the elements of that instant",
        "empty_instants",
        "deadline < until",
        "deadline <= until",
    ),
    Replacement(
        "a micro-batch engine wakes at deadlines",
        "execute",
        "spec.mode is Mode.CONTINUOUS and before is not None",
        "before is not None",
    ),
    Replacement(
        "a continuous engine sleeps through deadlines",
        "execute",
        "spec.mode is Mode.CONTINUOUS",
        "spec.mode is Mode.MICRO_BATCH",
    ),
)
"""The automaton, its clocks, and when it is woken."""


__all__ = ["TRIGGER_MUTANTS"]
