"""Pipelines with computations for the fault injection: timers of both kinds, outputs, holds, and chains with groupings.

They are for any pairs with integers. All their times are multiples of a unit, since the inputs differ in speed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from attrs import evolve, frozen

from flowalg import KV, Accumulation, AtCount, AtWatermark, Computation, FixedWindows, PCollection, Sum
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Timer, Transition

K = TypeVar("K")
BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The event times of a key of which nothing is known."""


@frozen
class Visits:
    """The state of a key: the number and sum of the values that were not emitted, their first and its latest time."""

    count: int
    total: int
    first: datetime
    latest: datetime


@frozen
class AddValue:
    """Adds a value, and holds the watermark at the first one. A multiple of ten empties the key.

    If there is a file ``fails``, it deletes the file and raises.
    """

    unit: timedelta
    fails: Path | None

    def __call__(self, state: Visits, seen: Observed[object, int], clocks: Clocks) -> Transition[Visits, int]:
        """Returns the transition of ``on_element``."""
        if seen.value == 7 and self.fails is not None and self.fails.exists():
            self.fails.unlink()
            raise RuntimeError("a user-defined function has failed")
        first = min(state.first, seen.event_time) if state.count else seen.event_time
        latest = max(state.latest, seen.event_time)
        after = Visits(state.count + 1, state.total + seen.value, first, latest)
        silence = EventTimer("silence", latest + 5 * self.unit)
        if seen.value % 10 == 0:
            emptied = evolve(after, count=0, total=0)
            return Transition(emptied, emit_at=[(first, after.total)], set=[silence], clear=["patience"])
        patience = ProcessingTimer("patience", clocks.processing_time + 20 * self.unit)
        return Transition(after, set=[silence] if state.count else [silence, patience], hold=first)


def emit_total(state: Visits, timer: Timer, clocks: Clocks) -> Transition[Visits, int]:
    """Emits the sum at the first event time. A key that is silent is freed; one that has waited for long is emptied."""
    emit_at = [(state.first, state.total)] if state.count else []
    if timer.tag == "silence":
        return Transition(None, emit_at=emit_at)
    return Transition(evolve(state, count=0, total=0), emit_at=emit_at)


Last: TypeAlias = tuple[int, int]
"""The number of observed values, and the last one."""


@frozen
class EmitChange:
    """Emits the difference of a value and the one before it, and forgets a key that is silent."""

    unit: timedelta

    def __call__(self, last: Last, seen: Observed[int, int], clocks: Clocks) -> Transition[Last, int]:
        """Returns the transition of ``on_element``."""
        forget = EventTimer("forget", seen.event_time + 100 * self.unit)
        return Transition((last[0] + 1, seen.value), emit=[seen.value - last[1]], set=[forget])


def emit_count(last: Last, timer: Timer, clocks: Clocks) -> Transition[Last, int]:
    """Emits how many values a silent key had, and frees it."""
    return Transition(None, emit=[last[0]])


def sums_of_totals(
    pairs: PCollection[KV[K, int]], unit: timedelta, fails: Path | None = None
) -> PCollection[KV[int, int]]:
    """Returns a grouping after a computation: sums of its outputs in windows, corrected early and late."""
    totals = pairs.process(
        Computation(
            initial=Visits(0, 0, BEGINNING, BEGINNING),
            on_element=AddValue(unit, fails),
            on_timer=emit_total,
            name="total of a visit",
        )
    )
    return (
        totals.map(lambda pair: KV(pair.value % 10, pair.value))
        .window(
            FixedWindows(30 * unit),
            trigger=AtWatermark().with_early_firings(AtCount(5)).with_late_firings(AtCount(1)),
            accumulation=Accumulation.RETRACTING,
            allowed_lateness=30 * unit,
        )
        .combine_per_key(Sum())
    )


def changes_of_sums(
    pairs: PCollection[KV[K, int]], unit: timedelta, fails: Path | None = None
) -> PCollection[KV[int, int]]:
    """Returns a computation after that grouping, whose corrections it observes in order: the changes of its sums."""
    return sums_of_totals(pairs, unit, fails).process(
        Computation(initial=(0, 0), on_element=EmitChange(unit), on_timer=emit_count, name="change of a sum"),
        in_order=True,
    )
