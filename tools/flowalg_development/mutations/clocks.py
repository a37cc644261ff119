"""Faults of watermarks: of policies and their reports, and of the holds in a pipeline."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

WATERMARK_MUTANTS: Final = (
    Replacement(
        "a partition is idle only after more than idle_after",
        "SourceClock.idle_partitions",
        "now - clock.latest_processing >= after",
        "now - clock.latest_processing > after",
    ),
    Replacement(
        "idle partitions hold the watermark back",
        "SourceClock.reached_by_partition",
        "{name: clock.latest_event for name, clock in self.partitions.items() if name not in idle}",
        "{name: clock.latest_event for name, clock in self.partitions.items()}",
    ),
    Replacement(
        "when all partitions are idle the slowest counts",
        "SourceClock.reached",
        "max(clock.latest_event for clock in self.partitions.values())",
        "min(clock.latest_event for clock in self.partitions.values())",
    ),
    Replacement(
        "the most advanced partition counts",
        "SourceClock.reached",
        "min(active.values())",
        "max(active.values())",
    ),
    Replacement(
        "what a source knew before is forgotten when it says nothing",
        "SourceClock.observe",
        "later(self.source_watermark, summary.source_watermark)",
        "summary.source_watermark",
    ),
    Replacement(
        "the processing time of a clock may move back",
        "SourceClock.observe",
        "max(self.processing_time, processing_time)",
        "processing_time",
    ),
    Replacement(
        "bounded disorder waits for twice its delay",
        "BoundedOutOfOrderness.candidate",
        "reached - self.delay_micros",
        "reached - 2 * self.delay_micros",
    ),
    Replacement(
        "a timeout is ahead of the clock by its delay",
        "Timeout.candidate",
        "clock.processing_time - self.delay // timedelta(microseconds=1)",
        "clock.processing_time + self.delay // timedelta(microseconds=1)",
    ),
    Replacement(
        "a lag quantile takes the complementary quantile",
        "LagQuantile.candidate",
        "clock.lags.quantile(self.q)",
        "clock.lags.quantile(1 - self.q)",
    ),
    Replacement(
        "a record that is ahead by exactly max_ahead does not count",
        "WatermarkPolicy.summarize",
        "event - seen > ahead",
        "event - seen >= ahead",
    ),
    Replacement(
        "max_ahead compares with the latest record's processing time",
        "WatermarkPolicy.summarize",
        "event - seen",
        "event - latest",
    ),
    Replacement(
        "max_ahead cuts off what is behind", "WatermarkPolicy.summarize", "event - seen", "seen - event"
    ),
    Replacement(
        "a record too far ahead does not tell its processing time",
        "WatermarkPolicy.summarize",
        "later(latest, seen)",
        "latest if ahead is not None and event - seen > ahead else later(latest, seen)",
    ),
    Replacement(
        "a record too far ahead has a lag",
        "WatermarkPolicy.summarize",
        "continue",
        "lags[0] = lags.get(0, 0) + keeps_lags\ncontinue",
    ),
    Replacement(
        "a partition has the event time of its last record",
        "WatermarkPolicy.summarize",
        "clock if before is None else before.merge(clock)",
        "clock",
    ),
    Replacement(
        "a watermark moves back with its candidate",
        "WatermarkPolicy.advance",
        "max(clock.watermark, clamp(candidate))",
        "clamp(candidate)",
    ),
    Replacement(
        "a percentile watermark may be behind the watermark of its source",
        "WatermarkPolicy.advance",
        "max(watermark, clock.percentiles.get(q, MIN_TIME), outrun)",
        "max(clock.percentiles.get(q, MIN_TIME), outrun)",
    ),
    Replacement(
        "a percentile watermark may move back",
        "WatermarkPolicy.advance",
        "max(watermark, clock.percentiles.get(q, MIN_TIME), outrun)",
        "max(watermark, outrun)",
    ),
    Replacement(
        "a source that has ended is asked for a candidate",
        "WatermarkPolicy.advance",
        "MAX_TIME if ended else self.candidate(seen)",
        "self.candidate(seen)",
    ),
    Replacement(
        "merged reports keep the least event time of a partition",
        "PartitionClock.merge",
        "max(self.latest_event, other.latest_event)",
        "min(self.latest_event, other.latest_event)",
    ),
    Replacement(
        "merged reports keep the least processing time of a partition",
        "PartitionClock.merge",
        "max(self.latest_processing, other.latest_processing)",
        "min(self.latest_processing, other.latest_processing)",
    ),
    Replacement(
        "merged reports say the end only when both do",
        "ClockSummary.merge",
        "self.ended or other.ended",
        "self.ended and other.ended",
    ),
    Replacement(
        "merged reports lose what one part alone knows", "later", "other if one is None else one", "None"
    ),
    Replacement(
        "merged reports take the lags of one part where both have some",
        "ClockSummary.merge",
        "merge_mappings(self.lags, other.lags, int.__add__)",
        "merge_mappings(self.lags, other.lags, max)",
    ),
    Replacement(
        "lags are rounded down",
        "lag_of",
        "-(-max(seen - event, 0) // resolution)",
        "max(seen - event, 0) // resolution",
    ),
    Replacement("long lags are rounded down", "lag_of", "-(-units >> coarse)", "units >> coarse"),
    Replacement(
        "a record ahead of the clock has a negative lag", "lag_of", "max(seen - event, 0)", "seen - event"
    ),
    Replacement(
        "a quantile of lags is one rank too high where ranks are hit exactly",
        "RecentLags.quantile",
        "ceil(Fraction(str(q)) * passed[-1])",
        "int(Fraction(str(q)) * passed[-1]) + 1",
    ),
    Replacement(
        "the q of lags is a binary fraction", "RecentLags.quantile", "Fraction(str(q))", "Fraction(q)"
    ),
    Replacement(
        "recent lags are forgotten a slice early",
        "RecentLags.absorb",
        "number >= current - SLICES",
        "number > current - SLICES",
    ),
    Replacement("a silent source forgets its lags", "RecentLags.absorb", "if not lags:\n    ...", "pass"),
    Replacement(
        "a perfect watermark waits for the instant that it is told in",
        "least_event_times_after",
        "backwards.append(least)",
        "backwards.append(min([observation.event_time for observation in instant.observations], default=least))",
    ),
    Replacement(
        "a batch may have an earlier processing time than the one before",
        "in_batches",
        "max(seen if time is None else [time, *seen], default=None)",
        "max(seen, default=time)",
    ),
    Replacement(
        "there is a tick beside a batch at its multiple",
        "with_ticks",
        "before // tick + 1",
        "-(-before // tick)",
    ),
    Replacement(
        "a timeline that is recorded does not say that the input has ended",
        "_from_batches",
        "policy.summarize((), ended=True)",
        "policy.summarize(())",
    ),
)
"""How the watermark of a source is made."""

HOLD_MUTANTS: Final = (
    Replacement(
        "a hold ignores the panes that stand, which retractions will repeat",
        "WindowState.hold",
        "min([self.pane_event_time(spec), *(pane.event_time for pane in self.current_panes)])",
        "self.pane_event_time(spec)",
    ),
    Replacement(
        "a hold is at the end of the window, whatever time panes carry",
        "WindowState.hold",
        "self.pane_event_time(spec)",
        "self.window.last_instant",
    ),
    Replacement(
        "a grouping holds nothing back",
        "Grouping.advance",
        "min(self.holds.values(), default=MAX_TIME)",
        "MAX_TIME",
    ),
    Replacement(
        "the hold of a grouping is that of its newest window",
        "Grouping.advance",
        "min(self.holds.values(), default=MAX_TIME)",
        "[MAX_TIME, *self.holds.values()][-1]",
    ),
    Replacement(
        "the watermark downstream moves back",
        "Clocks.with_hold",
        "max(before.watermark, min(self.watermark, hold))",
        "min(self.watermark, hold)",
    ),
    Replacement(
        "the watermark downstream is an instant late",
        "Clocks.with_hold",
        "max(before.watermark, min(self.watermark, hold))",
        "before.watermark",
    ),
    Replacement(
        "percentile watermarks downstream move back",
        "Clocks.with_hold",
        "max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "min(point, hold)",
    ),
    Replacement(
        "percentile watermarks are not held back",
        "Clocks.with_hold",
        "max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "point",
    ),
    Replacement(
        "percentile watermarks downstream wait for the watermark",
        "Clocks.with_hold",
        "max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "min(point, watermark)",
    ),
    Replacement(
        "a hold is never released", "Grouping._evaluate", "self.holds.pop(keyed_window, None)", "pass"
    ),
    Replacement(
        "a flatten has the watermark of its fastest input",
        "minimum",
        "min(one.watermark for one in clocks)",
        "max(one.watermark for one in clocks)",
    ),
    Replacement(
        "a flatten has the percentile watermark of its fastest input",
        "minimum",
        "min(one.percentile(q) for one in clocks)",
        "max(one.percentile(q) for one in clocks)",
    ),
    Replacement(
        "a collection that is used twice is computed twice",
        "once_per_instant",
        "not last or last[0][0] is not now",
        "last is not None",
    ),
    Replacement(
        "a source that does nothing in an instant goes back to the beginning",
        "pipeline_instants",
        "signals = frozenset[str]().union(*(instant.signals for instant in instants.values()))",
        "signals = frozenset[str]().union(*(instant.signals for instant in instants.values()))\n"
        "clocks = dict.fromkeys(timelines, BEGINNING)",
    ),
    Replacement(
        "of several sources the last one's signals are heard",
        "pipeline_instants",
        "frozenset[str]().union(*(instant.signals for instant in instants.values()))",
        "list(instants.values())[-1].signals",
    ),
)
"""How watermarks go through a pipeline."""


__all__ = ["HOLD_MUTANTS", "WATERMARK_MUTANTS"]
