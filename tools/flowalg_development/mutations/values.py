"""Faults of combiners, side inputs and normal forms."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

COMBINER_MUTANTS: Final = (
    Replacement(
        "a sum adds what is taken back", "Sum.subtract", "-_number(value, 'Sum')", "_number(value, 'Sum')"
    ),
    Replacement(
        "a sum overflows silently", "Sum.merge", "check_integer(total, 'a partial result of Sum')", "pass"
    ),
    Replacement("a count keeps what is taken back", "Count.subtract", "accumulator - 1", "accumulator"),
    Replacement("a mean counts what is taken back", "Mean.subtract", "-1", "1"),
    Replacement(
        "a mean of integers is rounded down",
        "Mean.extract",
        "float(accumulator.total) / float(accumulator.count)",
        "float(accumulator.total // accumulator.count)",
    ),
    Replacement(
        "a maximum is a minimum",
        "Max.merge",
        "other if _least(one, other) is one else one",
        "one if _least(one, other) is one else other",
    ),
    Replacement(
        "the least of texts is the greatest",
        "_least",
        "one if one <= other else other",
        "other if one <= other else one",
    ),
    Replacement(
        "a combiner of what a function gives merges to the first",
        "Over.merge",
        "self.combiner.merge(one, other)",
        "one",
    ),
    Replacement(
        "a variance lacks the correction by the mean",
        "Variance.extract",
        "accumulator.squares / accumulator.count - mean * mean",
        "accumulator.squares / accumulator.count",
    ),
    Replacement(
        "a variance has the square of what is taken back with the wrong sign",
        "_moments",
        "weight * exact * exact",
        "exact * exact",
    ),
    Replacement(
        "top-n keeps the least",
        "TopN.merge",
        "sorted((*one, *other), key=self._rank, reverse=True)",
        "sorted((*one, *other), key=self._rank)",
    ),
    Replacement(
        "top-n keeps one more",
        "TopN.merge",
        "sorted((*one, *other), key=self._rank, reverse=True)[:self.n]",
        "sorted((*one, *other), key=self._rank, reverse=True)[:self.n + 1]",
    ),
    Replacement("lists merge the other way round", "ToList.merge", "(*one, *other)", "(*other, *one)"),
    Replacement("sets merge to what is in both", "ToSet.merge", "one | other", "one & other"),
    Replacement("any of no values is true", "AnyOf.extract", "accumulator.true > 0", "accumulator.true >= 0"),
    Replacement(
        "all of the values means any of them",
        "AllOf.extract",
        "accumulator.false <= 0",
        "accumulator.true > 0",
    ),
    Replacement(
        "a quantile has a rank too high by one",
        "_rank",
        "math.floor(Fraction(repr(quantile)) * (total - 1))",
        "min(math.floor(Fraction(repr(quantile)) * (total - 1)) + 1, total - 1)",
    ),
    Replacement(
        "a quantile is that of its binary fraction", "_rank", "Fraction(repr(quantile))", "Fraction(quantile)"
    ),
    Replacement(
        "the last value of a bucket is counted to the next one", "_bucket_at", "rank < 0", "rank < -1"
    ),
    Replacement(
        "the buckets of negative values do not mirror those of positive ones",
        "_Bucketed._bucket",
        "-bucket",
        "1 - bucket",
    ),
    Replacement(
        "a bucket stands for its lower bound", "_Bucketed._value", "2 * low * high / (low + high)", "low"
    ),
    Replacement(
        "a bucket that was taken back leaves a trace",
        "_add_count",
        "((bucket, count),) if count else ()",
        "((bucket, count),)",
    ),
    Replacement(
        "a sketch that merges with few values forgets them",
        "ApproximateDistinct.merge",
        "hyperloglog.add_hashes(left, right)",
        "left",
    ),
)
"""Combiners."""

SIDE_MUTANTS: Final = (
    Replacement(
        "a side is read before its window is complete",
        "SideReader._passed",
        "window.end <= self.watermark",
        "window.start <= self.watermark",
    ),
    Replacement(
        "a side is read only when the watermark is beyond the end of its window",
        "SideReader._passed",
        "window.end <= self.watermark",
        "window.end < self.watermark",
    ),
    Replacement(
        "a side that is late by the end of its window still counts",
        "SideReader._absorb",
        "window.end <= self.watermark",
        "window.end < self.watermark",
    ),
    Replacement(
        "elements that wait for a side hold nothing back",
        "SideReader.advance",
        "main.clocks.with_hold(until, self.output)",
        "main.clocks",
    ),
    Replacement(
        "the watermark behind a side input moves back",
        "SideReader.advance",
        "main.clocks.with_hold(until, self.output)",
        "main.clocks.with_hold(until, BEGINNING)",
    ),
    Replacement(
        "percentile watermarks do not wait for a side input",
        "SideReader.advance",
        "main.clocks.with_hold(until, self.output)",
        "evolve(main.clocks.with_hold(until, self.output), percentiles=main.clocks.percentiles)",
    ),
    Replacement(
        "a side is complete by the main input's watermark",
        "SideReader.advance",
        "self.watermark = side.clocks.watermark",
        "self.watermark = main.clocks.watermark",
    ),
    Replacement(
        "elements that have waited come after those that arrive",
        "SideReader.advance",
        "[*self.waiting, *arrived]",
        "[*arrived, *self.waiting]",
    ),
    Replacement(
        "what is taken back from a side still stands",
        "SideReader._absorb",
        "contents.absorb(element.value, element.event_time, element.weight)",
        "contents.absorb(element.value, element.event_time, 1)",
    ),
)
"""Side inputs."""

FORM_MUTANTS: Final = (
    Replacement(
        "And of counts is the least of them",
        "_simplify",
        "max if kind is And else min",
        "min if kind is And else max",
    ),
    Replacement("And of periods keeps the shorter", "_is_implied", "kind is And", "kind is not And"),
    Replacement(
        "periods imply each other whatever their offsets",
        "_is_implied",
        "one == other or (one.offset or other.offset)",
        "one == other",
    ),
    Replacement("a limit that is never ready is all", "_limit", "return main", "return until"),
    Replacement("limits join to both of them", "_limit", "Or(main.until_, until)", "And(main.until_, until)"),
    Replacement(
        "a repetition that is limited never finishes",
        "never_finishes",
        "return False",
        "return isinstance(trigger, OrFinally) and never_finishes(trigger.main)",
    ),
    Replacement(
        "what comes before a repetition is folded into it if it ends alike",
        "_sequence",
        "flat[-1 - len(cycle):-1] == cycle",
        "flat[-2] == cycle[-1]",
    ),
    Replacement(
        "a sequence that begins with its repetition is that repetition",
        "_repeat",
        "parts == parts[:period] * (len(parts) // period)",
        "parts[:period] == parts[-period:]",
    ),
    Replacement(
        "the unit and the zero of Or change places",
        "normalise_once",
        "_junction(Or, trigger, Never(), Always())",
        "_junction(Or, trigger, Always(), Never())",
    ),
    Replacement(
        "a junction absorbs every junction beside it",
        "_junction",
        "other in one.triggers",
        "other in one.triggers or one != other",
    ),
)
"""Normal forms."""


__all__ = ["COMBINER_MUTANTS", "FORM_MUTANTS", "SIDE_MUTANTS"]
