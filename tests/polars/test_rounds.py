"""Computations in rounds of columns, against the reference: each round has an element of many keys.

These tests catch a transition in columns that is not that of Python, and a key that is left to Python without need.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import polars as pl
import pytest
from attrs import evolve, frozen
from flowalg_laws import READINGS, VALUES, Reading, computations
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies import timelines
from flowalg_laws.strategies.computations import CHAINED_TIMERS, ECHO, HEARTBEAT
from flowalg_polars import PolarsStreaming
from flowalg_polars.streaming.operators import Cluster
from flowalg_reference import Reference
from flowalg_shard.computations import rounds
from flowalg_shard.computations.stage import ComputationStage
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Computation, EventTime, Mode, PCollection, Timeline
from flowalg.computations import (
    Clocks,
    EventTimer,
    Late,
    Observed,
    ProcessingTimer,
    Processor,
    Timer,
    Transition,
)
from flowalg.data import MAX_TIME
from flowalg.data.shapes import INTEGER, TEXT, shape_of
from flowalg.lifting.transitions import LiftedTransition, lift_transition
from flowalg.lifting.tree.expressions import Opaque
from flowalg.runs.clocks import Clocks as Advanced

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
Seen = Observed[str, int]
CLUSTERS = st.builds(Cluster, st.integers(1, 2), st.integers(1, 3), st.booleans())


@frozen
class Progress:
    """A state of several columns."""

    count: int
    last: str | None


def _free(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    if number + seen.value > 3:
        return Transition(None, emit=[number, seen.value])
    if seen.value < 1:
        return Transition(number + 1, clear=["other"] if seen.value else [])
    return Transition(
        number + seen.value,
        emit=[number] if seen.late else [],
        set=[EventTimer("idle", seen.event_time + 3 * MINUTE)],
    )


def _forget(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    again = ProcessingTimer("other", clocks.processing_time + MINUTE)
    return (
        Transition(number + 1, emit=[-number], set=[again]) if number < 2 else Transition(None, emit=[number])
    )


def _divide(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(total + 6 // seen.value, emit=(total,) if clocks.watermark > seen.event_time else ())


def _progress(before: Progress, seen: Seen, clocks: Clocks) -> Transition[Progress, str | None]:
    after = Progress(before.count + 1, seen.key if seen.value > 0 else None)
    return Transition(after, emit=[before.last, after.last])


def _set_far(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    if seen.value % 3 == 0:
        return Transition(
            number, set=[EventTimer("far", _END), ProcessingTimer("near", clocks.processing_time)]
        )
    if seen.value < 0:
        return Transition(number, set=[EventTimer("far", seen.event_time - MINUTE)])
    return Transition(number + 1, clear=("near", "never"))


def _named(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    timer = EventTimer("idle", seen.event_time + MINUTE * (seen.value % 3))
    if seen.value > 2:
        return _starting(number, timer)
    if number < 3:
        return Transition[int, int](number + 1, set=[timer], clear=["other"])
    return Transition(0, emit=[number], set=[timer])


def _starting(number: int, timer: EventTimer) -> Transition[int, int]:
    tag = "other"
    return Transition(number, emit=[number] if number else [], set=[timer], clear=[tag])


def _release(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(None, emit=[10 * number + (timer.tag == "far")])


_END = MAX_TIME.datetime

FREEING = Computation(initial=0, on_element=_free, on_timer=_forget, name="freeing")
DIVIDING = Computation(initial=0, on_element=_divide, name="dividing")
PROGRESS = Computation(initial=Progress(0, None), on_element=_progress, name="progress")
FAR = Computation(initial=0, on_element=_set_far, on_timer=_release, name="far")
NAMED = Computation(initial=0, on_element=_named, on_timer=_forget, name="named")
OWN: tuple[Processor[str, int, object], ...] = (FREEING, DIVIDING, PROGRESS, FAR, NAMED)


@pytest.fixture(autouse=True)
def _small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round with a single element is not too small."""
    monkeypatch.setattr(rounds, "FEWEST", 1)


def lifted(computation: Computation[str, int, object, object]) -> LiftedTransition | Opaque:
    """Returns what the function of elements returns."""
    state, output = computation.state_shape, computation.output_shape
    assert state is not None
    assert output is not None
    fires = computation.on_timer is not None
    return lift_transition(computation.on_element, state, TEXT, INTEGER, output, fires=fires)


def outcome(
    pipeline: PCollection[object], data: Timeline[Reading], mode: Mode, cluster: Cluster | None
) -> object:
    """Returns the outputs, the drops and the bad records of a run on the reference, or on a cluster."""
    engine = (
        Reference(mode, dead_letters=True)
        if cluster is None
        else PolarsStreaming(cluster, mode=mode, dead_letters=True)
    )
    run = engine.run(pipeline, {READINGS: data})
    drops = sorted((str(drop.key), drop.reason.value) for drop in run.dropped for _ in range(drop.count))
    return run.elements, drops, sorted(map(repr, run.bad_records))


@given(computations() | st.sampled_from(OWN), timelines(READINGS), st.sampled_from(Late), CLUSTERS)
def test_rounds_have_the_transitions_of_the_reference(
    computation: Processor[str, int, object], data: Timeline[Reading], late: Late, cluster: Cluster
) -> None:
    """States, timers, outputs and failed calls are those of Python, whatever the keys have in an instant."""
    pipeline = VALUES.process(computation, late=late)
    for mode in Mode:
        assert outcome(pipeline, data, mode, cluster) == outcome(pipeline, data, mode, None)


def _instants() -> Timeline[Reading]:
    """Many elements of few keys in each instant: some late, some that fail, and timers that come due."""
    timeline, steps = Timeline[Reading](), 8
    for step in range(steps):
        now = START + 2 * step * MINUTE
        elements = [
            Reading(key, (3 * number + step + len(key)) % 7 - 2, now - number * MINUTE, now)
            for key in ("a", "bb", "ccc")
            for number in range(1 + (step + len(key)) % 4)
        ]
        # A timer is set, its key is freed, and the next element does not set it again.
        elements += [
            Reading("d", value, now + number * SECOND, now) for number, value in enumerate((1, 3, 0))
        ]
        timeline = timeline.at(now, *elements, watermark=now - 2 * MINUTE)
    return timeline.end(START + 2 * steps * MINUTE)


@pytest.mark.parametrize("computation", OWN, ids=lambda of: of.name)
@pytest.mark.parametrize("shards", [1, 3])
def test_rounds_free_keys_replace_timers_and_repeat_failures(
    computation: Processor[str, int, object], shards: int
) -> None:
    """A freed key starts from the initial state, a cleared timer does not fire, and Python repeats failing calls."""
    data, pipeline = _instants(), VALUES.process(computation)
    expected = outcome(pipeline, data, Mode.MICRO_BATCH, None)
    assert outcome(pipeline, data, Mode.MICRO_BATCH, Cluster(shards=shards)) == expected


@pytest.mark.parametrize("computation", [*OWN, CHAINED_TIMERS, ECHO, HEARTBEAT], ids=lambda of: of.name)
def test_a_function_that_writes_its_transitions_is_lifted(
    computation: Computation[str, int, object, object],
) -> None:
    """Branches, variables, several outputs, timers of both kinds and called functions have columns."""
    assert isinstance(lifted(computation), LiftedTransition)


def _listed(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(number, emit=[output for output in (1, 2) if output > number])


def _unwritten(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return cast("Transition[int, int]", max([Transition(number)], key=str))


def _changed(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return evolve(Transition[int, int](number), emit=(1,))


def _either(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    timer = EventTimer("a" if number else "b", seen.event_time)
    return Transition(number, set=[timer])


def _read(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    timer = EventTimer("a", seen.event_time)
    return Transition(number, set=[timer] if timer.at > seen.event_time else [])


def _without(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return (Transition[int, int](number), number)[0] if number else number  # type: ignore[return-value]


def _twice(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(number, set=[EventTimer("a", seen.event_time)], clear=["a"])


def _of_two_kinds(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    if number > 1:
        return Transition(number, set=[EventTimer("a", seen.event_time)])
    return Transition(number, set=[ProcessingTimer("a", clocks.processing_time)])


def _freed_with_timer(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(None, set=[EventTimer("a", seen.event_time)])


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (_listed, "not written out"),
        (_unwritten, "a call of cast"),
        (_changed, "evolve of"),
        (_either, "whose tag is not a constant"),
        (_read, "EventTimer.at, which is not a plain field"),
        (_without, "a path without a Transition"),
        (_twice, "several timers of one tag"),
        (_of_two_kinds, "timers of two kinds with the tag 'a'"),
        (_freed_with_timer, "timers that it must not set"),
        (lambda number, seen, clocks: Transition(number, hold=seen.event_time), "a Transition with hold"),
        (lambda state, seen, clocks: Transition(str(state)), "a state of type str, not int"),
        (lambda state, seen, clocks: Transition(state, emit=["a"]), "an output of type str, declared as int"),
    ],
)
def test_other_functions_are_not_lifted(f: object, reason: str) -> None:
    """The reason names the part of the transition that is not lifted."""
    assert callable(f)
    result = lift_transition(f, shape_of(int), TEXT, INTEGER, INTEGER, fires=True)
    assert isinstance(result, Opaque)
    assert reason in result.reason


def test_a_state_that_may_be_none_is_left_to_python() -> None:
    """Whether the key is freed is then decided by the value."""
    result = lift_transition(_free, shape_of(int | None), TEXT, INTEGER, INTEGER, fires=True)
    assert isinstance(result, Opaque)
    assert "None frees the key" in result.reason


def test_most_elements_of_many_keys_are_observed_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only keys that have too many elements for a round are left to Python."""
    left: list[int] = []

    def observe(
        stage: ComputationStage,
        key_states: pl.DataFrame,
        ready: pl.DataFrame,
        before: EventTime,
        now: Advanced,
    ) -> rounds.Remainder:
        result = rounds_of(stage, key_states, ready, before, now)
        left.append(result.ready.height)
        return result

    rounds_of = rounds.observe_in_rounds
    monkeypatch.setattr(rounds, "FEWEST", 3)
    monkeypatch.setattr("flowalg_shard.computations.step.observe_in_rounds", observe)
    keys = [(key, number) for key in "abcd" for number in range(2)] + [("e", number) for number in range(5)]
    readings = [Reading(key, value, START, START) for key, value in keys]
    timeline = Timeline[Reading]().at(START, *readings, watermark=START).end(START)
    run = PolarsStreaming().run(VALUES.process(ECHO), {READINGS: timeline})
    assert len(run.elements) == len(readings)
    assert left[0] == 5
