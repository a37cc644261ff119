"""Which choice to take, by a rule that is said, and why: against the choices beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.triggers.describe import count_of
from flowalg.windows.strategy import Forever
from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.wording import about, lateness_told, share_told


@frozen
class Recommendation:
    """The choice that a rule gives, ``None`` if none qualifies; ``str`` of it says why."""

    choice: Choice | None
    words: str

    def __str__(self) -> str:
        return self.words


@frozen
class _Limits:
    """What is too much."""

    late: float
    dropped: float

    def allow(self, choice: Choice) -> bool:
        return choice.late_share <= self.late and choice.dropped_share <= self.dropped

    def __str__(self) -> str:
        return f"at most {share_told(self.late)} late and at most {share_told(self.dropped)} dropped"


def recommended(choices: Sequence[Choice], *, late: float, dropped: float) -> Recommendation:
    """The quickest of the choices inside both limits: see ``WhatIf.recommendation``."""
    for argument, share in (("late", late), ("dropped", dropped)):
        if isinstance(share, bool) or not isinstance(share, float | int) or not 0 <= share <= 1:
            raise ArgumentError(argument, share, "a share, between 0 and 1")
    limits = _Limits(late, dropped)
    fitting = [one for one in choices if one.latency is not None and limits.allow(one)]
    if not fitting:
        return Recommendation(None, "\n".join(_nothing(choices, limits)))
    best = min(fitting, key=_order)
    return Recommendation(best, "\n".join(_told(best, choices, fitting, limits)))


def _order(choice: Choice) -> tuple[timedelta, float, float, float]:
    late, dropped, latency, kept = choice.costs
    return latency, kept, dropped, late


def _told(
    best: Choice, choices: Sequence[Choice], fitting: Sequence[Choice], limits: _Limits
) -> Iterator[str]:
    """The rule, the choice, what it comes to, and what those beside it do."""
    assert best.latency is not None
    yield f"Take {best}."
    yield (
        f"Of {count_of(len(choices), 'choice')}, {len(fitting)} have {limits}; of these it is the quickest: half of "
        f"its windows come out within {about(best.latency.median)} of their end, and 95 in 100 within "
        f"{about(best.latency.p95)}."
    )
    yield (
        f"{share_told(best.late_share)} of the elements are late and {share_told(best.dropped_share)} are dropped. "
        f"A window has {best.panes_per_window:.2f} panes; {best.kept.mean:,.1f} windows are kept on average, "
        f"{best.kept.most:,} at the most."
    )
    others = [one for one in choices if one.latency is not None and one.policy != best.policy]
    quicker = [one for one in others if one.costs[2] < best.costs[2]]
    if quicker:
        yield f"Quicker: {_quicker(min(quicker, key=lambda one: (-one.costs[2], _excess(one, limits))), best, limits)}"
    fewer = [one for one in fitting if one in others and one.late_share < best.late_share]
    if fewer:
        yield f"Fewer late: {_slower(min(fewer, key=_order), best)}"
    yield from _beside(best, choices, limits)


def _excess(choice: Choice, limits: _Limits) -> float:
    return max(choice.late_share - limits.late, 0) + max(choice.dropped_share - limits.dropped, 0)


def _quicker(choice: Choice, best: Choice, limits: _Limits) -> str:
    return f"{choice} is {_sooner(choice, best)}, but {_too_much(choice, limits)}."


def _too_much(choice: Choice, limits: _Limits) -> str:
    parts = []
    if choice.late_share > limits.late:
        parts.append(f"{share_told(choice.late_share)} of the elements are late")
    if choice.dropped_share > limits.dropped:
        parts.append(f"{share_told(choice.dropped_share)} are dropped")
    return " and ".join(parts)


def _slower(choice: Choice, best: Choice) -> str:
    return (
        f"{choice} has {share_told(choice.late_share)} late, but is {_sooner(best, choice, word='slower')} and keeps "
        f"{choice.kept.mean:,.1f} windows on average."
    )


def _sooner(one: Choice, other: Choice, word: str = "quicker") -> str:
    less = other.costs[2] - one.costs[2]
    return f"{about(less)} {word}" if less else f"no {word}"


def _beside(best: Choice, choices: Sequence[Choice], limits: _Limits) -> Iterator[str]:
    """The same policy with the next shorter and the next longer allowed lateness."""
    same = sorted((one for one in choices if one.policy == best.policy), key=_patience)
    shorter = [one for one in same if _patience(one) < _patience(best)]
    longer = [one for one in same if _patience(one) > _patience(best)]
    for word, other in (*(("Less", one) for one in shorter[-1:]), *(("More", one) for one in longer[:1])):
        verdict = "" if limits.allow(other) else f", more than {share_told(limits.dropped)},"
        yield (
            f"{word} lateness: {lateness_told(other.allowed_lateness)} would drop {share_told(other.dropped_share)}"
            f"{verdict} and keep {other.kept.mean:,.1f} windows on average."
        )


def _patience(choice: Choice) -> tuple[bool, float]:
    lateness = choice.allowed_lateness
    return (False, lateness.total_seconds()) if not isinstance(lateness, Forever) else (True, 0.0)


def _nothing(choices: Sequence[Choice], limits: _Limits) -> Iterator[str]:
    yield f"None of {count_of(len(choices), 'choice')} has {limits}."
    late = min(choices, key=lambda one: one.costs)
    dropped = min(choices, key=lambda one: (one.dropped_share, *one.costs))
    yield (
        f"The fewest late, {share_told(late.late_share)}, has {late}, of which {share_told(late.dropped_share)} "
        "are dropped."
    )
    yield f"The fewest dropped, {share_told(dropped.dropped_share)}, has {dropped}."
    yield "Allow more of either, or try policies that wait longer, and more allowed lateness."


__all__ = ["Recommendation", "recommended"]
