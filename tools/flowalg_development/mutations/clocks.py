"""Faults of watermarks: of policies and their reports, and of the holds in a pipeline."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_CLOCK: Final = "flowalg/watermarks/clock.py"
_LAGS: Final = "flowalg/watermarks/lags.py"
_POLICIES: Final = "flowalg/watermarks/policies.py"
_POLICY: Final = "flowalg/watermarks/policy.py"
_REPORTS: Final = "flowalg/watermarks/summaries.py"
_HISTORY: Final = "flowalg/watermarks/history.py"
_RECORDED: Final = "flowalg/runs/micro_batches.py"
_TIMELINE: Final = "flowalg/runs/timeline.py"
_CELLS: Final = "interpreters/flowalg_reference/window_state.py"
_GROUPING: Final = "interpreters/flowalg_reference/grouping.py"
_ELEMENTS: Final = "interpreters/flowalg_reference/elements.py"
_OPERATORS: Final = "interpreters/flowalg_reference/operators.py"
_RUN: Final = "interpreters/flowalg_reference/run.py"

WATERMARK_MUTANTS: Final = (
    Mutant(
        "a partition is idle only after more than idle_after",
        _CLOCK,
        "now - clock.latest_processing >= after",
        "now - clock.latest_processing > after",
    ),
    Mutant(
        "idle partitions hold the watermark back",
        _CLOCK,
        "for name, clock in self.partitions.items() if name not in idle}",
        "for name, clock in self.partitions.items()}",
    ),
    Mutant(
        "when all partitions are idle the slowest counts",
        _CLOCK,
        "return max(clock.latest_event",
        "return min(clock.latest_event",
    ),
    Mutant(
        "the most advanced partition counts",
        _CLOCK,
        "return min(active.values())",
        "return max(active.values())",
    ),
    Mutant(
        "what a source knew before is forgotten when it says nothing",
        _CLOCK,
        "source_watermark=later(self.source_watermark, summary.source_watermark)",
        "source_watermark=summary.source_watermark",
    ),
    Mutant(
        "the processing time of a clock may move back",
        _CLOCK,
        "now = max(self.processing_time, processing_time)",
        "now = processing_time",
    ),
    Mutant(
        "bounded disorder waits for twice its delay",
        _POLICIES,
        "reached - self.delay_micros",
        "reached - 2 * self.delay_micros",
    ),
    Mutant(
        "a timeout is ahead of the clock by its delay",
        _POLICIES,
        "return clock.processing_time - self.delay // timedelta(microseconds=1)",
        "return clock.processing_time + self.delay // timedelta(microseconds=1)",
    ),
    Mutant(
        "a lag quantile takes the complementary quantile",
        _POLICIES,
        "lag = clock.lags.quantile(self.q)",
        "lag = clock.lags.quantile(1 - self.q)",
    ),
    Mutant(
        "a record that is ahead by exactly max_ahead does not count",
        _POLICY,
        "event - arrival > ahead:",
        "event - arrival >= ahead:",
    ),
    Mutant(
        "max_ahead compares with the latest record's processing time",
        _POLICY,
        "event - arrival > ahead:",
        "event - latest > ahead:",
    ),
    Mutant(
        "max_ahead cuts off what is behind",
        _POLICY,
        "event - arrival > ahead:",
        "arrival - event > ahead:",
    ),
    Mutant(
        "a record too far ahead does not tell its processing time",
        _POLICY,
        "            latest = later(latest, arrival)\n            if ahead is not None and event - arrival > ahead:\n"
        "                continue\n",
        "            if ahead is not None and event - arrival > ahead:\n                continue\n"
        "            latest = later(latest, arrival)\n",
    ),
    Mutant(
        "a record too far ahead has a lag",
        _POLICY,
        "            if ahead is not None and event - arrival > ahead:\n                continue\n"
        "            clock = PartitionClock(event, arrival)\n",
        "            if ahead is not None and event - arrival > ahead:\n"
        "                lags[0] = lags.get(0, 0) + keeps_lags\n                continue\n"
        "            clock = PartitionClock(event, arrival)\n",
    ),
    Mutant(
        "a partition has the event time of its last record",
        _POLICY,
        "partitions[observation.partition] = clock if before is None else before.merge(clock)",
        "partitions[observation.partition] = clock",
    ),
    Mutant(
        "a watermark moves back with its candidate",
        _POLICY,
        "clock.watermark if candidate is None else max(clock.watermark, clamp(candidate))",
        "clock.watermark if candidate is None else clamp(candidate)",
    ),
    Mutant(
        "a percentile watermark may be behind the watermark of its source",
        _POLICY,
        "max(watermark, clock.percentiles.get(q, MIN_TIME), percentile)",
        "max(clock.percentiles.get(q, MIN_TIME), percentile)",
    ),
    Mutant(
        "a percentile watermark may move back",
        _POLICY,
        "max(watermark, clock.percentiles.get(q, MIN_TIME), percentile)",
        "max(watermark, percentile)",
    ),
    Mutant(
        "a source that has ended is asked for a candidate",
        _POLICY,
        "candidate = MAX_TIME if ended else self.candidate(observed)",
        "candidate = self.candidate(observed)",
    ),
    Mutant(
        "merged reports keep the least event time of a partition",
        _REPORTS,
        "max(self.latest_event, other.latest_event)",
        "min(self.latest_event, other.latest_event)",
    ),
    Mutant(
        "merged reports keep the least processing time of a partition",
        _REPORTS,
        "max(self.latest_processing, other.latest_processing)",
        "min(self.latest_processing, other.latest_processing)",
    ),
    Mutant(
        "merged reports say the end only when both do",
        _REPORTS,
        "self.ended or other.ended,",
        "self.ended and other.ended,",
    ),
    Mutant(
        "merged reports lose what one part alone knows",
        _REPORTS,
        "        return second if first is None else first\n    return max(first, second)",
        "        return None\n    return max(first, second)",
    ),
    Mutant(
        "merged reports take the lags of one part where both have some",
        _REPORTS,
        "merge_mappings(self.lags, other.lags, int.__add__)",
        "merge_mappings(self.lags, other.lags, max)",
    ),
    Mutant(
        "lags are rounded down",
        _LAGS,
        "units = -(-max(arrival - event, 0) // resolution)",
        "units = max(arrival - event, 0) // resolution",
    ),
    Mutant(
        "long lags are rounded down",
        _LAGS,
        "(-(-units >> coarse) << coarse)",
        "(units >> coarse << coarse)",
    ),
    Mutant(
        "a record ahead of the clock has a negative lag",
        _LAGS,
        "units = -(-max(arrival - event, 0) // resolution)",
        "units = -(-(arrival - event) // resolution)",
    ),
    Mutant(
        "a quantile of lags is one rank too high where ranks are hit exactly",
        _LAGS,
        "lags[bisect_left(passed, ceil(Fraction(str(q)) * passed[-1]))]",
        "lags[bisect_left(passed, int(Fraction(str(q)) * passed[-1]) + 1)]",
    ),
    Mutant(
        "the q of lags is a binary fraction",
        _LAGS,
        "Fraction(str(q))",
        "Fraction(q)",
    ),
    Mutant(
        "recent lags are forgotten a slice early",
        _LAGS,
        "if number >= current - SLICES}",
        "if number > current - SLICES}",
    ),
    Mutant(
        "a silent source forgets its lags",
        _LAGS,
        "        if not lags:\n            return self\n",
        "",
    ),
    Mutant(
        "a perfect watermark waits for the instant that it is told in",
        _HISTORY,
        "        backwards.append(least)\n"
        "        events = [observation.event_time for observation in instant.observations]\n"
        "        least = min(events if least is None else [*events, least], default=None)\n",
        "        events = [observation.event_time for observation in instant.observations]\n"
        "        least = min(events if least is None else [*events, least], default=None)\n"
        "        backwards.append(least)\n",
    ),
    Mutant(
        "a batch may have an earlier processing time than the one before",
        _RECORDED,
        "time = max(seen if time is None else [time, *seen], default=None)",
        "time = max(seen, default=time)",
    ),
    Mutant(
        "there is a tick beside a batch at its multiple",
        _RECORDED,
        "range((before // tick + 1) * tick, now, tick)",
        "range(-(-before // tick) * tick, now, tick)",
    ),
    Mutant(
        "a timeline that is recorded does not say that the input has ended",
        _TIMELINE,
        "last = policy.advance(clocks[-1], policy.summarize((), ended=True), time)",
        "last = policy.advance(clocks[-1], policy.summarize(()), time)",
    ),
)
"""How the watermark of a source is made."""

HOLD_MUTANTS: Final = (
    Mutant(
        "a hold ignores the panes that stand, which retractions will repeat",
        _CELLS,
        "return min([self.pane_event_time(spec), *(pane.event_time for pane in self.current_panes)])",
        "return self.pane_event_time(spec)",
    ),
    Mutant(
        "a hold is at the end of the window, whatever time panes carry",
        _CELLS,
        "return min([self.pane_event_time(spec), *(pane",
        "return min([self.window.last_instant, *(pane",
    ),
    Mutant(
        "a grouping holds nothing back",
        _GROUPING,
        "clocks.with_hold(min(self.holds.values(), default=MAX_TIME), self.output)",
        "clocks.with_hold(MAX_TIME, self.output)",
    ),
    Mutant(
        "the hold of a grouping is that of its newest window",
        _GROUPING,
        "clocks.with_hold(min(self.holds.values(), default=MAX_TIME), self.output)",
        "clocks.with_hold([MAX_TIME, *self.holds.values()][-1], self.output)",
    ),
    Mutant(
        "the watermark downstream moves back",
        _ELEMENTS,
        "watermark = max(before.watermark, min(self.watermark, hold))",
        "watermark = min(self.watermark, hold)",
    ),
    Mutant(
        "the watermark downstream is an instant late",
        _ELEMENTS,
        "watermark = max(before.watermark, min(self.watermark, hold))",
        "watermark = before.watermark",
    ),
    Mutant(
        "percentile watermarks downstream move back",
        _ELEMENTS,
        "q: max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "q: min(point, hold)",
    ),
    Mutant(
        "percentile watermarks are not held back",
        _ELEMENTS,
        "q: max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "q: point",
    ),
    Mutant(
        "percentile watermarks downstream wait for the watermark",
        _ELEMENTS,
        "q: max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "q: min(point, watermark)",
    ),
    Mutant(
        "a hold is never released",
        _GROUPING,
        "        yield from panes\n        self.holds.pop(keyed_window, None)\n",
        "        yield from panes\n",
    ),
    Mutant(
        "a flatten has the watermark of its fastest input",
        _OPERATORS,
        "watermark = min(one.watermark for one in clocks)",
        "watermark = max(one.watermark for one in clocks)",
    ),
    Mutant(
        "a flatten has the percentile watermark of its fastest input",
        _OPERATORS,
        "min(one.percentile(q) for one in clocks)",
        "max(one.percentile(q) for one in clocks)",
    ),
    Mutant(
        "a collection that is used twice is computed twice",
        _OPERATORS,
        "if not last or last[0][0] is not now:",
        "if last is not None:",
    ),
    Mutant(
        "a source that does nothing in an instant goes back to the beginning",
        _RUN,
        "        for _, _, name, instant in together:\n",
        "        reads = dict.fromkeys(timelines, BEGINNING)\n        for _, _, name, instant in together:\n",
    ),
    Mutant(
        "of several sources the last one's signals are heard",
        _RUN,
        "signals |= instant.signals",
        "signals = instant.signals",
    ),
)
"""How watermarks go through a pipeline."""

__all__ = ["HOLD_MUTANTS", "WATERMARK_MUTANTS"]
