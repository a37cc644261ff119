"""Faults of combiners, side inputs and normal forms."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

COMBINER_MUTANTS: Final = (
    Replacement(
        "a sum adds retracted values",
        "Sum.subtract",
        "exact(_number(value, 'Sum'), -1)",
        "exact(_number(value, 'Sum'))",
    ),
    Replacement(
        "a sum overflows silently",
        "_total",
        "check_integer(accumulator, where)",
        "accumulator",
    ),
    Replacement("a count keeps retracted values", "Count.subtract", "accumulator - 1", "accumulator"),
    Replacement(
        "a mean counts retracted values",
        "Mean.subtract",
        "self.merge(accumulator, Total(-1, exact(_number(value, 'Mean'), -1)))",
        "self.merge(accumulator, Total(1, exact(_number(value, 'Mean'), -1)))",
    ),
    Replacement(
        "a mean of integers is rounded down",
        "_mean",
        "float(total) / float(accumulator.count)",
        "float(total // accumulator.count)",
    ),
    Replacement(
        "a mean of decimals is rounded down",
        "DecimalSum.over",
        "2 * rest > count or (2 * rest == count and whole % 2)",
        "0",
    ),
    Replacement("a zero keeps its sign", "canonical_float", "math.copysign(1.0, value) > 0", "True"),
    Replacement(
        "a maximum is a minimum",
        "Max.merge",
        "other if _least(one, other) is one else one",
        "one if _least(one, other) is one else other",
    ),
    Replacement(
        "the minimum of strings is the maximum",
        "_least",
        "one if one <= other else other",
        "other if one <= other else one",
    ),
    Replacement(
        "Over.merge returns its first accumulator",
        "Over.merge",
        "self.combiner.merge(one, other)",
        "one",
    ),
    Replacement(
        "a variance is the mean of the squares",
        "Variance.extract",
        "accumulator.squares / accumulator.count - mean * mean",
        "accumulator.squares / accumulator.count",
    ),
    Replacement(
        "a variance adds the squares of retracted values",
        "_moments",
        "weight * number * number",
        "number * number",
    ),
    Replacement(
        "an infinity that was retracted stays",
        "exact",
        "FloatSum(weight, infinities=weight)",
        "FloatSum(weight, infinities=1)",
    ),
    Replacement(
        "a NaN that was retracted stays", "exact", "FloatSum(weight, nans=weight)", "FloatSum(weight, nans=1)"
    ),
    Replacement("NaN is not found when it is retracted", "same", "comparable(left) is not left", "False"),
    Replacement(
        "equal NaN are distinct in a set",
        "ToSet.extract",
        "{comparable(value): value for value in accumulator}",
        "{value: value for value in accumulator}",
    ),
    Replacement(
        "TopN keeps the least values",
        "TopN.merge",
        "sorted((*one, *other), key=self._rank, reverse=True)",
        "sorted((*one, *other), key=self._rank)",
    ),
    Replacement(
        "TopN keeps one value too many",
        "TopN.merge",
        "sorted((*one, *other), key=self._rank, reverse=True)[:self.n]",
        "sorted((*one, *other), key=self._rank, reverse=True)[:self.n + 1]",
    ),
    Replacement("lists merge in reverse order", "ToList.merge", "(*one, *other)", "(*other, *one)"),
    Replacement("sets merge to their intersection", "ToSet.merge", "one | other", "one & other"),
    Replacement(
        "AnyOf of no values is true", "AnyOf.extract", "accumulator.true > 0", "accumulator.true >= 0"
    ),
    Replacement(
        "AllOf is AnyOf",
        "AllOf.extract",
        "accumulator.false <= 0",
        "accumulator.true > 0",
    ),
    Replacement(
        "a quantile has a rank that is too high by one",
        "_rank",
        "math.floor(Fraction(repr(quantile)) * (total - 1))",
        "min(math.floor(Fraction(repr(quantile)) * (total - 1)) + 1, total - 1)",
    ),
    Replacement(
        "a quantile uses its binary fraction", "_rank", "Fraction(repr(quantile))", "Fraction(quantile)"
    ),
    Replacement(
        "the last value of a bucket belongs to the next bucket", "_bucket_at", "rank < 0", "rank < -1"
    ),
    Replacement(
        "the buckets of negative values do not mirror those of positive ones",
        "_Bucketed._bucket",
        "-bucket",
        "1 - bucket",
    ),
    Replacement(
        "the value of a bucket is its lower bound", "_Bucketed._value", "2 * low * high / (low + high)", "low"
    ),
    Replacement(
        "an empty bucket stays in the sketch",
        "_add_count",
        "((bucket, count),) if count else ()",
        "((bucket, count),)",
    ),
    Replacement(
        "a sketch loses the values of a sparse sketch that it merges",
        "ApproximateDistinct.merge",
        "hyperloglog.add_hashes(left, right)",
        "left",
    ),
)
"""Faults of combiners."""

JOIN_MUTANTS: Final = (
    Replacement(
        "a join forgets the values of earlier panes",
        "Join.discard",
        "Matches((_both((*accumulator.emitted, accumulator.new)),))",
        "Matches()",
    ),
    Replacement(
        "a join emits only pairs of two new values",
        "Join.extract",
        "(each, everything)",
        "(each, _in_order(new[1]))",
    ),
    Replacement(
        "a join does not pair earlier left values with new right ones",
        "Join.extract",
        "(*groups[:number], *groups[number + 1 :])",
        "groups[:number]",
    ),
    Replacement(
        "windows that merge have no pairs between them",
        "Join.merge",
        "(*left.emitted, *right.emitted)",
        "(_both((*left.emitted, *right.emitted, ((), ()))),)",
    ),
    Replacement(
        "a pane of a merged window repeats the pairs inside of its parts",
        "Join.extract",
        "(*groups[:number], *groups[number + 1 :])",
        "groups",
    ),
    Replacement(
        "the pairs of a pane are in the order in which they became new",
        "Join.extract",
        "sort_by_time(lefts, by=lambda pair: pair[0].value)",
        "[left for _, left in lefts]",
    ),
    Replacement(
        "a pair of the global window has the time of its earlier value",
        "Join._pair",
        "max(times)",
        "min(times)",
    ),
    Replacement("a full join loses right values", "JoinKind.keeps_right", "JoinKind.FULL", "JoinKind.LEFT"),
    Replacement(
        "an outer join may discard", "CoGroupByKey._require_final_pairs", "JoinKind.INNER", "self.join"
    ),
    Replacement(
        "a discarding join may receive retractions",
        "CoGroupByKey._require_final_pairs",
        "inner.may_retract",
        "False",
    ),
    Replacement(
        "panes with an unset mode are not known to be retracted",
        "_Grouping.may_retract",
        "self.retracts or (strategy.accumulation is None and not emits_one_pane(strategy))",
        "self.retracts",
    ),
    Replacement(
        "a grouping of corrected values does not retract the pane of a window that becomes empty",
        "_Grouping.retracts",
        "any(inner.may_retract for inner in self.inputs)",
        "False",
    ),
)

METADATA_MUTANTS: Final = (
    Replacement(
        "with_window shows the last instant as the end",
        "_metadata",
        "element.window.end.datetime",
        "element.window.last_instant.datetime",
    ),
    Replacement("every pane is the first", "_metadata", "info.is_first", "True"),
    Replacement(
        "with_window is allowed before a grouping", "WindowInto.is_grouped", "return False", "return True"
    ),
    Replacement(
        "with_pane is allowed on retractions",
        "WithMetadata.__attrs_post_init__",
        "self.metadata is Metadata.PANE and self.input.retracts",
        "False",
    ),
    Replacement(
        "with_pane is allowed before a grouping that receives retractions",
        "_require_stable_panes",
        "inner.shows_panes and inner.may_retract",
        "False",
    ),
    Replacement(
        "a transform with with_window may be applied to elements that are not grouped",
        "_Node.is_grouped",
        "bool(self.inputs) and all(inner.is_grouped for inner in self.inputs)",
        "True",
    ),
)

SIDE_MUTANTS: Final = (
    Replacement(
        "a side input is read before its window is complete",
        "SideReader._passed",
        "time_read(self.view, window) <= self.side_clocks.watermark",
        "window.start <= self.side_clocks.watermark",
    ),
    Replacement(
        "a side input is read only when the watermark exceeds the end of its window",
        "SideReader._passed",
        "time_read(self.view, window) <= self.side_clocks.watermark",
        "time_read(self.view, window) < self.side_clocks.watermark",
    ),
    Replacement(
        "an element of a side input is accepted when the watermark equals the end of its window",
        "SideReader._absorb",
        "window.end <= self.side_clocks.watermark",
        "window.end < self.side_clocks.watermark",
    ),
    Replacement(
        "elements that wait for a side input do not hold the watermark",
        "SideReader.advance",
        "self.main_clocks.with_hold(until, self.output)",
        "self.main_clocks",
    ),
    Replacement(
        "the watermark after a side input moves back",
        "SideReader.advance",
        "self.main_clocks.with_hold(until, self.output)",
        "self.main_clocks.with_hold(until, BEGINNING)",
    ),
    Replacement(
        "percentile watermarks do not wait for a side input",
        "SideReader.advance",
        "self.main_clocks.with_hold(until, self.output)",
        "evolve(self.main_clocks.with_hold(until, self.output), percentiles=self.main_clocks.percentiles)",
    ),
    Replacement(
        "the watermark of the main input completes a side input",
        "SideReader.advance",
        "self.side_clocks = of_side",
        "self.side_clocks = self.main_clocks",
    ),
    Replacement(
        "waiting elements are emitted after new elements",
        "SideReader.advance",
        "[*self.waiting, *arrived]",
        "[*arrived, *self.waiting]",
    ),
    Replacement(
        "retractions of a side input are added",
        "SideReader._absorb",
        "contents.absorb(element.value, element.event_time, element.weight)",
        "contents.absorb(element.value, element.event_time, 1)",
    ),
    Replacement(
        "an element that is too late for its windows reads a side input",
        "SideReader._in_time",
        "element.event_time >= horizon",
        "True",
    ),
    Replacement(
        "an element at the horizon of a side input is dropped",
        "SideReader._in_time",
        "element.event_time >= horizon",
        "element.event_time > horizon",
    ),
    Replacement(
        "elements are too late for a side input by the watermark of their own instant",
        "SideReader.advance",
        "self.lateness.horizon(self.main_clocks.watermark)",
        "self.lateness.horizon(minimum([*main.upstreams.values()], self.main_clocks).watermark)",
    ),
    Replacement(
        "elements in sliding windows are too late before their last window has expired",
        "_after_windows_of",
        'duration_of("size", size, allow_zero=False)',
        "0",
    ),
    Replacement(
        "panes at assigned event times are too late for a side input",
        "lateness_of_readers",
        "any(map(_assigns_timestamps, nodes_after_groupings(node.input)))",
        "False",
    ),
    Replacement(
        "the newest complete value is that of the window before, even if it has none",
        "LatestComplete.update",
        "not values",
        "False",
    ),
    Replacement(
        "the newest complete mapping is that of one window",
        "LatestComplete.update",
        "{**known, **self.view.read(values, window)}",
        "self.view.read(values, window)",
    ),
    Replacement(
        "the newest complete value includes that of the own window",
        "SideReader._value",
        "each.end <= window.start",
        "each.start <= window.start",
    ),
    Replacement(
        "the newest complete value of a shard is freed",
        "_from_newest_before",
        "window.end >= first",
        "window.end > first",
    ),
    Replacement(
        "windows of a side input that waiting elements read are freed",
        "read_side",
        "window.end > horizon or window in awaited",
        "window.end > horizon",
    ),
)
"""Faults of side inputs."""

FORM_MUTANTS: Final = (
    Replacement(
        "And of counts is the least count",
        "_simplify",
        "max if kind is And else min",
        "min if kind is And else max",
    ),
    Replacement("And of periods keeps the shorter period", "_is_implied", "kind is And", "kind is not And"),
    Replacement(
        "periods imply each other at any offset",
        "_is_implied",
        "one == other or (one.offset or other.offset)",
        "one == other",
    ),
    Replacement("OrFinally with Never becomes Never", "_limit", "return main", "return until"),
    Replacement(
        "nested limits combine with And", "_limit", "Or(main.until_, until)", "And(main.until_, until)"
    ),
    Replacement(
        "a limited repetition never finishes",
        "never_finishes",
        "return False",
        "return isinstance(trigger, OrFinally) and never_finishes(trigger.main)",
    ),
    Replacement(
        "a prefix is folded into a repetition if its last trigger is equal",
        "_sequence",
        "flat[-1 - len(cycle):-1] == cycle",
        "flat[-2] == cycle[-1]",
    ),
    Replacement(
        "a repeated sequence with equal ends is simplified to one period",
        "_repeat",
        "parts == parts[:period] * (len(parts) // period)",
        "parts[:period] == parts[-period:]",
    ),
    Replacement(
        "the unit and the zero of Or are exchanged",
        "normalise_once",
        "_junction(Or, trigger, Never(), Always())",
        "_junction(Or, trigger, Always(), Never())",
    ),
    Replacement(
        "a junction absorbs every other junction",
        "_junction",
        "other in one.triggers",
        "other in one.triggers or one != other",
    ),
)
"""Faults of normal forms."""
