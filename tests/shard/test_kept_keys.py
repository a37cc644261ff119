"""What a computation keeps: states, holds, timers and waiting elements as tables, and read back.

The tests catch a state that changes its value or type in columns, and a timer or hold that is lost.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from attrs import frozen
from flowalg_columns.codec import Codec
from flowalg_laws import VALUES
from flowalg_laws.strategies import event_times
from flowalg_shard.computations.kept_keys import (
    AS_OBJECT,
    FORM,
    IN_COLUMNS,
    Kept,
    KeptKey,
    WaitingElement,
    read_kept,
    with_waiting,
    write_states,
)
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import EVENT_TIME, WEIGHT
from flowalg_shard.tables.packing import pack, unpack
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Computation, EventTime
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Transition
from flowalg.computations.calls import KeyState, PendingTimer
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import Process

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
ELSEWHERE = NOON.astimezone(timezone(timedelta(hours=1)))


@frozen
class Machine:
    """A state with fields."""

    name: str
    since: datetime
    running: bool


def _of(initial: object, state: type) -> Computation[str, int, object, int]:
    def on_element(before: object, seen: Observed[str, int], clocks: Clocks) -> Transition[object, int]:
        return Transition(before)

    on_element.__annotations__["return"] = Transition[state, int]  # type: ignore[valid-type]  # a type of the test
    return Computation(initial=initial, on_element=on_element)


def stage_of(initial: object, state: type) -> ComputationStage:
    """Returns the stage of a computation whose states are annotated to be of a type."""
    node = VALUES.process(_of(initial, state)).node
    assert isinstance(node, Process)
    assert isinstance(node.input.shape, RecordOf)
    assert isinstance(node.shape, RecordOf)
    return ComputationStage.of(node, node.input.shape, node.shape, Codec.of, dead_letters=False)


STAGES = {
    int: stage_of(0, int),
    float: stage_of(0.0, float),
    str: stage_of("", str),
    Machine: stage_of(Machine("", NOON, False), Machine),
    tuple: stage_of(("", 0), tuple[str, int]),
    frozenset: stage_of(frozenset({1}), frozenset),
}
MACHINES = st.builds(Machine, st.text(max_size=2), st.sampled_from((NOON, ELSEWHERE)), st.booleans())
STATES = (
    st.integers(-3, 3)
    | st.sampled_from((2**63, True, -0.0, 0.5, "\ud800"))
    | st.text(max_size=2)
    | MACHINES
    | st.tuples(st.text(max_size=1), st.integers(0, 2) | st.booleans())
    | st.frozensets(st.integers(0, 2))
)
TAGS = st.sampled_from("abc")
TIMERS = st.builds(EventTimer, TAGS, st.just(NOON)) | st.builds(ProcessingTimer, TAGS, st.just(NOON))


@st.composite
def key_states(draw: st.DrawFn) -> KeyState:
    """States with holds and timers."""
    timers = draw(st.lists(TIMERS, max_size=3))
    pending = {timer.tag: PendingTimer(timer, timer.point, draw(event_times(9))) for timer in timers}
    return KeyState(draw(STATES), draw(st.none() | event_times(9)), pending)


@given(
    st.sampled_from(list(STAGES.values())),
    st.dictionaries(st.text(max_size=2), key_states(), max_size=4),
    st.lists(st.tuples(st.sampled_from("xyz"), event_times(9), st.integers(0, 3)), max_size=4),
)
def test_what_is_kept_is_read_again(
    stage: ComputationStage, states: dict[str, KeyState], waiting: list[tuple[str, EventTime, int]]
) -> None:
    """States of any type, holds, timers and waiting elements are the same after they were stored."""
    keys = pl.DataFrame({"key": pl.Series(list(states), dtype=pl.String())})
    table = write_states(stage, keys, list(states), list(states.values()))
    rows = pl.DataFrame(
        [(key, value, time, 1) for key, time, value in waiting],
        schema={"key": pl.String(), "value": pl.Int64(), EVENT_TIME: pl.Int64(), WEIGHT: pl.Int8()},
        orient="row",
    )
    kept = with_waiting(stage, table, rows)
    stored = Kept(unpack(pack(kept.keys)), unpack(pack(kept.waiting)))
    elements: dict[str, tuple[WaitingElement, ...]] = {}
    for key, time, value in waiting:
        elements[key] = (*elements.get(key, ()), WaitingElement(time, 1, value))
    expected = {key: KeptKey(key, states.get(key), elements.get(key, ())) for key in {**states, **elements}}
    kept_keys = {str(kept_key.key): kept_key for kept_key in read_kept(stage, stored)}
    assert kept_keys == expected
    types = {key: repr(kept_key.key_state.state) for key, kept_key in kept_keys.items() if kept_key.key_state}
    assert types == {key: repr(key_state.state) for key, key_state in states.items()}


@pytest.mark.parametrize(
    ("kind", "state"),
    [(int, 7), (float, 0.5), (str, "ä"), (Machine, Machine("pump", NOON, True)), (tuple, ("a", 1))],
)
def test_a_state_of_its_type_is_in_columns(kind: type, state: object) -> None:
    """A state that is exactly of the annotated type is in columns, and any other one is pickled."""
    keys = pl.DataFrame({"key": ["a", "b"]})
    table = write_states(STAGES[kind], keys, ["a", "b"], [KeyState(state), KeyState(timedelta(1))])
    assert table[FORM].to_list() == [IN_COLUMNS, AS_OBJECT]
