"""The recommended choice of a grid, with the reason and a comparison with neighbouring choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.triggers.describe import count_of
from flowalg.windows.strategy import Forever
from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.formatting import format_lateness, format_rounded, format_share


@frozen
class Recommendation:
    """The recommended choice, or ``None`` if no choice is acceptable; its ``str`` gives the reason."""

    choice: Choice | None
    text: str

    def __str__(self) -> str:
        return self.text


@frozen
class _Limits:
    """The largest acceptable shares."""

    late: float
    dropped: float

    def allow(self, choice: Choice) -> bool:
        return choice.late_share <= self.late and choice.dropped_share <= self.dropped

    def __str__(self) -> str:
        return f"at most {format_share(self.late)} late and at most {format_share(self.dropped)} dropped elements"


def recommend(choices: Sequence[Choice], *, late: float, dropped: float) -> Recommendation:
    """Returns the fastest choice within both limits: see ``WhatIf.recommendation``."""
    for argument, share in (("late", late), ("dropped", dropped)):
        if isinstance(share, bool) or not isinstance(share, float | int) or not 0 <= share <= 1:
            raise ArgumentError(argument, share, "a share, between 0 and 1")
    limits = _Limits(late, dropped)
    acceptable = [choice for choice in choices if choice.latency is not None and limits.allow(choice)]
    if not acceptable:
        return Recommendation(None, "\n".join(_explain_none(choices, limits)))
    best = min(acceptable, key=_order)
    return Recommendation(best, "\n".join(_explain(best, choices, acceptable, limits)))


def _order(choice: Choice) -> tuple[timedelta, float, float, float]:
    late, dropped, latency, state = choice.costs
    return latency, state, dropped, late


def _explain(
    best: Choice, choices: Sequence[Choice], acceptable: Sequence[Choice], limits: _Limits
) -> Iterator[str]:
    """The choice, the rule, its results, and its neighbours."""
    assert best.latency is not None
    yield f"Recommended: {best}."
    has = "has" if len(acceptable) == 1 else "have"
    yield (
        f"{len(acceptable)} of {count_of(len(choices), 'choice')} {has} {limits}. This one has the lowest latency: 50% "
        f"of its on-time panes fire within {format_rounded(best.latency.median)} of the end of their window, and 95% "
        f"within {format_rounded(best.latency.p95)}."
    )
    yield (
        f"{format_share(best.late_share)} of the elements are late, and {format_share(best.dropped_share)} are "
        f"dropped. A window has {best.panes_per_window:.2f} panes on average. There are {best.state.mean:,.1f} live "
        f"windows on average, and at most {best.state.maximum:,}."
    )
    others = [choice for choice in choices if choice.latency is not None and choice.policy != best.policy]
    faster = [choice for choice in others if choice.costs[2] < best.costs[2]]
    if faster:
        nearest = min(faster, key=lambda choice: (-choice.costs[2], _excess(choice, limits)))
        yield f"Faster: {nearest} is {_difference(nearest, best)} faster, but {_violations(nearest, limits)}."
    fewer = [choice for choice in acceptable if choice in others and choice.late_share < best.late_share]
    if fewer:
        slower = min(fewer, key=_order)
        yield (
            f"Fewer late elements: {slower} has {format_share(slower.late_share)} late elements, but is "
            f"{_difference(best, slower)} slower and has {slower.state.mean:,.1f} live windows on average."
        )
    yield from _neighbours(best, choices, limits)


def _excess(choice: Choice, limits: _Limits) -> float:
    return max(choice.late_share - limits.late, 0) + max(choice.dropped_share - limits.dropped, 0)


def _violations(choice: Choice, limits: _Limits) -> str:
    parts = []
    if choice.late_share > limits.late:
        parts.append(f"{format_share(choice.late_share)} of the elements are late")
    if choice.dropped_share > limits.dropped:
        parts.append(f"{format_share(choice.dropped_share)} are dropped")
    return " and ".join(parts)


def _difference(faster: Choice, slower: Choice) -> str:
    difference = slower.costs[2] - faster.costs[2]
    return format_rounded(difference) if difference else "no"


def _neighbours(best: Choice, choices: Sequence[Choice], limits: _Limits) -> Iterator[str]:
    """The same policy with the next shorter and the next longer allowed lateness."""
    same = sorted((choice for choice in choices if choice.policy == best.policy), key=_lateness_order)
    shorter = [choice for choice in same if _lateness_order(choice) < _lateness_order(best)]
    longer = [choice for choice in same if _lateness_order(choice) > _lateness_order(best)]
    pairs = (
        *(("Shorter", choice) for choice in shorter[-1:]),
        *(("Longer", choice) for choice in longer[:1]),
    )
    for word, choice in pairs:
        verdict = "" if limits.allow(choice) else f", more than {format_share(limits.dropped)}"
        yield (
            f"{word} lateness: {format_lateness(choice.allowed_lateness)} would drop "
            f"{format_share(choice.dropped_share)}{verdict}, with {choice.state.mean:,.1f} live windows on average."
        )


def _lateness_order(choice: Choice) -> tuple[bool, float]:
    lateness = choice.allowed_lateness
    return (False, lateness.total_seconds()) if not isinstance(lateness, Forever) else (True, 0.0)


def _explain_none(choices: Sequence[Choice], limits: _Limits) -> Iterator[str]:
    yield f"None of {count_of(len(choices), 'choice')} has {limits}."
    late = min(choices, key=lambda choice: choice.costs)
    dropped = min(choices, key=lambda choice: (choice.dropped_share, *choice.costs))
    yield (
        f"{late} has the fewest late elements, {format_share(late.late_share)}, and drops "
        f"{format_share(late.dropped_share)}."
    )
    yield f"{dropped} has the fewest dropped elements, {format_share(dropped.dropped_share)}."
    yield "Raise a limit, or try policies that wait longer, and a longer allowed lateness."
