"""Checks of user-defined computations: each finds its fault, and each side condition of a law is necessary."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from attrs import define
from flowalg_laws import READINGS, VALUES, Reading, check_computation
from flowalg_laws.kit.key_histories import KeyInstant, run_history
from flowalg_laws.laws.computations import (
    a_commutative_computation_does_not_depend_on_bundles,
    in_order_the_division_into_instants_has_no_effect,
    in_order_the_outputs_are_those_of_the_batch,
    outputs_are_not_late_by_themselves,
)
from flowalg_laws.strategies.computations import (
    ECHO,
    FILLING,
    HEARTBEAT,
    HOLDING,
    SILENCE,
    SUMS_OF_FIVE,
    TOTAL,
)
from flowalg_laws.strategies.times import point
from flowalg_reference import Reference, ReferenceBatch
from hypothesis import strategies as st

from flowalg import Computation, Mode, Timeline, event_time
from flowalg.computations import Clocks, Observed, ProcessingTimer, Processor, Timer, Transition
from flowalg.errors import ElementError, UserFunctionError

MINUTE = timedelta(minutes=1)
MICRO_BATCH = Reference(Mode.MICRO_BATCH)


@pytest.mark.parametrize("computation", [SILENCE, SUMS_OF_FIVE, TOTAL, HOLDING, HEARTBEAT, ECHO, FILLING])
def test_valid_computations_pass(computation: Processor[str, int, int]) -> None:
    """A computation that keeps its promises passes all checks."""
    check_computation(computation, st.integers(-5, 5))


def test_an_output_may_be_nan() -> None:
    """NaN equals NaN, in outputs and states."""
    check_computation(
        Computation(initial=0.0, on_element=lambda last, seen, clocks: Transition(seen.value, emit=[last])),
        st.sampled_from([1.0, float("nan")]),
    )


@define
class Counted:
    """A state that can be modified."""

    number: int = 0

    def __hash__(self) -> int:
        return 0


def in_place(state: Counted, seen: Observed[str, int], clocks: Clocks) -> Transition[Counted, int]:
    """Modifies its state."""
    state.number += 1
    return Transition(state, emit=[state.number])


CALLS: list[int] = []


def remembered(state: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Returns what depends on former calls, and not on its state alone."""
    CALLS.append(seen.value)
    return Transition(state + 1, emit=[len(CALLS)])


def first_of_two(state: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Returns a state that depends on the order of elements."""
    return Transition(state or seen.value)


def earlier(state: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Emits before its cause."""
    return Transition(state, emit_at=[(seen.event_time - MINUTE, 1)])


Numbers = tuple[int, ...]
NONE: Numbers = ()


def by_identity(state: Numbers, seen: Observed[str, int], clocks: Clocks) -> Transition[Numbers, int]:
    """Returns a state that is another one after it was stored."""
    return Transition(UNIQUE, emit=[int(state is UNIQUE)])


UNIQUE: Numbers = (1,)


def alarm(state: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Sets a timer by the clock of the machine."""
    return Transition(state, set=[ProcessingTimer("alarm", datetime.now(UTC))])


def keep(state: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    """Changes nothing."""
    return Transition(state)


def corrected(
    on_retraction: Callable[[int, Observed[str, int], Clocks], Transition[int, int]],
) -> Computation[str, int, int, int]:
    """Returns a sum with a function for retractions."""
    return Computation(
        initial=0,
        on_element=lambda total, seen, clocks: Transition(total + seen.value),
        on_retraction=on_retraction,
    )


FAULTS: list[tuple[Processor[str, int, int], type[Exception], str]] = [
    (Computation(initial=Counted(), on_element=in_place), AssertionError, "does not hold for in_place"),
    (
        Computation(initial=0, on_element=remembered),
        AssertionError,
        "a_computation_is_deterministic does not hold",
    ),
    (
        Computation(initial=0, on_element=first_of_two, commutative=True),
        AssertionError,
        "a_commutative_computation_does_not_depend_on_bundles does not hold",
    ),
    (Computation(initial=0, on_element=earlier), ElementError, "it must not be before"),
    (
        Computation(initial=0, on_element=alarm, on_timer=keep),
        AssertionError,
        "is_deterministic does not hold",
    ),
    (corrected(lambda n, seen, clocks: Transition(n, emit=[n // 0])), UserFunctionError, "ZeroDivisionError"),
    (corrected(earlier), ElementError, "it must not be before"),
    (corrected(remembered), AssertionError, "a_computation_is_deterministic does not hold"),
    (Computation(initial=NONE, on_element=by_identity), AssertionError, "states_can_be_stored does not hold"),
    (
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n // (seen.value + 5))),
        UserFunctionError,
        "raised ZeroDivisionError",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("computation", "error", "message"), FAULTS)
@pytest.mark.usefixtures("unshrunk")
def test_each_fault_is_found(
    computation: Processor[str, int, int], error: type[Exception], message: str
) -> None:
    """A computation that breaks a law fails with the law, or with the error that a run would raise."""
    with pytest.raises(error, match=message):
        check_computation(computation, st.integers(-5, 5))


def timeline(*minutes: tuple[int, int]) -> Timeline[Reading]:
    """Returns a timeline with an element in each instant, at a minute, before a watermark; then the input ends."""
    made = Timeline[Reading]()
    for number, (at, watermark) in enumerate(minutes):
        reading = Reading("a", number + 1, point(at), point(number))
        made = made.at(point(number), reading, watermark=point(watermark))
    return made.end(point(9))


def test_a_dropped_element_changes_the_outputs_in_order() -> None:
    """A stream that dropped a late element does not emit what the batch emits, which has it."""
    assert "nothing was dropped" in in_order_the_outputs_are_those_of_the_batch.condition
    late = timeline((5, 6), (1, 6))
    stream = MICRO_BATCH.run(VALUES.process(ECHO, in_order=True), {READINGS: late})
    batch = ReferenceBatch().run(VALUES.process(ECHO), {READINGS: late})
    assert [output.value for output in stream.elements] == [10]
    assert [output.value for output in batch.elements] == [20, 1010]


def test_a_computation_that_reads_the_clock_depends_on_instants() -> None:
    """A timer of processing time fires when it is due in a stream, and at the end of the input in a batch.

    What such a timer sets fires in the same instant if it is due, whatever its time (SEMANTICS 17).
    """
    assert "does not depend on processing time" in in_order_the_outputs_are_those_of_the_batch.condition
    instants = timeline((0, 0)).instants[:1]
    silent = (
        Timeline(instants).at(point(5), watermark=point(2)).at(point(9), watermark=point(2)).end(point(9))
    )
    stream = MICRO_BATCH.run(VALUES.process(HEARTBEAT, in_order=True), {READINGS: silent})
    batch = ReferenceBatch().run(VALUES.process(HEARTBEAT), {READINGS: silent})
    # In order, the element is observed at minute 5, when the watermark has passed it. The timer of minute 7 then fires
    # at 9, two minutes late, and the one that it sets at 9 on time. Outputs of one instant are in canonical order.
    assert [output.value for output in stream.elements] == [0, 2]
    assert {output.processing_time.datetime for output in stream.elements} == {point(9)}
    # Otherwise it is observed at minute 0. The timer of minute 2 fires at 5, three minutes late, and the one that it
    # sets at 4 is due then too, and one minute late.
    stream = MICRO_BATCH.run(VALUES.process(HEARTBEAT), {READINGS: silent})
    assert [output.value for output in stream.elements] == [-1, 3]
    assert {output.processing_time.datetime for output in stream.elements} == {point(5)}
    # A batch has one instant, at minute 0. Its timer fires two minutes early, and what that sets does not fire.
    assert [output.value for output in batch.elements] == [-2]


def test_a_watermark_beyond_the_horizon_fires_more_timers() -> None:
    """A computation that fills silent minutes fills those that the watermark has passed; a batch knows its elements."""
    for stated in (
        in_order_the_outputs_are_those_of_the_batch,
        in_order_the_division_into_instants_has_no_effect,
    ):
        assert "no watermark before the end is beyond the horizon" in stated.condition
    beyond = timeline((0, 3))
    stream = MICRO_BATCH.run(VALUES.process(FILLING, in_order=True), {READINGS: beyond})
    batch = ReferenceBatch().run(VALUES.process(FILLING), {READINGS: beyond})
    assert [output.value for output in stream.elements] == [1, 0, 0, 0]
    assert [output.value for output in batch.elements] == [1]
    history = tuple(
        KeyInstant(
            instant.processing_time,
            tuple((r.value, event_time(r.at)) for r in instant.elements),
            instant.watermark,
        )
        for instant in beyond
    )
    assert (
        len(
            [output for outputs in run_history(FILLING, history, in_order=True).outputs for output in outputs]
        )
        == 4
    )
    assert in_order_the_division_into_instants_has_no_effect(FILLING, history) is None


def test_the_output_of_a_late_element_is_late() -> None:
    """An output at the time of a late element is behind the watermark that was propagated before."""
    assert "no element is behind the watermark" in outputs_are_not_late_by_themselves.condition
    run = MICRO_BATCH.run(VALUES.process(ECHO), {READINGS: timeline((5, 6), (1, 6))})
    assert run.elements[-1].event_time < run.watermarks[0].output


def test_bundles_matter_if_a_timer_fires_between_elements() -> None:
    """Late elements of one window are one sum in one instant, and two sums in two, although sums commute."""
    assert "the elements are on time" in a_commutative_computation_does_not_depend_on_bundles.condition
    together = Timeline[Reading]().at(point(0), watermark=point(9))
    one, two = (Reading("a", value, point(1), point(1)) for value in (1, 2))
    bundled = together.at(point(1), one, two, watermark=point(9))
    single = together.at(point(1), one, watermark=point(9)).at(point(1), two, watermark=point(9))

    def sums(instants: Timeline[Reading]) -> list[int]:
        return [
            output.value
            for output in MICRO_BATCH.run(VALUES.process(SUMS_OF_FIVE), {READINGS: instants}).elements
        ]

    assert (sums(bundled), sums(single)) == ([3], [1, 2])
