"""Faults of the trigger automaton: boundaries, resets, and who observes what."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_AUTOMATON: Final = "interpreters/flowalg_reference/trigger_state.py"
_TRIGGERS: Final = "flowalg/triggers/syntax.py"
_CLOCKS: Final = "interpreters/flowalg_reference/elements.py"
_GROUPING: Final = "interpreters/flowalg_reference/grouping.py"
_RUN: Final = "interpreters/flowalg_reference/run.py"

TRIGGER_MUTANTS: Final = (
    Mutant(
        "AtWatermark waits for a watermark beyond the end of the window",
        _AUTOMATON,
        "clocks.percentile(percentile) >= window.end",
        "clocks.percentile(percentile) > window.end",
    ),
    Mutant(
        "AtWatermark is ready at the last instant of the window",
        _AUTOMATON,
        "clocks.percentile(percentile) >= window.end",
        "clocks.percentile(percentile) >= window.last_instant",
    ),
    Mutant(
        "AtWatermark(percentile=q) waits for the watermark itself",
        _AUTOMATON,
        "clocks.percentile(percentile) >= window.end",
        "clocks.watermark >= window.end",
    ),
    Mutant(
        "AtCount needs one element more",
        _AUTOMATON,
        "return summary.count >= count",
        "return summary.count > count",
    ),
    Mutant(
        "AtMeasure needs more than the amount",
        _AUTOMATON,
        "summary.measures.get(trigger, 0) >= amount",
        "summary.measures.get(trigger, 0) > amount",
    ),
    Mutant(
        "a deadline counts only once it is past",
        _AUTOMATON,
        "clocks.processing_time >= trigger.deadline(summary.since)",
        "clocks.processing_time > trigger.deadline(summary.since)",
    ),
    Mutant(
        "And is ready when any of its parts is",
        _AUTOMATON,
        "return all(is_satisfied(part, summary, window, clocks) for part in parts)",
        "return any(is_satisfied(part, summary, window, clocks) for part in parts)",
    ),
    Mutant(
        "Or is ready when all of its parts are",
        _AUTOMATON,
        "return any(is_satisfied(part, summary, window, clocks) for part in parts)",
        "return all(is_satisfied(part, summary, window, clocks) for part in parts)",
    ),
    Mutant(
        "Repeat does not reset what has finished",
        _AUTOMATON,
        "return RepeatState(initial_state(repeated) if isinstance(after, Finished) else after)",
        "return RepeatState(after)",
    ),
    Mutant(
        "Repeat resets after every firing, finished or not",
        _AUTOMATON,
        "return RepeatState(initial_state(repeated) if isinstance(after, Finished) else after)",
        "return RepeatState(initial_state(repeated))",
    ),
    Mutant(
        "Repeat finishes when what it repeats does",
        _AUTOMATON,
        "return RepeatState(initial_state(repeated) if isinstance(after, Finished) else after)",
        "return after if isinstance(after, Finished) else RepeatState(after)",
    ),
    Mutant(
        "the limit of OrFinally is reset whenever main fires",
        _AUTOMATON,
        "else OrFinallyState(after, limit)",
        "else OrFinallyState(after, OnceState())",
    ),
    Mutant(
        "the limit of OrFinally observes nothing",
        _AUTOMATON,
        "return OrFinallyState(observe(inner, summary), OnceState(limit.summary.merge(summary)))",
        "return OrFinallyState(observe(inner, summary), limit)",
    ),
    Mutant(
        "OrFinally starts main again when main finishes",
        _AUTOMATON,
        "return Finished() if isinstance(after, Finished) else OrFinallyState(after, limit)",
        "return OrFinallyState(initial_state(main) if isinstance(after, Finished) else after, limit)",
    ),
    Mutant(
        "OrFinally fires at its limit, but goes on",
        _AUTOMATON,
        "limit.summary, window, clocks):\n                return Finished()\n",
        "limit.summary, window, clocks):\n                return OrFinallyState(inner, limit)\n",
    ),
    Mutant(
        "OrFinally finishes at its limit, but only when main is ready too",
        _AUTOMATON,
        "return is_satisfied(until, limit.summary, window, clocks) or is_ready(main, inner, window, clocks)",
        "return is_ready(main, inner, window, clocks)",
    ),
    Mutant(
        "the next member of a sequence starts on what the last one has seen",
        _AUTOMATON,
        "SequenceState(active + 1, initial_state(parts[active + 1]))",
        "SequenceState(\n"
        "                active + 1,\n"
        "                observe(\n"
        "                    initial_state(parts[active + 1]),\n"
        "                    inner.summary if isinstance(inner, OnceState) else TriggerSummary(),\n"
        "                ),\n"
        "            )",
    ),
    Mutant(
        "a sequence finishes one member early",
        _AUTOMATON,
        "last = active + 1 == len(parts)",
        "last = active + 2 >= len(parts)",
    ),
    Mutant(
        "a sequence begins again after its last member",
        _AUTOMATON,
        "return Finished() if last else SequenceState(active + 1",
        "return SequenceState(0, initial_state(parts[0])) if last else SequenceState(active + 1",
    ),
    Mutant(
        "a sequence moves on at each firing of its active member",
        _AUTOMATON,
        "            if not isinstance(after, Finished):\n                return SequenceState(active, after)\n",
        "",
    ),
    Mutant(
        "what is seen keeps the later of two arrivals",
        _AUTOMATON,
        "min(times, default=None)",
        "max(times, default=None)",
    ),
    Mutant(
        "what is seen has the larger of two measures, not their sum",
        _AUTOMATON,
        "self.measures.get(leaf, 0) + other.measures.get(leaf, 0)",
        "max(self.measures.get(leaf, 0), other.measures.get(leaf, 0))",
    ),
    Mutant(
        "an element that satisfies a predicate is forgotten at the next one",
        _AUTOMATON,
        "self.satisfied | other.satisfied,",
        "other.satisfied,",
    ),
    Mutant(
        "a signal is forgotten when an element comes",
        _AUTOMATON,
        "self.signals | other.signals,",
        "other.signals,",
    ),
    Mutant(
        "a retraction counts as an element",
        _AUTOMATON,
        "        return TriggerSummary(since=time)\n",
        "        return TriggerSummary(1, time)\n",
    ),
    Mutant(
        "a retraction starts no clock",
        _AUTOMATON,
        "        return TriggerSummary(since=time)\n",
        "        return TriggerSummary()\n",
    ),
    Mutant(
        "the deadlines of a limit are forgotten",
        _AUTOMATON,
        "_soonest((at_limit, next_deadline(main, inner, window, clocks)))",
        "next_deadline(main, inner, window, clocks)",
    ),
    Mutant(
        "both of two are due when one of them is",
        _AUTOMATON,
        "return max(known) if",
        "return min(known) if",
    ),
    Mutant(
        "both of two are due though one waits for something else",
        _AUTOMATON,
        "if len(known) == len(points) else None",
        "if known else None",
    ),
    Mutant(
        "what holds already keeps both of two from being due",
        _AUTOMATON,
        "return clocks.processing_time if is_satisfied(trigger, summary, window, clocks) else None",
        "return None",
    ),
    Mutant(
        "AtPeriod skips a boundary at which an element comes",
        _TRIGGERS,
        "ProcessingTime(first + (offset - first) % period)",
        "ProcessingTime(first + period - (first - offset) % period)",
    ),
    Mutant(
        "AtPeriod ignores its offset",
        _TRIGGERS,
        "ProcessingTime(first + (offset - first) % period)",
        "ProcessingTime(first + (0 - first) % period)",
    ),
    Mutant(
        "early firings come once instead of repeatedly",
        _TRIGGERS,
        "return SequenceOf(OrFinally(Repeat(early), self))",
        "return SequenceOf(OrFinally(early, self))",
    ),
    Mutant(
        "late firings come once",
        _TRIGGERS,
        "return SequenceOf(self, Repeat(late))",
        "return SequenceOf(self, late)",
    ),
    Mutant(
        "a percentile watermark may be behind the watermark",
        _CLOCKS,
        "return max(known, self.watermark)",
        "return known",
    ),
    Mutant(
        "a signal wakes no window",
        _GROUPING,
        "        touched |= set(self._signal(signals))\n",
        "        touched &= {*touched, *self._signal(signals)}\n",
    ),
    Mutant(
        "a trigger that is ready again at once waits for what comes next",
        _GROUPING,
        "self.ready_again.add(keyed_window)",
        "self.ready_again.discard(keyed_window)",
    ),
    Mutant(
        "percentile watermarks wake no window",
        _GROUPING,
        "due += [KeyedWindow(window, key) for key, windows in self.windows.items() for window in windows]",
        "pass",
    ),
    Mutant(
        "a deadline that is reached exactly does not wake its window",
        _GROUPING,
        "self.processing_timers[0][0] <= clocks.processing_time",
        "self.processing_timers[0][0] < clocks.processing_time",
    ),
    Mutant(
        "a deadline at an instant fires before the elements of that instant",
        _RUN,
        "min(pending) >= until",
        "min(pending) > until",
    ),
    Mutant(
        "a micro-batch engine wakes at deadlines",
        _RUN,
        "if spec.mode is Mode.CONTINUOUS and before is not None:",
        "if before is not None:",
    ),
    Mutant(
        "a continuous engine sleeps through deadlines",
        _RUN,
        "if spec.mode is Mode.CONTINUOUS and before is not None:",
        "if spec.mode is Mode.MICRO_BATCH and before is not None:",
    ),
)
"""The automaton, its clocks, and when it is woken."""

__all__ = ["TRIGGER_MUTANTS"]
