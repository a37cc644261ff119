"""Faults of computations: functions that fail, and transitions that are invalid, with the error that each is."""

from __future__ import annotations

from collections.abc import Callable

from flowalg import Computation
from flowalg.computations import EventTimer, Transition
from flowalg.data import MAX_TIME
from flowalg.errors import ElementError, UserFunctionError
from tests.support.scores import minute


def fails(*arguments: object) -> Transition[int, int]:
    """A function that always raises."""
    raise LookupError("no luck")


def _timer_at(at: float) -> Callable[..., Transition[int, int]]:
    return lambda n, seen, clocks: Transition(n + 1, set=[EventTimer("end", minute(at))])


FAULTS = [
    (Computation(initial=0, on_element=fails), UserFunctionError, r"fails at .* raised LookupError: no luck"),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: n),  # type: ignore[arg-type,return-value]
        ElementError,
        r"the result must be a Transition; got 0 \(int\)",
    ),
    (
        Computation(initial=0, on_element=_timer_at(0), on_timer=fails),
        ElementError,
        r"the timer 'end' is at 2024-01-01T12:00:00Z; it must not be before 2024-01-01T12:01:00Z",
    ),
    (
        Computation(
            initial=0,
            on_element=lambda n, seen, clocks: Transition(n + 1, set=[EventTimer("", seen.event_time)]),
            on_timer=fails,
        ),
        ElementError,
        r"EventTimer.tag must be a non-empty str; got '' \(str\)",
    ),
    (
        Computation(initial=0, on_element=_timer_at(2)),
        ElementError,
        r"the computation has no on_timer, so it must not set",
    ),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, emit_at=[(minute(0), n)])),
        ElementError,
        r"an output is at 2024-01-01T12:00:00Z; it must not be before",
    ),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, hold=minute(0))),
        ElementError,
        r"the hold is at 2024-01-01T12:00:00Z; it must not be before",
    ),
    (
        Computation(
            initial=0,
            on_element=lambda n, seen, clocks: Transition(n, emit_at=[(MAX_TIME.datetime, n)]),
        ),
        ElementError,
        r"its event time must be before the end of time",
    ),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, emit=[2**70])),
        ElementError,
        r"overflows 64 bits",
    ),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, emit=["a"]), result=int),  # type: ignore[list-item]
        ElementError,
        r"an output of .* must be of type int; got 'a' \(str\)",
    ),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, clear=[3])),  # type: ignore[list-item]
        ElementError,
        r"an item of Transition.clear must be a non-empty str; got 3 \(int\)",
    ),
]
"""Computations of sums of ints that fail at their first element, a minute after noon, and the message of the error."""

LOOP: Computation[str, int, int, int] = Computation(
    initial=0,
    on_element=lambda n, seen, clocks: Transition(n, set=[EventTimer("again", seen.event_time)]),
    on_timer=lambda n, timer, clocks: Transition(n, set=[EventTimer("again", timer.at)]),
    name="loop",
)
"""A computation whose timer sets itself again without end."""
