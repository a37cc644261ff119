"""The normal form of a trigger: an equal trigger, rewritten by the laws of ``flowalg_laws.laws.triggers``.

Each rule cites its law. Triggers with the same normal form are equal. The converse does not hold: the rules do not
inspect user functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from flowalg.triggers.leaf import Leaf
from flowalg.triggers.syntax import (
    Always,
    And,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
    require_trigger,
)

Junction = And | Or
Kind = TypeVar("Kind")


def normalise(trigger: Trigger) -> Trigger:
    """Returns the normal form of a trigger. Laws: equal to the trigger on every timeline; idempotent.

    Example:

    >>> normalise(AtCount(2) & AtCount(3) & Always())
    AtCount(count=3)
    """
    require_trigger("trigger", trigger)
    match trigger:
        case SequenceOf(triggers=parts):
            return _sequence(tuple(normalise(part) for part in parts))
        case Repeat(trigger=inner):
            return _repeat(normalise(inner))
        case OrFinally(main=main, until_=until):
            return _limit(normalise(main), normalise_once(until))
        case _:
            return normalise_once(trigger)


def never_finishes(trigger: Trigger) -> bool:
    """Returns whether the trigger fires repeatedly without end."""
    match trigger:
        case Repeat():
            return True
        case SequenceOf(triggers=parts):
            return any(never_finishes(part) for part in parts)
        case _:
            return False


def _sequence(parts: tuple[Trigger, ...]) -> Trigger:
    """Applies ``sequence_associates``, ``nothing_follows_repeat``, ``repeat_unfolds`` and ``sequence_of_one``."""
    flat: list[Trigger] = []
    for part in parts:
        flat.extend(part.triggers if isinstance(part, SequenceOf) else (part,))
    endless = next((number for number, part in enumerate(flat) if never_finishes(part)), len(flat))
    flat = flat[: endless + 1]
    last = flat[-1]
    if isinstance(last, Repeat):
        cycle = list(last.trigger.triggers) if isinstance(last.trigger, SequenceOf) else [last.trigger]
        while len(flat) > len(cycle) and flat[-1 - len(cycle) : -1] == cycle:
            del flat[-1 - len(cycle) : -1]
    return flat[0] if len(flat) == 1 else SequenceOf(*flat)


def _repeat(trigger: Trigger) -> Trigger:
    """Applies ``repeat_is_idempotent``, to any trigger that never finishes, and ``repeat_of_twice``, to any count."""
    if never_finishes(trigger):
        return trigger
    if isinstance(trigger, SequenceOf):
        parts = trigger.triggers
        for period in range(1, len(parts)):
            if len(parts) % period == 0 and parts == parts[:period] * (len(parts) // period):
                return Repeat(_sequence(parts[:period]))
    return Repeat(trigger)


def _limit(main: Trigger, until: OnceTrigger) -> Trigger:
    """Applies ``limit_has_a_unit``, ``limit_composes`` and ``or_finally_of_once``; ``Always`` replaces the whole."""
    if isinstance(until, Never):
        return main
    if isinstance(until, Always):
        return until
    if isinstance(main, OrFinally):
        return _limit(main.main, normalise_once(Or(main.until_, until)))
    if isinstance(main, OnceTrigger):
        return normalise_once(Or(main, until))
    return OrFinally(main, until)


def normalise_once(trigger: OnceTrigger) -> OnceTrigger:
    """Returns the normal form of a once-trigger, by the laws of the lattice."""
    match trigger:
        case And():
            return _junction(And, trigger, Always(), Never())
        case Or():
            return _junction(Or, trigger, Never(), Always())
        case _:
            return trigger


def _junction(kind: type[Junction], trigger: Junction, unit: OnceTrigger, zero: OnceTrigger) -> OnceTrigger:
    """Flattens, drops units and duplicates, returns a zero, absorbs, simplifies comparable parts, and sorts."""
    parts: list[OnceTrigger] = []
    for part in map(normalise_once, trigger.triggers):
        parts.extend(part.triggers if isinstance(part, kind) else (part,))
    if zero in parts:
        return zero
    simplified = [part for part in _simplify(kind, parts) if part != unit]
    dual = Or if kind is And else And
    absorbed = [
        part
        for part in simplified
        if not (isinstance(part, dual) and any(other in part.triggers for other in simplified))
    ]
    if not absorbed:
        return unit
    return absorbed[0] if len(absorbed) == 1 else kind(*sorted(absorbed, key=repr))


def _simplify(kind: type[Junction], parts: Iterable[OnceTrigger]) -> list[OnceTrigger]:
    """Applies ``both_counts``, ``either_count`` and the like: of comparable leaves ``And`` keeps the least, ``Or`` the
    greatest.
    """
    different = list(dict.fromkeys(parts))
    return [part for part in different if not any(_replaces(kind, other, part) for other in different)]


def _replaces(kind: type[Junction], other: OnceTrigger, part: OnceTrigger) -> bool:
    """Returns whether a part adds nothing to a different one: ``And`` of both is the one that implies the other."""
    if other is part or not isinstance(other, Leaf) or not isinstance(part, Leaf):
        return False
    return other.implies(part) if kind is And else part.implies(other)
