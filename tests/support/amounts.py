"""Decimals and floats through pipelines, and what plain Python has for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Final

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import KV, Count, Max, Mean, Min, PCollection, Quantile, Source, Sum, ToList, TopN
from flowalg.combiners import ToSet, Variance, together
from flowalg.runs.run import Outputs
from tests.support.scores import minute

PRECISE: Final = Context(prec=400, rounding=ROUND_HALF_EVEN)
LARGEST: Final = sys.float_info.max


@frozen
class Amount:
    """A record of numbers."""

    key: str
    amount: Decimal
    share: float
    maybe: Decimal | None
    parts: list[float]
    at: datetime


AMOUNTS: Final = Source("amounts", Amount, event_time=lambda a: a.at)
KEYED: Final = AMOUNTS.key_by(lambda a: a.key)
DECIMALS: Final = KEYED.map_values(lambda a: a.amount)
FLOATS: Final = KEYED.map_values(lambda a: a.share)


def text_of(amount: Amount) -> str:
    """Returns a text of decimals; Python computes it."""
    return f"{amount.amount}|{amount.amount!s:>8}|{amount.maybe!r}"


def amount_of(amount: Amount) -> Decimal:
    """Returns the decimal of a record."""
    return amount.amount


def share_of(amount: Amount) -> float:
    """Returns the float of a record."""
    return amount.share


def negative(amount: Amount) -> float:
    """Returns a float that may be a negative zero."""
    return -amount.share


def half(amount: Amount) -> Decimal:
    """Returns a decimal with trailing zeros; Python computes it."""
    return (amount.amount / 2).quantize(Decimal("1.00000000"))


PIPELINES: Final[dict[str, PCollection[KV[object, object]]]] = {
    "sum": DECIMALS.combine_per_key(Sum[Decimal]()),
    "mean": DECIMALS.combine_per_key(Mean[Decimal]()),
    "sum of": KEYED.combine_per_key(Sum.of(lambda a: a.amount)),
    "mean and count": KEYED.combine_per_key(together(Mean.of(amount_of), Count())),
    "together": KEYED.combine_per_key(
        together(Sum.of(amount_of), Mean.of(amount_of), Min.of(negative), Mean.of(share_of))
    ),
    "variance": DECIMALS.combine_per_key(Variance()),
    "median": DECIMALS.combine_per_key(Quantile(0.5)),
    "least and greatest": DECIMALS.combine_per_key(together(Min[Decimal](), Max[Decimal]())),
    "top": DECIMALS.combine_per_key(TopN[Decimal](2)),
    "set": DECIMALS.combine_per_key(ToSet[Decimal]()),
    "list": DECIMALS.combine_per_key(ToList[Decimal]()),
    "by amount": AMOUNTS.key_by(lambda a: a.amount).map_values(lambda a: 1).combine_per_key(Sum()),
    "text": KEYED.map_values(text_of).combine_per_key(ToList[str]()),
    "halves": KEYED.map_values(half).combine_per_key(ToList[Decimal]()),
    "maybe": KEYED.map_values(lambda a: a.maybe).combine_per_key(ToSet["Decimal | None"]()),
    "sum of floats": FLOATS.combine_per_key(Sum[float]()),
    "mean of floats": KEYED.combine_per_key(together(Mean.of(lambda a: a.share), Sum.of(lambda a: -a.share))),
    "least float": FLOATS.combine_per_key(together(Min[float](), Max[float]())),
    "least negative": KEYED.combine_per_key(Min.of(lambda a: -a.share)),
    "floats": FLOATS.combine_per_key(ToList[float]()),
    "set of floats": FLOATS.combine_per_key(ToSet[float]()),
    "negatives": KEYED.map_values(lambda a: -a.share).combine_per_key(ToList[float]()),
    "parts": KEYED.map_values(lambda a: a.parts).combine_per_key(ToList[list[float]]()),
    "text of floats": KEYED.map_values(lambda a: f"{a.share!r}{a.parts!r}").combine_per_key(ToList[str]()),
}
"""Pipelines over amounts, whose results ``expected`` has."""


def expected(amounts: Sequence[Amount]) -> dict[str, list[str]]:
    """Returns the results of each pipeline as text, with plain Python's numbers; sums of floats are exact."""
    keys = sorted({a.key for a in amounts})

    def by_key(of: Callable[[list[Amount]], object]) -> list[str]:
        return [shown(KV(key, of([a for a in amounts if a.key == key]))) for key in keys]

    def decimals(group: list[Amount]) -> list[Decimal]:
        return sorted(canonical(a.amount) for a in group)

    def floats(group: list[Amount], sign: int = 1) -> list[float]:
        return sorted(sign * a.share + 0.0 for a in group)

    counts = {canonical(a.amount): 0 for a in amounts}
    for a in amounts:
        counts[canonical(a.amount)] += 1
    return {
        "sum": by_key(lambda group: total(decimals(group))),
        "mean": by_key(lambda group: mean(decimals(group))),
        "sum of": by_key(lambda group: total(decimals(group))),
        "mean and count": by_key(lambda group: (mean(decimals(group)), len(group))),
        "together": by_key(
            lambda group: (
                total(decimals(group)),
                mean(decimals(group)),
                min(floats(group, -1)),
                float_total(floats(group)) / len(group) + 0.0,
            )
        ),
        "variance": by_key(lambda group: variance(decimals(group))),
        "least and greatest": by_key(lambda group: (min(decimals(group)), max(decimals(group)))),
        "top": by_key(lambda group: decimals(group)[::-1][:2]),
        "set": by_key(lambda group: frozenset(decimals(group))),
        "list": by_key(decimals),
        "by amount": [shown(KV(amount, counts[amount])) for amount in sorted(counts)],
        "text": by_key(lambda group: sorted(map(text_of, map(in_normal_form, group)))),
        "halves": by_key(lambda group: sorted(canonical(half(in_normal_form(a))) for a in group)),
        "maybe": by_key(lambda group: frozenset(in_normal_form(a).maybe for a in group)),
        "sum of floats": by_key(lambda group: float_total(floats(group))),
        "mean of floats": by_key(
            lambda group: (float_total(floats(group)) / len(group) + 0.0, float_total(floats(group, -1)))
        ),
        "least float": by_key(lambda group: (min(floats(group)), max(floats(group)))),
        "least negative": by_key(lambda group: min(floats(group, -1))),
        "floats": by_key(floats),
        "set of floats": by_key(lambda group: frozenset(floats(group))),
        "negatives": by_key(lambda group: floats(group, -1)),
        "parts": by_key(lambda group: sorted([part + 0.0 for part in a.parts] for a in group)),
        "text of floats": by_key(
            lambda group: sorted(f"{a.share + 0.0!r}{[part + 0.0 for part in a.parts]!r}" for a in group)
        ),
    }


def results(outputs: Outputs) -> dict[str, list[str]]:
    """Returns the elements of the panes of each output as text, in order."""
    return {name: [shown(pane.element) for pane in output.panes] for name, output in outputs.by_name.items()}


def shown(value: object) -> str:
    """Returns the text of a value: of a set, of its sorted items."""
    if isinstance(value, KV):
        return f"{value.key!r}: {shown(value.value)}"
    return repr(sorted(value, key=repr)) if isinstance(value, frozenset) else repr(value)


def in_normal_form(amount: Amount) -> Amount:
    """Returns the record that functions see."""
    maybe = None if amount.maybe is None else canonical(amount.maybe)
    return Amount(amount.key, canonical(amount.amount), amount.share, maybe, amount.parts, amount.at)


def canonical(value: Decimal) -> Decimal:
    """Returns a decimal without trailing zeros, exponent or negative zero, by way of its text."""
    text = format(value, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text) if value else Decimal(0)


def total(values: Iterable[Decimal]) -> Decimal:
    """Returns the exact sum."""
    with localcontext(PRECISE):
        return canonical(sum(values, Decimal(0)))


def mean(values: list[Decimal]) -> Decimal:
    """Returns the mean at 18 places."""
    with localcontext(PRECISE):
        return canonical((total(values) / len(values)).quantize(Decimal("1E-18")))


def variance(values: list[Decimal]) -> float:
    """Returns the population variance."""
    numbers = list(map(Fraction, values))
    middle = sum(numbers, Fraction(0)) / len(numbers)
    return float(sum(((number - middle) ** 2 for number in numbers), Fraction(0)) / len(numbers))


def float_total(values: list[float]) -> float:
    """Returns the sum of floats, rounded once."""
    try:
        return float(sum(map(Fraction, values), Fraction(0)))
    except OverflowError:
        return sum(values)


def decimals(digits: int = 18) -> SearchStrategy[Decimal]:
    """Decimals that fit, in any form: with zeros at their end, exponents and negative zeros."""
    plain = st.builds(
        lambda negative, number, places: Decimal((negative, tuple(map(int, str(number))), -places)),
        st.booleans(),
        st.integers(0, 10 ** (digits + 6)),
        st.integers(0, digits),
    ).filter(lambda value: abs(value) < 10**digits)
    short = st.builds(
        lambda number, places: Decimal(number).scaleb(-places), st.integers(-30, 30), st.integers(-2, 3)
    )
    return (
        plain
        | short
        | st.sampled_from([Decimal("-0.00"), Decimal("0E+3"), Decimal("1E-18"), Decimal("2.50")])
    )


def amounts() -> SearchStrategy[list[Amount]]:
    """Amounts, with floats whose sums are exact, or that are infinite on the way."""
    small = st.sampled_from([0.0, -0.0, 1.5, -1.5, 4.0])
    huge = st.sampled_from([LARGEST, -LARGEST, 0.0])

    def lists_of(shares: SearchStrategy[float]) -> SearchStrategy[list[Amount]]:
        return st.lists(
            st.builds(
                Amount,
                key=st.sampled_from(["a", "b"]),
                amount=decimals(),
                share=shares,
                maybe=st.none() | decimals(),
                parts=st.lists(small, max_size=2),
                at=st.just(minute(0)),
            ),
            min_size=1,
            max_size=8,
        )

    return lists_of(small) | lists_of(huge)
