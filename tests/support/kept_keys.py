"""What a computation keeps for its keys, according to the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from flowalg_reference import KeyExplanation, ReferenceRun, why_not

from flowalg import KeyContents, WaitingElement

Contents = KeyContents[object, object, object]


def contents_of(found: KeyExplanation) -> Contents:
    """Returns the contents of a key from what it is waiting for."""
    return KeyContents(
        found.key,
        found.state,
        tuple(each.timer for each in found.timers),
        None if found.key_hold is None else found.key_hold.datetime,
        tuple(
            WaitingElement(each.observed.value, each.observed.event_time, each.retraction)
            for each in found.waiting
        ),
    )


def kept_keys(
    run: ReferenceRun[object], keys: Iterable[object], at: datetime | None = None
) -> tuple[Contents, ...]:
    """Returns the contents of those keys that have a state or elements that wait, at a processing time."""
    found = [why_not(run, key, at=at) for key in keys]
    return tuple(contents_of(each) for each in found if each.state is not None or each.waiting)
