"""``process_inputs``: a computation over several named inputs, each with a function of its own.

These tests catch an element that reaches the function of another input, and an order that is not that of event time.
"""

from __future__ import annotations

import flowalg_reference as reference
import pytest
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.timelines import free_timelines
from flowalg_polars import PolarsStreaming
from hypothesis import given

from flowalg import KV, Computation, PCollection, Timeline, ToList, flatten
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition
from flowalg.data.shapes import shape_of
from flowalg.errors import ArgumentError
from flowalg.serialization import from_json, to_json
from flowalg.transforms import process_inputs

NAMES: PCollection[KV[str, str]] = READINGS.key_by(lambda reading: reading.key).map_values(lambda r: r.key)


def keep(last: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, str]:
    """Keeps a value, until a timer."""
    return Transition(seen.value, set=[EventTimer("end", seen.event_time)])


def difference(last: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Emits the difference to the kept value."""
    return Transition(last, emit=[seen.value - last])


def label(last: int, seen: Observed[str, str], clocks: Clocks) -> Transition[int, str]:
    """Emits a text."""
    return Transition(last, emit=[f"{seen.value}{last}"])


def back(last: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, str]:
    """Takes a value back."""
    return Transition(last - seen.value)


def at_end(last: int, timer: Timer, clocks: Clocks) -> Transition[int, int | str]:
    """Emits the last value."""
    return Transition(last, emit=[last])


SMALL: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value < 3)
DIFFERENCES: PCollection[KV[str, int | str]] = (
    process_inputs(initial=0)
    .on("small", SMALL, keep)
    .on("values", VALUES, difference)
    .on("names", NAMES, label)
    .process(in_order=True, on_timer=at_end)
)


def by_hand(
    last: int, seen: Observed[str, tuple[str, int, str]], clocks: Clocks
) -> Transition[int, int | str]:
    """The same over one collection of tuples with the names of the inputs."""
    name, number, text = seen.value
    if name == "small":
        return Transition(number, set=[EventTimer("end", seen.event_time)])
    return Transition(last, emit=[number - last if name == "values" else f"{text}{last}"])


@given(timeline=free_timelines())
def test_each_input_has_its_function(timeline: Timeline[Reading]) -> None:
    """The outputs are those of a computation that distinguishes the inputs by hand, in the same order."""
    named = flatten(
        SMALL.map_values(lambda n: ("small", n, "")),
        VALUES.map_values(lambda n: ("values", n, "")),
        NAMES.map_values(lambda text: ("names", 0, text)),
    )
    same = named.process(
        Computation(initial=0, on_element=by_hand, on_timer=at_end), in_order=True
    ).combine_per_key(ToList())
    expected = reference.Reference().run(same, {READINGS: timeline}).final_values()
    for engine in (reference.Reference(), PolarsStreaming()):
        assert (
            engine.run(DIFFERENCES.combine_per_key(ToList()), {READINGS: timeline}).final_values() == expected
        )


def test_the_type_of_the_outputs_is_known() -> None:
    """It is the sum of what the functions are annotated to emit, unless it is declared."""
    assert DIFFERENCES.shape == shape_of(KV[str, int | str])
    one = process_inputs(0).on("values", VALUES, lambda n, seen, clocks: Transition(n, emit=[n]))
    assert one.process(result=int).shape == shape_of(KV[str, int])


def test_a_computation_over_inputs_can_be_written() -> None:
    """If its functions can be imported, as those of other computations."""
    pipeline = (
        process_inputs(0).on("values", VALUES, difference).on("same", VALUES, keep).process(in_order=True)
    )
    assert from_json(to_json(pipeline), PCollection[object]) == pipeline


def test_invalid_inputs_are_errors() -> None:
    """Each message names the input."""
    begun = process_inputs(0).on("values", VALUES, difference)
    with pytest.raises(ArgumentError, match="name must be a name that no other input has; got 'values'"):
        begun.on("values", VALUES, keep)
    with pytest.raises(ArgumentError, match="the collection of other must be a PCollection of pairs; got 3"):
        begun.on("other", 3, keep)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="on_element of other must be a function; got 3"):
        begun.on("other", VALUES, 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="on_retraction of other must be a function, since another"):
        process_inputs(0).on("values", VALUES, difference, on_retraction=back).on(
            "other", VALUES, keep
        ).process()
