"""Faults of combiners, side inputs and normal forms."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_COMBINERS: Final = "flowalg/combiners/core.py"
_COLLECTING: Final = "flowalg/combiners/collections.py"
_STATISTICS: Final = "flowalg/combiners/statistics.py"
_QUANTILES: Final = "flowalg/combiners/quantiles.py"
_DISTINCT: Final = "flowalg/combiners/distinct.py"
_SIDES: Final = "interpreters/flowalg_reference/side_inputs.py"
_FORMS: Final = "flowalg/triggers/normal_form.py"

COMBINER_MUTANTS: Final = (
    Mutant(
        "a sum adds what is taken back",
        _COMBINERS,
        '-_number(value, "Sum")',
        '_number(value, "Sum")',
    ),
    Mutant(
        "a sum overflows silently",
        _COMBINERS,
        'check_integer(total, "a partial result of Sum")',
        "pass",
    ),
    Mutant(
        "a count keeps what is taken back",
        _COMBINERS,
        "return accumulator - 1",
        "return accumulator",
    ),
    Mutant(
        "a mean counts what is taken back",
        _COMBINERS,
        'Total(-1, -_number(value, "Mean"))',
        'Total(1, -_number(value, "Mean"))',
    ),
    Mutant(
        "a mean of integers is rounded down",
        _COMBINERS,
        "float(accumulator.total) / float(accumulator.count)",
        "float(accumulator.total // accumulator.count)",
    ),
    Mutant(
        "a maximum is a minimum",
        _COMBINERS,
        "return right if _least(left, right) is left else left",
        "return left if _least(left, right) is left else right",
    ),
    Mutant(
        "the least of texts is the greatest",
        _COMBINERS,
        "return left if left <= right else right",
        "return right if left <= right else left",
    ),
    Mutant(
        "a combiner of what a function gives merges to the first",
        _COMBINERS,
        "        return self.combiner.merge(left, right)\n\n"
        "    def extract(self, accumulator: object) -> B:  # noqa: D102\n"
        "        return self.combiner.extract(accumulator)\n",
        "        return left\n\n    def extract(self, accumulator: object) -> B:  # noqa: D102\n"
        "        return self.combiner.extract(accumulator)\n",
    ),
    Mutant(
        "a variance lacks the correction by the mean",
        _STATISTICS,
        "float(accumulator.squares / accumulator.count - mean * mean)",
        "float(accumulator.squares / accumulator.count)",
    ),
    Mutant(
        "a variance has the square of what is taken back with the wrong sign",
        _STATISTICS,
        "weight * exact * exact)",
        "exact * exact)",
    ),
    Mutant(
        "top-n keeps the least",
        _COLLECTING,
        "key=self._rank, reverse=True)",
        "key=self._rank)",
    ),
    Mutant(
        "top-n keeps one more",
        _COLLECTING,
        "[: self.n])",
        "[: self.n + 1])",
    ),
    Mutant(
        "lists merge the other way round",
        _COLLECTING,
        "    def merge(self, left: tuple[A, ...], right: tuple[A, ...]) -> tuple[A, ...]:  # noqa: D102\n"
        "        return (*left, *right)\n",
        "    def merge(self, left: tuple[A, ...], right: tuple[A, ...]) -> tuple[A, ...]:  # noqa: D102\n"
        "        return (*right, *left)\n",
    ),
    Mutant(
        "sets merge to what is in both",
        _COLLECTING,
        "return left | right",
        "return left & right",
    ),
    Mutant(
        "any of no values is true",
        _COLLECTING,
        "return accumulator.true > 0",
        "return accumulator.true >= 0",
    ),
    Mutant(
        "all of the values means any of them",
        _COLLECTING,
        "return accumulator.false <= 0",
        "return accumulator.true > 0",
    ),
    Mutant(
        "a quantile has a rank too high by one",
        _QUANTILES,
        "return math.floor(Fraction(repr(quantile)) * (total - 1))",
        "return min(math.floor(Fraction(repr(quantile)) * (total - 1)) + 1, total - 1)",
    ),
    Mutant(
        "a quantile is that of its binary fraction",
        _QUANTILES,
        "Fraction(repr(quantile))",
        "Fraction(quantile)",
    ),
    Mutant(
        "the last value of a bucket is counted to the next one",
        _QUANTILES,
        "        if rank < 0:\n",
        "        if rank < -1:\n",
    ),
    Mutant(
        "the buckets of negative values do not mirror those of positive ones",
        _QUANTILES,
        "return bucket if value > 0 else -bucket",
        "return bucket if value > 0 else 1 - bucket",
    ),
    Mutant(
        "a bucket stands for its lower bound",
        _QUANTILES,
        "math.ldexp(2 * low * high / (low + high), exponent",
        "math.ldexp(low, exponent",
    ),
    Mutant(
        "a bucket that was taken back leaves a trace",
        _QUANTILES,
        "((bucket, count),) if count else ()",
        "((bucket, count),)",
    ),
    Mutant(
        "a sketch that merges with few values forgets them",
        _DISTINCT,
        "return hyperloglog.add_hashes(left, right)",
        "return left",
    ),
)
"""Combiners."""

SIDE_MUTANTS: Final = (
    Mutant(
        "a side is read before its window is complete",
        _SIDES,
        "            if window.end <= self.watermark:\n                yield",
        "            if window.start <= self.watermark:\n                yield",
    ),
    Mutant(
        "a side is read only when the watermark is beyond the end of its window",
        _SIDES,
        "            if window.end <= self.watermark:\n                yield",
        "            if window.end < self.watermark:\n                yield",
    ),
    Mutant(
        "a side that is late by the end of its window still counts",
        _SIDES,
        "        if window.end <= self.watermark:\n            self.drops",
        "        if window.end < self.watermark:\n            self.drops",
    ),
    Mutant(
        "elements that wait for a side hold nothing back",
        _SIDES,
        "self.output = main.clocks.with_hold(until, self.output)",
        "self.output = main.clocks",
    ),
    Mutant(
        "the watermark behind a side input moves back",
        _SIDES,
        "self.output = main.clocks.with_hold(until, self.output)",
        "self.output = main.clocks.with_hold(until, BEGINNING)",
    ),
    Mutant(
        "percentile watermarks do not wait for a side input",
        _SIDES,
        "        self.output = main.clocks.with_hold(until, self.output)\n",
        "        self.output = evolve(\n"
        "            main.clocks.with_hold(until, self.output), percentiles=main.clocks.percentiles\n        )\n",
    ),
    Mutant(
        "a side is complete by the main input's watermark",
        _SIDES,
        "self.watermark = side.clocks.watermark",
        "self.watermark = main.clocks.watermark",
    ),
    Mutant(
        "elements that have waited come after those that arrive",
        _SIDES,
        "[*self.waiting, *arrived]",
        "[*arrived, *self.waiting]",
    ),
    Mutant(
        "what is taken back from a side still stands",
        _SIDES,
        "contents.absorb(element.value, element.event_time, element.weight)",
        "contents.absorb(element.value, element.event_time, 1)",
    ),
)
"""Side inputs."""

FORM_MUTANTS: Final = (
    Mutant(
        "And of counts is the least of them",
        _FORMS,
        "choose = max if kind is And else min",
        "choose = min if kind is And else max",
    ),
    Mutant(
        "And of periods keeps the shorter",
        _FORMS,
        "        return not other.period % period.period\n    return not period.period % other.period",
        "        return not period.period % other.period\n    return not other.period % period.period",
    ),
    Mutant(
        "periods imply each other whatever their offsets",
        _FORMS,
        "if period == other or (period.offset or other.offset):",
        "if period == other:",
    ),
    Mutant(
        "a limit that is never ready is all",
        _FORMS,
        "    if isinstance(until, Never):\n        return main\n",
        "    if isinstance(until, Never):\n        return until\n",
    ),
    Mutant(
        "limits join to both of them",
        _FORMS,
        "normalise_once(Or(main.until_, until))",
        "normalise_once(And(main.until_, until))",
    ),
    Mutant(
        "a repetition that is limited never finishes",
        _FORMS,
        "        case SequenceOf(triggers=parts):\n            return any(never_finishes(part) for part in parts)\n",
        "        case SequenceOf(triggers=parts):\n            return any(never_finishes(part) for part in parts)\n"
        "        case OrFinally(main=main):\n            return never_finishes(main)\n",
    ),
    Mutant(
        "what comes before a repetition is folded into it if it ends alike",
        _FORMS,
        "while len(flat) > len(cycle) and flat[-1 - len(cycle) : -1] == cycle:",
        "while len(flat) > len(cycle) and flat[-2] == cycle[-1]:",
    ),
    Mutant(
        "a sequence that begins with its repetition is that repetition",
        _FORMS,
        "if len(parts) % period == 0 and parts == parts[:period] * (len(parts) // period):",
        "if len(parts) % period == 0 and parts[:period] == parts[-period:]:",
    ),
    Mutant(
        "the unit and the zero of Or change places",
        _FORMS,
        "_junction(Or, trigger, Never(), Always())",
        "_junction(Or, trigger, Always(), Never())",
    ),
    Mutant(
        "a junction absorbs every junction beside it",
        _FORMS,
        "isinstance(part, dual) and any(other in part.triggers for other in known)",
        "isinstance(part, dual) and any(other in part.triggers or part != other for other in known)",
    ),
)
"""Normal forms."""

__all__ = ["COMBINER_MUTANTS", "FORM_MUTANTS", "SIDE_MUTANTS"]
