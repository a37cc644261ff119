"""Computations on the local engine, against the reference: every kind of computation, order and division of the run.

These tests catch faults of the shard step: of the keys that an instant touches, of timers in stored state, of order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve
from flowalg_laws import READINGS, VALUES, Reading, computations
from flowalg_laws.strategies import timelines
from flowalg_laws.strategies.computations import ECHO, HEARTBEAT, HOLDING, RUNNING_TOTAL, SILENCE
from flowalg_polars import PolarsBatch, PolarsStreaming, streaming
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput
from flowalg_polars.streaming.operators import Cluster
from flowalg_reference import Reference, ReferenceBatch
from flowalg_shard.computations import kept_keys, step
from flowalg_shard.computations.stage import ComputationStage
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    KV,
    AtCount,
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    FlowalgError,
    Interpreter,
    Mode,
    PCollection,
    Run,
    Sum,
    Timeline,
)
from flowalg.computations import Clocks, Late, Observed, Processor, Transition
from flowalg.computations.calls import KeyState
from flowalg.computations.computation import AnyComputation
from flowalg.computations.library import built_in, deduplication, tuples
from flowalg.errors import ElementError, UnsupportedError
from tests.support.faults import FAULTS, LOOP
from tests.support.scores import NOON, POINTS, SCORES, Score, minute

Values = PCollection[KV[str, int]]
MINUTE = timedelta(minutes=1)
CLUSTERS = st.builds(Cluster, st.integers(1, 2), st.integers(1, 3), st.booleans())
LATE = BoundedOutOfOrderness(30 * timedelta(seconds=1))


def outcome(run: Run[Any]) -> object:
    """Returns the outputs of a run, and the number of drops of each key and reason."""
    drops = sorted((str(drop.key), drop.reason.value) for drop in run.dropped for _ in range(drop.count))
    return run.elements, drops, run.bad_records


def require_equal(
    engine: Interpreter, oracle: Interpreter, pipeline: Values, data: Timeline[Reading]
) -> None:
    """Asserts that an engine has the outputs and the drops of the reference."""
    assert outcome(engine.run(pipeline, {READINGS: data})) == outcome(oracle.run(pipeline, {READINGS: data}))


@given(computations(), timelines(READINGS), st.booleans(), st.sampled_from(Late), CLUSTERS)
def test_a_stream_is_that_of_the_reference(
    computation: Processor[str, int, int],
    data: Timeline[Reading],
    in_order: bool,
    late: Late,
    cluster: Cluster,
) -> None:
    """The outputs and drops are those of the reference, however the run is divided among shards, and restarted."""
    pipeline = VALUES.process(computation, in_order=in_order, late=None if in_order else late)
    for mode in Mode:
        require_equal(PolarsStreaming(cluster, mode=mode), Reference(mode), pipeline, data)


@given(computations(), computations(), timelines(READINGS), CLUSTERS)
def test_two_computations_in_a_row(
    first: Processor[str, int, int],
    second: Processor[str, int, int],
    data: Timeline[Reading],
    cluster: Cluster,
) -> None:
    """The outputs of a computation are the elements of another one, which re-keys them."""
    pipeline = VALUES.process(first).map(lambda pair: KV(str(pair.value % 2), pair.value)).process(second)
    require_equal(PolarsStreaming(cluster), Reference(Mode.MICRO_BATCH), pipeline, data)


@given(computations(), timelines(READINGS))
def test_a_batch_is_that_of_the_reference(
    computation: Processor[str, int, int], data: Timeline[Reading]
) -> None:
    """A batch observes all elements in order."""
    require_equal(PolarsBatch(), ReferenceBatch(), VALUES.process(computation), data)


def _join(text: str, seen: Observed[str, object], clocks: Clocks) -> Transition[str, str]:
    return Transition(f"{text} {seen.value}", emit=[text])


JOINED = Computation(initial="", on_element=_join)


@given(timelines(READINGS), CLUSTERS)
def test_equal_times_are_in_the_order_of_values(data: Timeline[Reading], cluster: Cluster) -> None:
    """Elements of one event time are observed in the order of their values, also if that is not one of columns."""
    in_columns = VALUES.map_values(lambda value: (value % 3 / -2, str(value % 2)))  # with -0.0 and 0.0
    lists = VALUES.map_values(lambda value: [value % 3, value % 2])
    for joined in (in_columns.process(JOINED), lists.process(JOINED)):
        pipeline = joined.map(lambda pair: KV(pair.key + pair.value, 1))
        require_equal(PolarsStreaming(cluster), Reference(Mode.MICRO_BATCH), pipeline, data)


BUILT_IN = st.builds(deduplication, st.integers(1, 9).map(MINUTE.__mul__)) | st.builds(
    tuples, st.integers(1, 4)
)


@given(BUILT_IN, timelines(READINGS), st.booleans(), st.sampled_from(Late), CLUSTERS, st.booleans())
def test_built_in_computations_are_those_of_their_functions(
    computation: AnyComputation,
    data: Timeline[Reading],
    in_order: bool,
    late: Late,
    cluster: Cluster,
    ordered: bool,
) -> None:
    """Deduplication and tuples, which the step computes in columns, emit what their functions emit, in each order."""
    values = VALUES.map(
        lambda pair: KV(pair.value % 3, (pair.key, pair.value if ordered else pair.value / 1))
    )
    late = Late.DROP if in_order else late
    in_columns = values.process(computation, in_order=in_order, late=late)
    called = evolve(computation, name="its functions")
    by_functions = values.process(called, in_order=in_order, late=late)
    expected = Reference(Mode.MICRO_BATCH).run(in_columns, {READINGS: data})
    output = PolarsStreaming(cluster).run(in_columns, {READINGS: data})
    assert outcome(output) == outcome(expected)
    assert built_in(computation) is not None
    assert outcome(PolarsStreaming(cluster).run(by_functions, {READINGS: data})) == outcome(expected)
    assert PolarsBatch().run(in_columns, {READINGS: data}).elements == (
        ReferenceBatch().run(in_columns, {READINGS: data}).elements
    )


@given(timelines(READINGS), CLUSTERS)
def test_built_in_computations_forget_corrections(data: Timeline[Reading], cluster: Cluster) -> None:
    """In order, a value that is retracted before the watermark is in no tuple, and suppresses no later element."""
    sums = VALUES.window(FixedWindows(MINUTE), trigger=AtCount(1).repeat(), allowed_lateness=9 * MINUTE)
    corrected = sums.combine_per_key(Sum())
    for pipeline in (
        corrected.process(deduplication(3 * MINUTE), in_order=True),
        corrected.every(2, in_order=True).map_values(len),
    ):
        output, expected = (
            engine.run(pipeline, {READINGS: data})
            for engine in (PolarsStreaming(cluster), Reference(Mode.MICRO_BATCH))
        )
        assert outcome(output) == outcome(expected)


def _unlucky(total: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    if seen.value == 3:
        raise ValueError("an unlucky value")
    return Transition(total + seen.value, emit=[total])


@given(timelines(READINGS), CLUSTERS)
def test_failed_transitions_are_bad_records(data: Timeline[Reading], cluster: Cluster) -> None:
    """With dead letters, the elements on which a computation fails are the bad records of the reference."""
    pipeline = VALUES.process(Computation(initial=0, on_element=_unlucky))
    engine = PolarsStreaming(cluster, dead_letters=True)
    require_equal(engine, Reference(Mode.MICRO_BATCH, dead_letters=True), pipeline, data)
    require_equal(PolarsBatch(dead_letters=True), ReferenceBatch(dead_letters=True), pipeline, data)


def error_of(engine: Interpreter, pipeline: Values, data: Timeline[Score]) -> tuple[str, str]:
    """Returns the class of the error of a run, and its message."""
    with pytest.raises(FlowalgError) as raised:
        engine.run(pipeline, {SCORES: data})
    return raised.type.__name__, str(raised.value)


FAULTY = [evolve(computation, result=int) for computation, *_ in (*FAULTS, (LOOP, None, None))]


@pytest.mark.parametrize("faulty", FAULTY)
def test_a_fault_is_the_error_of_the_reference(faulty: Computation[str, int, int, int]) -> None:
    """A failing function, an invalid transition and a loop of timers fail a run with the message of the reference."""
    data = Timeline[Score]().at(minute(1), Score("a", 5, minute(1)), watermark=minute(0)).end(minute(2))
    pipeline = POINTS.process(faulty)
    expected = error_of(Reference(Mode.MICRO_BATCH), pipeline, data)
    assert error_of(PolarsStreaming(), pipeline, data) == expected
    in_a_batch = error_of(ReferenceBatch(), pipeline, data)
    assert error_of(PolarsBatch(), pipeline, data) == in_a_batch


@pytest.mark.parametrize("faulty", FAULTY[:-1])
def test_a_failed_transition_changes_nothing(faulty: Computation[str, int, int, int], tmp_path: Path) -> None:
    """With dead letters, an element on which a computation fails is a bad record, and the key has no state after it."""
    pipeline = POINTS.process(faulty)
    batches = [[Score("a", 5, minute(1))]] * 2
    query = streaming.batches(pipeline, {SCORES: stream_of(batches)}, checkpoint=tmp_path, dead_letters=True)
    for _ in range(2):
        (bad,) = next(query).bad_records
        assert bad.record == '{"key":"a","element":5,"event_time":"2024-01-01T12:01:00Z","state":0}'
    assert streaming.open_keys(tmp_path, pipeline, faulty) == ()
    query.close()


BATCHES = (
    (Score("a", 1, NOON), Score("b", 2, NOON + 20 * timedelta(seconds=1))),
    (Score("a", 3, NOON + MINUTE), Score("a", 4, NOON + 10 * timedelta(seconds=1))),
    (Score("b", 5, NOON + 9 * MINUTE),),
    (Score("a", 6, NOON), Score("c", 7, NOON + 8 * MINUTE)),
)


def stream_of(batches: Iterable[Iterable[Score]] = BATCHES) -> StreamInput:
    """Returns micro-batches as a stream of frames."""
    schema = {"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    rows = [[{"team": s.team, "points": s.points, "at": s.at} for s in batch] for batch in batches]
    return StreamInput(Frames([pl.DataFrame(batch, schema=schema) for batch in rows]), LATE)


SUMS = POINTS.process(SILENCE).process(HOLDING).window(FixedWindows(MINUTE), allowed_lateness=MINUTE)


def summary(batch: MicroBatch[KV[str, int]]) -> list[tuple[object, ...]]:
    """Returns the panes of a micro-batch without processing times."""
    return [(pane.element, pane.window, pane.timing, pane.watermark) for pane in batch.panes]


@settings(max_examples=8)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=6))
def test_a_stream_goes_on_from_its_checkpoint(runs: list[int]) -> None:
    """A query that is stopped after any micro-batches keeps the state, the timers and the holds of all keys."""
    pipeline = SUMS.combine_per_key(Sum())
    whole = [summary(batch) for batch in streaming.batches(pipeline, {SCORES: stream_of()})]
    with tempfile.TemporaryDirectory() as folder:
        by_number: dict[int, list[tuple[object, ...]]] = {}
        for count in [*runs, 99]:
            batches = streaming.batches(pipeline, {SCORES: stream_of()}, checkpoint=folder)
            for _, batch in zip(range(count), batches, strict=False):
                assert by_number.setdefault(batch.number, summary(batch)) == summary(batch)
            batches.close()
        assert [by_number[number] for number in sorted(by_number)] == whole
    assert any(whole)


def test_a_batch_touches_the_keys_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A micro-batch reads the states of its own keys and of the keys with due timers, and no others."""
    read: list[int] = []

    def read_states(stage: ComputationStage, keys: pl.DataFrame) -> list[KeyState | None]:
        read[-1] += keys.height
        return kept_keys.read_states(stage, keys)

    keys = [Score(f"team {number}", 1, NOON + 5 * MINUTE) for number in range(500)]
    batches = (keys, keys[:3], [Score("team 7", 1, NOON + 6 * MINUTE)], [Score("new", 1, NOON + 9 * MINUTE)])
    monkeypatch.setattr(step, "read_states", read_states)
    query = streaming.batches(POINTS.process(SILENCE), {SCORES: stream_of(batches)})
    for number in range(4):
        read.append(0)
        batch = next(query)
        assert batch.number == number
    query.close()
    assert read[:3] == [0, 3, 1]
    assert read[3] == 499  # the watermark has reached the timers of all keys but that of team 7


def test_a_state_that_cannot_be_stored_is_named() -> None:
    """A state that is not data is an error that names the computation, the key and the state."""

    nothing: Callable[[], int] | int = 0

    def keep_function(
        state: Callable[[], int] | int, seen: Observed[str, int], clocks: Clocks
    ) -> Transition[Callable[[], int] | int, int]:
        return Transition(lambda: seen.value)

    pipeline = POINTS.process(
        Computation(initial=nothing, on_element=keep_function, name="keeper", result=int)
    )
    with pytest.raises(
        ElementError, match=r"process\(keeper\): the state .* of the key 'a' \(str\) cannot be stored"
    ):
        list(streaming.batches(pipeline, {SCORES: stream_of()}))


def test_outputs_need_a_type() -> None:
    """Outputs are columns, so a lambda needs the type of its outputs."""
    pipeline = POINTS.process(
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, emit=[n]))
    )
    with pytest.raises(
        UnsupportedError, match=r"the type of its outputs is unknown; pass Computation\(.*result="
    ):
        PolarsBatch().run(pipeline, {SCORES: Timeline.batch(BATCHES[0], time=NOON)})


def test_late_elements_are_counted_and_reachable() -> None:
    """A late element that a computation drops is counted, with its key and value."""
    pipeline = POINTS.process(RUNNING_TOTAL, late=Late.DROP)
    _, second, _, fourth, _ = streaming.batches(pipeline, {SCORES: stream_of()}, metrics=True)
    assert (second.dropped_count, fourth.dropped_count) == (0, 2)
    assert [(drop.key, drop.reason.value) for drop in fourth.dropped] == [("a", "late"), ("c", "late")]
    drops = [fields["drop"] for fields in fourth.drop_fields]
    assert [(drop["stage"], drop["value"]) for drop in drops if isinstance(drop, dict)] == [
        ("process(running total)", '{"key":"a","value":6}'),
        ("process(running total)", '{"key":"c","value":7}'),
    ]
    assert fourth.metrics[0].dropped_late == 2
    assert fourth.metrics[0].windows == 2


def test_a_timer_of_processing_time_is_a_deadline() -> None:
    """A continuous run fires timers at their time."""
    data = Timeline[Score]().at(NOON, Score("a", 1, NOON)).at(NOON + 9 * MINUTE)
    run = PolarsStreaming(mode=Mode.CONTINUOUS).run(POINTS.process(HEARTBEAT), {SCORES: data})
    assert [str(element.processing_time)[14:16] for element in run.elements] == ["02", "04"]


def test_a_checkpoint_of_another_computation_is_refused(tmp_path: object) -> None:
    """The order of a computation is a fact of its state."""
    from flowalg.errors import CheckpointError

    checkpoint = f"{tmp_path}/checkpoint"
    list(streaming.batches(POINTS.process(ECHO), {SCORES: stream_of()}, checkpoint=checkpoint))
    changed = streaming.batches(
        POINTS.process(ECHO, in_order=True), {SCORES: stream_of()}, checkpoint=checkpoint
    )
    with pytest.raises(CheckpointError, match="order was arrival and is now event time"):
        next(changed)
