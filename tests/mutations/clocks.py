"""Faults of watermarks: of policies, of their summaries, and of the holds in a pipeline."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

WATERMARK_MUTANTS: Final = (
    Replacement(
        "a partition is idle only after more than idle_after",
        "SourceClock.idle_partitions",
        "self.processing_time - time >= after",
        "self.processing_time - time > after",
    ),
    Replacement(
        "idle partitions hold the watermark back",
        "SourceClock.reached_by_partition",
        "{name: clock.latest_event for name, clock in self.partitions.items() if name not in idle}",
        "{name: clock.latest_event for name, clock in self.partitions.items()}",
    ),
    Replacement(
        "when all partitions are idle, the watermark follows the slowest",
        "SourceClock._least_active",
        "(min if active else max)(known, default=None)",
        "min(known, default=None)",
    ),
    Replacement(
        "the watermark follows the fastest partition",
        "SourceClock._least_active",
        "(min if active else max)(known, default=None)",
        "max(known, default=None)",
    ),
    Replacement(
        "a partition that has reached nothing in time does not hold the watermark back",
        "SourceClock._least_active",
        "len(known) < len(active)",
        "not known",
    ),
    Replacement(
        "a source watermark is lost at an instant without a source watermark",
        "SourceClock.observe",
        "later(self.source_watermark, summary.source_watermark)",
        "summary.source_watermark",
    ),
    Replacement(
        "the processing time of a clock moves back",
        "SourceClock.observe",
        "max(self.processing_time, processing_time)",
        "processing_time",
    ),
    Replacement(
        "BoundedOutOfOrderness waits for twice its delay",
        "BoundedOutOfOrderness.candidate",
        "reached - self.delay_micros",
        "reached - 2 * self.delay_micros",
    ),
    Replacement(
        "ProcessingTimeLag is ahead of the clock by its delay",
        "ProcessingTimeLag.candidate",
        "clock.processing_time - self.delay // timedelta(microseconds=1)",
        "clock.processing_time + self.delay // timedelta(microseconds=1)",
    ),
    Replacement(
        "Timeout passes an event time as soon as it is reached",
        "ReachedTimes.by",
        "time + self.delay <= now",
        "time <= now",
    ),
    Replacement(
        "a record of reached times forgets what has passed",
        "ReachedTimes.merge",
        "steps.append((time, event))",
        "steps[:] = [*steps, (time, event)] if time + self.delay > latest else steps",
    ),
    Replacement(
        "a record of reached times keeps the greatest event time of the first step",
        "ReachedTimes.merge",
        "(step[0], -step[1])",
        "(-step[1], step[0])",
    ),
    Replacement(
        "a histogram of event times rounds up",
        "_coarsened",
        "number >> 1",
        "-(-number >> 1)",
    ),
    Replacement(
        "disorder is measured within an instant",
        "WatermarkPolicy._learn",
        "before.reached(self.idle_micros)",
        "observed.reached(self.idle_micros)",
    ),
    Replacement(
        "percentile watermarks of event times follow the clock",
        "WatermarkPolicy._percentile_candidates",
        "(self.percentiles, clock.reached(self.idle_micros), clock.disorder)",
        "(self.percentiles, clock.processing_time, clock.disorder)",
    ),
    Replacement(
        "a fit takes the mean of the squares for the variance",
        "RecentMoments.quantile",
        "n * moments.squares - total * total",
        "n * moments.squares",
    ),
    Replacement(
        "a log-normal fit has the logarithm of the mean as its median",
        "LagDistribution.quantile",
        "sqrt(spread) * NormalDist().inv_cdf(q) - spread / 2",
        "sqrt(spread) * NormalDist().inv_cdf(q)",
    ),
    Replacement(
        "the watermark is believed before the declared partitions have sent something",
        "WatermarkPolicy.advance",
        "MAX_TIME if ended else self.candidate(seen) if believed else None",
        "MAX_TIME if ended else self.candidate(seen)",
    ),
    Replacement(
        "a source with a silent declared partition is idle",
        "WatermarkPolicy.idle_at",
        "None if self.awaited_partitions(clock) else clock.idle_at(self.idle_micros)",
        "clock.idle_at(self.idle_micros)",
    ),
    Replacement(
        "a published watermark may go back",
        "SourceClock.observe",
        "published.least < before.greatest",
        "published.greatest < before.least",
    ),
    Replacement(
        "the watermark is the least of all that a partition has published",
        "SourceClock.known",
        "published.greatest",
        "published.least",
    ),
    Replacement(
        "the exact knowledge of recorded data is used beside published watermarks",
        "replay_policy",
        "None if publishes else least",
        "least",
    ),
    Replacement(
        "a source without records is never idle",
        "SourceClock.idle_at",
        "max([self.started, *self.last_active.values()])",
        "max(self.last_active.values(), default=MAX_TIME)",
    ),
    Replacement(
        "LagQuantile takes the complementary quantile",
        "LagQuantile.candidate",
        "clock.lags.quantile(self.q)",
        "clock.lags.quantile(1 - self.q)",
    ),
    Replacement(
        "a record that is ahead by exactly max_ahead is ignored",
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
        "max_ahead ignores records behind the clock",
        "WatermarkPolicy.summarize",
        "event - seen",
        "seen - event",
    ),
    Replacement(
        "the processing time of a record too far ahead is ignored",
        "WatermarkPolicy.summarize",
        "later(latest, seen)",
        "latest if ahead is not None and event - seen > ahead else later(latest, seen)",
    ),
    Replacement(
        "a record too far ahead adds a lag",
        "WatermarkPolicy.summarize",
        "continue",
        "lags[0] = lags.get(0, 0) + self.observes_lags\ncontinue",
    ),
    Replacement(
        "the event time of a partition is that of its last record",
        "WatermarkPolicy.summarize",
        "partitions[name].merge(clock) if name in partitions else clock",
        "clock",
    ),
    Replacement(
        "the watermark moves back with its candidate",
        "WatermarkPolicy.advance",
        "max(clock.watermark, clamp(candidate))",
        "clamp(candidate)",
    ),
    Replacement(
        "a percentile watermark is behind the watermark of its source",
        "WatermarkPolicy.advance",
        "max(watermark, clock.percentiles.get(q, MIN_TIME), outrun)",
        "max(clock.percentiles.get(q, MIN_TIME), outrun)",
    ),
    Replacement(
        "a percentile watermark moves back",
        "WatermarkPolicy.advance",
        "max(watermark, clock.percentiles.get(q, MIN_TIME), outrun)",
        "max(watermark, outrun)",
    ),
    Replacement(
        "a candidate replaces the final watermark of an ended source",
        "WatermarkPolicy.advance",
        "MAX_TIME if ended else self.candidate(seen) if believed else None",
        "self.candidate(seen)",
    ),
    Replacement(
        "merged summaries keep the least event time of a partition",
        "PartitionClock.merge",
        "max(self.latest_event, other.latest_event)",
        "min(self.latest_event, other.latest_event)",
    ),
    Replacement(
        "merged summaries keep the least processing time of a partition",
        "PartitionClock.merge",
        "max(self.latest_processing, other.latest_processing)",
        "min(self.latest_processing, other.latest_processing)",
    ),
    Replacement(
        "merged summaries have ended only if both have",
        "ClockSummary.merge",
        "self.ended or other.ended",
        "self.ended and other.ended",
    ),
    Replacement(
        "merged summaries lose a time that only one of them has",
        "later",
        "other if one is None else one",
        "None",
    ),
    Replacement(
        "merged summaries take the maximum of lag counts instead of their sum",
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
        "a quantile of lags is one rank too high if its rank is an integer",
        "RecentLags.quantile",
        "ceil(Fraction(str(q)) * passed[-1])",
        "int(Fraction(str(q)) * passed[-1]) + 1",
    ),
    Replacement(
        "the quantile of lags uses the binary fraction of q",
        "RecentLags.quantile",
        "Fraction(str(q))",
        "Fraction(q)",
    ),
    Replacement(
        "recent lags expire a slice too early",
        "absorb_recent",
        "number >= current - SLICES",
        "number > current - SLICES",
    ),
    Replacement(
        "an instant without records clears the lags", "RecentLags.absorb", "if not lags:\n    ...", "pass"
    ),
    Replacement(
        "a perfect watermark waits for the elements of its own instant",
        "least_event_times_after",
        "backwards.append(least)",
        "backwards.append(min([observation.event_time for observation in instant.observations], default=least))",
    ),
    Replacement(
        "a micro-batch has an earlier processing time than its predecessor",
        "in_batches",
        "max(seen if time is None else [time, *seen], default=None)",
        "max(seen, default=time)",
    ),
    Replacement(
        "a tick repeats the processing time of a micro-batch",
        "multiples_between",
        "start // period + 1",
        "-(-start // period)",
    ),
    Replacement(
        "a recorded timeline lacks the end of the input",
        "_from_batches",
        "policy.summarize((), ended=True)",
        "policy.summarize(())",
    ),
    Replacement(
        "the ingress time of a record is that of its instant",
        "PipelineInstant.arrival_of",
        "self.processing_time if generated_by is None else generated_by.observe(record).processing_time",
        "self.processing_time",
    ),
    Replacement(
        "a policy observes the event time of ingress as the beginning of time",
        "RecordTimes.observation",
        "event_time(self.source.event_time_of(record, arrival.datetime), argument='event_time')",
        "EventTime(0)",
    ),
)
"""Faults of the watermark of a source."""

HOLD_MUTANTS: Final = (
    Replacement(
        "a hold ignores current panes, whose retractions carry their event times",
        "WindowState.hold",
        "min([self.pane_event_time(spec), *(pane.event_time for pane in self.current_panes)])",
        "self.pane_event_time(spec)",
    ),
    Replacement(
        "a hold is at the end of the window for every timestamp combiner",
        "WindowState.hold",
        "self.pane_event_time(spec)",
        "self.window.last_instant",
    ),
    Replacement(
        "a grouping does not hold the watermark back",
        "Grouping._advance",
        "min(self.holds.values(), default=MAX_TIME)",
        "MAX_TIME",
    ),
    Replacement(
        "a grouping holds the watermark only for its newest window",
        "Grouping._advance",
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
        "the watermark downstream is one instant behind",
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
        "percentile watermarks downstream are limited by the watermark",
        "Clocks.with_hold",
        "max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
        "min(point, watermark)",
    ),
    Replacement("a hold is never released", "Grouping._forget", "self.holds.pop(keyed_window, None)", "pass"),
    Replacement(
        "a union has the watermark of its fastest input",
        "minimum",
        "min(each.watermark for each in clocks)",
        "max(each.watermark for each in clocks)",
    ),
    Replacement(
        "an idle source follows the fastest of the active ones",
        "raise_idle",
        "min if active else max",
        "max",
    ),
    Replacement(
        "if all sources are idle, the least advanced counts",
        "raise_idle",
        "min if active else max",
        "min",
    ),
    Replacement(
        "an idle source follows itself",
        "raise_idle",
        "active = known - idle",
        "active = known",
    ),
    Replacement(
        "an idle source follows one that has ended",
        "raise_idle",
        "known = running & {name, *together.get(name, ())}",
        "known = {name, *together.get(name, ())}",
    ),
    Replacement(
        "the watermark of a source moves back when it is not idle any more",
        "raise_idle",
        "_not_behind(each, before.get(name, each))",
        "each",
    ),
    Replacement(
        "time stands still while the clock is behind",
        "SteadyClock.read",
        "self.time + elapsed // 2",
        "self.time",
    ),
    Replacement(
        "a query ticks although nothing waits",
        "Options.ticks",
        "self.tick_when_idle or any(True for _ in clock_needs(roots, policies))",
        "True",
    ),
    Replacement(
        "a stage does not know the sources that its idle ones follow",
        "sources_followed",
        "name not in own and name not in needed and isinstance(upstream, FromSource)",
        "False",
    ),
    Replacement(
        "a shared collection is computed twice",
        "once_per_instant",
        "not last or last[0][0] is not now",
        "last is not None",
    ),
    Replacement(
        "a source without an instant returns to the initial watermark",
        "pipeline_instants",
        "signals = {name: instant.signals for name, instant in instants.items()}",
        "signals = {name: instant.signals for name, instant in instants.items()}\n"
        "clocks = dict.fromkeys(timelines, BEGINNING)",
    ),
    Replacement(
        "only the signals of the last source are received",
        "minimum",
        "frozenset[AnySignal]().union(*(each.signals for each in clocks))",
        "clocks[-1].signals",
    ),
)
"""Faults of the propagation of watermarks."""


EXCHANGE_MUTANTS: Final = (
    Replacement(
        "a report without times forgets the end of the input",
        "UntimedReport.at",
        "ClockSummary(partitions, now, ended=self.ended)",
        "ClockSummary(partitions, now)",
    ),
    Replacement(
        "a report of control rows alone has no processing time",
        "UntimedReport.at",
        "ClockSummary(partitions, now, ended=self.ended)",
        "ClockSummary(partitions, now if partitions else None, ended=self.ended)",
    ),
    Replacement(
        "a report without times has the least event time",
        "untimed_report",
        "pl.col(event_time).max()",
        "pl.col(event_time).min()",
    ),
    Replacement(
        "a report without times counts control rows as records",
        "untimed_report",
        "rows[event_time].count()",
        "rows.height",
    ),
    Replacement(
        "a policy with lags receives reports without times",
        "FromSource.observes_times",
        "policy.observes_lags",
        "False",
    ),
    Replacement(
        "only the first rows of many are emitted",
        "array_rows",
        "range(0, batch.num_rows, ARRAY_ROWS)",
        "range(0, min(batch.num_rows, ARRAY_ROWS), ARRAY_ROWS)",
    ),
    Replacement(
        "columns with nulls are emitted as numbers",
        "_array",
        "plain and not values.null_count",
        "plain",
    ),
)
"""Faults of what partitions and shards exchange."""
