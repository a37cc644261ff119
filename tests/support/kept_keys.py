"""What a computation keeps for its keys, according to the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from flowalg_reference import KeyExplanation, ReferenceRun, why_not

from flowalg.computations import KeyContents, WaitingElement

Contents = KeyContents[object, object, object]


def contents_of(explanation: KeyExplanation) -> Contents:
    """Returns the contents of a key from what it is waiting for."""
    return KeyContents(
        explanation.key,
        explanation.state,
        tuple(pending.timer for pending in explanation.timers),
        None if explanation.key_hold is None else explanation.key_hold.datetime,
        tuple(
            WaitingElement(element.observed.value, element.observed.event_time, element.retraction)
            for element in explanation.waiting
        ),
    )


def kept_keys(
    run: ReferenceRun[object], keys: Iterable[object], at: datetime | None = None
) -> tuple[Contents, ...]:
    """Returns the contents of those keys that have a state or elements that wait, at a processing time."""
    explanations = [why_not(run, key, at=at) for key in keys]
    return tuple(
        contents_of(explanation)
        for explanation in explanations
        if explanation.state is not None or explanation.waiting
    )
