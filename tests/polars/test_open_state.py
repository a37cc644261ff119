"""The state of computations in a checkpoint of the local engine, against what the reference keeps.

These tests catch a key, a timer, a hold or an element that is not read, or that is read after it was superseded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import flowalg_reference as reference
import polars as pl
import pytest
from attrs import frozen
from flowalg_laws.strategies.computations import EVENT_TIME, HEARTBEAT, HOLDING, SILENCE
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import KV, BoundedOutOfOrderness, Computation, Mode, PCollection, Sum
from flowalg.computations import (
    Clocks,
    EventTimer,
    KeyContents,
    Late,
    Observed,
    ProcessingTimer,
    Transition,
    WaitingElement,
)
from flowalg.computations.computation import AnyComputation, require_computation
from flowalg.errors import ArgumentError, CheckpointError
from tests.support.kept_keys import kept_keys
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
SCHEMA = {"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")}
COMPUTATIONS = [require_computation("computation", computation) for computation in (*EVENT_TIME, HEARTBEAT)]
BATCHES = (
    (Score("a", 1, minute(0)), Score("b", 2, minute(0.5))),
    (Score("a", 3, minute(1)), Score("a", 4, minute(0.25))),
    (Score("c", 5, minute(3)),),
)


def stream_of(batches: Iterable[Iterable[Score]] = BATCHES) -> StreamInput:
    """Returns micro-batches as a stream."""
    rows = [[{"team": s.team, "points": s.points, "at": s.at} for s in batch] for batch in batches]
    return StreamInput(
        Frames([pl.DataFrame(batch, schema=SCHEMA) for batch in rows]), BoundedOutOfOrderness(MINUTE)
    )


def scores() -> st.SearchStrategy[Score]:
    """Returns scores of three teams in nine minutes."""
    points = st.integers(0, 18).map(lambda half: minute(half / 2))
    return st.builds(Score, st.sampled_from("abc"), st.integers(-2, 4), points)


@pytest.mark.long
@settings(max_examples=settings().max_examples)
@given(
    st.sampled_from(COMPUTATIONS),
    st.lists(st.lists(scores(), max_size=4), min_size=1, max_size=5),
    st.sampled_from([(False, Late.OBSERVE), (False, Late.DROP), (True, Late.DROP)]),
    st.sampled_from([1, 3]),
)
def test_the_keys_of_a_checkpoint_are_those_of_the_reference(
    computation: AnyComputation, batches: Sequence[Sequence[Score]], order: tuple[bool, Late], shards: int
) -> None:
    """After each micro-batch of a running query, the checkpoint has the keys of the reference at that instant."""
    pipeline = POINTS.process(computation, in_order=order[0], late=order[1])
    emitted: list[MicroBatch[KV[str, int]]] = []
    open_keys: list[object] = []
    with tempfile.TemporaryDirectory() as folder:
        for batch in streaming.batches(
            pipeline, {SCORES: stream_of(batches)}, checkpoint=folder, shards=shards, metrics=True
        ):
            if emitted:  # the micro-batch before this one is committed
                open_keys.append(streaming.open_keys(folder, pipeline, computation))
            emitted.append(batch)
        open_keys.append(streaming.open_keys(folder, pipeline, computation))
    records = [score for batch in batches for score in batch]
    timeline = streaming.replay_log(emitted).timeline(SCORES, records)
    run = reference.run(pipeline, {SCORES: timeline}, mode=Mode.MICRO_BATCH)
    for batch, keys in zip(emitted, open_keys, strict=True):
        assert keys == kept_keys(run, "abc", batch.processing_time.datetime)


@frozen
class Model:
    """A state with fields."""

    total: int
    since: datetime


def renew(model: Model, seen: Observed[str, int], clocks: Clocks) -> Transition[Model, int]:
    """Adds a value, and sets timers of both clocks."""
    return Transition(
        Model(model.total + seen.value, min(model.since, seen.event_time)),
        set=[
            ProcessingTimer("poll", minute(10_000_000)),
            EventTimer("end", seen.event_time + 5 * MINUTE),
        ],
        hold=seen.event_time,
    )


def ignore(model: Model, timer: object, clocks: Clocks) -> Transition[Model, int]:
    """Keeps the state."""
    return Transition(model)


MODELS: Computation[str, int, Model, int] = Computation(
    initial=Model(0, minute(99)), on_element=renew, on_timer=ignore, name="models"
)


def read_after(pipeline: PCollection[object], count: int, folder: Path, read: Callable[[], object]) -> object:
    """Returns what is read while a query runs, when some micro-batches are committed."""
    query = streaming.batches(pipeline, {SCORES: stream_of()}, checkpoint=folder)
    for _ in range(count + 1):
        next(query)
    result = read()
    query.close()
    return result


def test_the_state_of_a_computation_is_a_frame(tmp_path: Path) -> None:
    """A row for each key has the fields of its state, its timers, its hold, and when it is due."""
    pipeline = POINTS.process(MODELS)
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        streaming.open_state(tmp_path)
    frame = read_after(pipeline, 1, tmp_path, lambda: streaming.open_state(tmp_path))
    assert isinstance(frame, pl.DataFrame)
    poll = {"tag": "poll", "clock": "processing time", "at": minute(10_000_000)}
    assert frame.sort("key").to_dicts() == [
        {
            "stage": "process(models)",
            "shard": 0,
            "key": key,
            "state.total": points,
            "state.since": at,
            "state_text": None,
            "timers": [poll, {"tag": "end", "clock": "event time", "at": at + 5 * MINUTE}],
            "hold": at,
            "waiting": 0,
            "next_watermark": at + 5 * MINUTE,
            "next_time": minute(10_000_000),
        }
        for key, points, at in (("a", 1, minute(0)), ("b", 2, minute(0.5)))
    ]


def test_the_keys_of_a_computation_are_values(tmp_path: Path) -> None:
    """The keys have the types of the computation: its state is a record."""
    pipeline = POINTS.process(MODELS, in_order=True)
    first = read_after(pipeline, 3, tmp_path, lambda: streaming.open_keys(tmp_path, pipeline, MODELS))
    assert isinstance(first, tuple)
    timers = EventTimer("end", minute(6)), ProcessingTimer("poll", minute(10_000_000))
    assert first[0] == KeyContents("a", Model(8, minute(0)), timers, minute(1))
    assert first[2] == KeyContents("c", None, waiting=(WaitingElement(5, minute(3)),))
    frame = streaming.open_state(tmp_path).sort("key")
    assert frame["waiting"].to_list() == [0, 0, 1]
    assert frame["state.total"].to_list() == [8, 2, None]


def test_a_state_of_unknown_type_is_text(tmp_path: Path) -> None:
    """A state whose type is unknown is stored as Python, and shown as its text."""
    numbers: Computation[str, int, frozenset[int], int] = Computation(
        initial=frozenset(),
        on_element=lambda state, seen, clocks: Transition(state | {seen.value}),
        result=int,
    )
    pipeline = POINTS.process(numbers)
    frame = read_after(pipeline, 1, tmp_path, lambda: streaming.open_state(tmp_path))
    assert isinstance(frame, pl.DataFrame)
    assert sorted(frame["state_text"].to_list()) == ["frozenset({1})", "frozenset({2})"]
    keys = streaming.open_keys(tmp_path, pipeline, numbers)
    assert [key.state for key in keys] == [frozenset({1}), frozenset({2})]


def test_a_computation_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    """The computation must be in the pipeline, and the stage must be that computation, of the same types."""
    silent: PCollection[KV[str, int]] = POINTS.process(SILENCE)
    pipeline = silent.process(HOLDING).combine_per_key(Sum())
    held = require_computation("computation", HOLDING)
    read_after(pipeline, 1, tmp_path, lambda: None)
    assert streaming.open_keys(tmp_path, pipeline, held, stage=1) == ()
    assert streaming.open_state(tmp_path, stage=1).columns[-2:] == ["next_watermark", "next_time"]
    with pytest.raises(ArgumentError, match="computation must be a computation of the pipeline; got"):
        streaming.open_keys(tmp_path, pipeline, MODELS)
    with pytest.raises(
        ArgumentError, match="pipeline must be a PCollection, the pipeline of the query; got 3"
    ):
        streaming.open_keys(tmp_path, 3, held)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(CheckpointError, match="computation was .*silence.* and is now .*holding"):
        streaming.open_keys(tmp_path, pipeline, held)
    with pytest.raises(CheckpointError, match=r"'combine_per_key\(Sum\)' is not a computation"):
        streaming.open_keys(tmp_path, pipeline, held, stage=2)
    with pytest.raises(ArgumentError, match="stage must be the number of a stage: an int from 0 to 2; got 3"):
        streaming.open_keys(tmp_path, pipeline, held, stage=3)
