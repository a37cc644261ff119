"""Replays of recorded data on the local engine: the panes and drops of the timeline that the data are divided into.

These tests catch rows in the wrong instant, clocks that a replay loses, and rows that are processed although nothing
reads their batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from attrs import asdict
from flowalg_laws import check_interpreter
from flowalg_laws.conformance import JOBS, Job, covering
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_laws.strategies import partitioned_timelines, pipelines
from flowalg_laws.strategies.times import durations
from flowalg_polars import ReplayInput, replay
from flowalg_polars.streaming import Files, Frames, MicroBatch, Records, StreamInput
from flowalg_reference import Reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    AtCount,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Mode,
    PCollection,
    Perfect,
    Repeat,
    Run,
    Source,
    Sum,
    Timeline,
    flatten,
)
from flowalg.analysis.features import AREA_OF, Area, Feature
from flowalg.data.errors import FlowalgError
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError
from flowalg.pipeline.nodes import Process
from flowalg.pipeline.side_inputs import AsMap
from flowalg.runs import Drop
from tests.support.replays import LocalReplays, recorded_readings

MINUTE = timedelta(minutes=1)
REFERENCE = Reference(Mode.MICRO_BATCH)


def reading(key: str, value: int, at: float, seen: float) -> Reading:
    """Returns a reading; times are in minutes."""
    return Reading(key, value, START + at * MINUTE, START + seen * MINUTE)


SOME = [
    reading("a", 1, 0, 1),
    reading("b", 2, 1, 1),
    reading("a", 3, 5, 6),
    reading("a", 4, 0, 7),
    reading("b", 5, 9, 30),
]
FRAME = pl.DataFrame([asdict(reading) for reading in SOME[::-1]])
POLICY = BoundedOutOfOrderness(MINUTE)
SUMS = VALUES.window(FixedWindows(2 * MINUTE), allowed_lateness=MINUTE * 5).combine_per_key(Sum())


def lines_of(batches: Iterable[MicroBatch[object]]) -> tuple[list[str], Counter[object]]:
    """Returns the panes, and the number of drops for each time, key, window and reason."""
    replayed = list(batches)
    panes = [full_line(pane) for batch in replayed for pane in batch.panes]
    return panes, counts_of(drop for batch in replayed for drop in batch.dropped)


def counts_of(drops: Iterable[Drop]) -> Counter[object]:
    """Returns the number of drops for each time, key, window and reason."""
    counts: Counter[object] = Counter()
    for drop in drops:
        counts[drop.processing_time, drop.key, drop.window, drop.reason] += drop.count
    return counts


def expected(run: Run[object]) -> tuple[list[str], Counter[object]]:
    """Returns the panes and the drops of a run of the reference, as ``lines_of``."""
    return [full_line(pane) for pane in run.panes], counts_of(run.dropped)


ROWS: Final = (Area.RUNS, Area.OUTPUTS, Area.WATERMARKS, Area.REFINEMENTS)
RECORDED: Final = covering(
    JOBS,
    {
        *(feature for feature, area in AREA_OF.items() if area in ROWS),
        *(Feature.SIGNALS_TO_KEYS, Process, AsMap),
    },
)
"""Jobs with what a replay makes of rows again: clocks, signals, lateness, several sources and outputs."""


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(RECORDED, marks=pytest.mark.long),
        pytest.param(JOBS, marks=pytest.mark.thorough),
    ],
    ids=["features of rows", "every job"],
)
def test_a_replay_conforms(jobs: Sequence[Job]) -> None:
    """Recorded rows with the numbers of their micro-batches give the panes and drops of their timeline.

    Jobs with bad records are left out, since a table of records cannot have them; they have a test below.
    """
    records = [job for job in jobs if not job.dead_letters]
    check_interpreter(LocalReplays(), jobs=records, ordered=True, generated=len(jobs) // 10)


def by_partition() -> SearchStrategy[Timeline[Reading]]:
    """Returns timelines with any policy that a stream can follow."""
    return partitioned_timelines(READINGS).filter(
        lambda timeline: (
            timeline.generated_by is not None and not isinstance(timeline.generated_by.policy, Perfect)
        )
    )


@given(pipelines(), by_partition(), st.none() | durations(1, 9), st.none() | durations(1, 9))
def test_a_replay_has_the_panes_of_its_timeline(
    pipeline: PCollection[object],
    drawn: Timeline[Reading],
    every: timedelta | None,
    tick: timedelta | None,
) -> None:
    """Readings in any order, with a policy and an interval, give the panes and drops of ``Timeline.from_records``."""
    assert drawn.generated_by is not None, "a policy generated the timeline"
    policy = drawn.generated_by.policy
    timeline = Timeline.from_records(
        READINGS,
        drawn.elements[::-1],
        processing_time=lambda reading: reading.seen,
        watermark=policy,
        partition=lambda reading: reading.key,
        every=every,
        tick=tick,
    )
    stream = StreamInput(Frames([recorded_readings(drawn)]), policy, processing_time="seen", partition="key")
    batches = replay(pipeline, {READINGS: stream}, every=every, tick=tick)
    try:
        run = REFERENCE.run(pipeline, {READINGS: timeline})
    except FlowalgError as error:
        with pytest.raises(type(error)):
            list(batches)
        return
    assert lines_of(batches) == expected(run)


def test_instants_are_those_of_all_sources() -> None:
    """Rows of two sources at one processing time are one instant, and all sources end after the last instant."""
    others = Source("others", Reading, event_time=lambda reading: reading.at)
    both = flatten(
        VALUES, others.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
    )
    counts = both.window(
        FixedWindows(2 * MINUTE), trigger=Repeat(AtWatermark() | AtCount(1))
    ).combine_per_key(Count())
    more = [reading("a", 1, 0, 1), reading("b", 2, 3, 6), reading("b", 2, 8, 50)]
    timelines = {
        source: Timeline.from_records(
            source, records, processing_time=lambda reading: reading.seen, watermark=POLICY, ends=False
        ).end(START + 50 * MINUTE)
        for source, records in ((READINGS, SOME), (others, more))
    }
    frames = {READINGS: FRAME, others: pl.DataFrame([asdict(reading) for reading in more])}
    lines = lines_of(replay(counts, frames, watermark=POLICY, processing_time="seen"))
    assert lines == expected(REFERENCE.run(counts, timelines))


def test_rows_of_one_period_are_one_instant_of_all_sources() -> None:
    """With ``every``, an instant has the rows of a period of every source, at the greatest of their times."""
    others = Source("others", Reading, event_time=lambda reading: reading.at)
    both = flatten(READINGS, others)
    frames: dict[Source[Reading], ReplayInput] = {
        READINGS: FRAME.lazy(),
        others: pl.DataFrame([asdict(reading("c", 6, 2, 3))]),
    }
    batches = list(replay(both, frames, watermark=POLICY, processing_time="seen", every=5 * MINUTE))
    assert [[element.element.key for element in batch.elements] for batch in batches] == [
        ["a", "b", "c"],
        ["a", "a"],
        ["b"],
        [],
    ]
    assert [minutes_of(batch) for batch in batches] == [3, 7, 30, 30]


def minutes_of(batch: MicroBatch[object]) -> float:
    """Returns the processing time of a batch in minutes."""
    return (batch.processing_time.datetime - START) / MINUTE


def test_ticks_fall_between_instants() -> None:
    """A trigger that follows the clock fires at the next tick instead of at the next row."""
    periodic = VALUES.window(
        FixedWindows(60 * MINUTE), trigger=Repeat(AtPeriod(10 * MINUTE)), allowed_lateness=MINUTE
    ).combine_per_key(Sum())
    rows = replay(periodic, {READINGS: FRAME}, watermark=POLICY, processing_time="seen")
    ticks = replay(periodic, {READINGS: FRAME}, watermark=POLICY, processing_time="seen", tick=10 * MINUTE)
    assert [minutes_of(batch) for batch in rows if batch.panes] == [30]
    assert [minutes_of(batch) for batch in ticks if batch.panes] == [10, 30]


def test_without_a_column_rows_are_in_order_of_event_time() -> None:
    """The event time is then the processing time, whether it is computed in Polars or in Python."""
    timeline = Timeline.from_records(
        READINGS, SOME, processing_time=lambda reading: reading.at, watermark=POLICY
    )
    expected_run = expected(REFERENCE.run(SUMS, {READINGS: timeline}))
    assert lines_of(replay(SUMS, {READINGS: FRAME}, watermark=POLICY)) == expected_run
    opaque = Source("opaque", Reading, event_time=lambda reading: min([reading.at], key=str))
    sums = (
        opaque.key_by(lambda reading: reading.key)
        .map_values(lambda reading: reading.value)
        .window(FixedWindows(2 * MINUTE), allowed_lateness=5 * MINUTE)
        .combine_per_key(Sum())
    )
    assert lines_of(replay(sums, {opaque: FRAME}, watermark=POLICY)) == expected_run


def test_the_end_can_be_left_open() -> None:
    """Without an end, windows that the watermark has not passed emit nothing."""
    ended = list(replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="seen"))
    open_ = list(replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="seen", ends=False))
    assert [batch.panes for batch in ended[:-1]] == [batch.panes for batch in open_]
    assert [pane.key for pane in ended[-1].panes] == ["b"]


def test_windows_need_no_lateness() -> None:
    """Bounded data fit in the state, so a pipeline that was written for a batch is replayed as it is."""
    sums = VALUES.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum())
    batches = list(replay(sums, {READINGS: FRAME}, watermark=POLICY, processing_time="seen"))
    assert sum(batch.dropped_count for batch in batches) == 0
    assert {pane.timing.value for batch in batches for pane in batch.panes} == {"on_time", "late"}


def test_the_input_of_a_stream_can_be_replayed(tmp_path: Path) -> None:
    """Files, frames and records are replayed whole, with the policy and the columns of their ``StreamInput``."""
    FRAME[:2].write_parquet(tmp_path / "1.parquet")
    FRAME[2:].write_parquet(tmp_path / "2.parquet")
    kinds = (Files(tmp_path), Frames([FRAME[:1], FRAME[1:]]), Records(SOME[::-1]))
    replays = [
        lines_of(replay(SUMS, {READINGS: StreamInput(data, POLICY, processing_time="seen")}))
        for data in kinds
    ]
    assert (
        replays == [lines_of(replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="seen"))] * 3
    )


def test_the_policy_of_a_stream_can_be_replaced() -> None:
    """``watermark`` is the policy of all sources, whatever their ``StreamInput`` has."""
    slow = StreamInput(Frames([FRAME]), BoundedOutOfOrderness(600 * MINUTE), processing_time="seen")
    lines = lines_of(replay(SUMS, {READINGS: slow}, watermark=POLICY))
    assert lines == lines_of(replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="seen"))
    assert lines != lines_of(replay(SUMS, {READINGS: slow}))


def test_rows_after_the_last_batch_are_not_processed() -> None:
    """A replay that is stopped has called the pipeline's functions for the rows of its batches only."""
    called: list[int] = []

    def observe(value: int) -> int:
        called.append(value)
        return value

    observed = VALUES.map_values(observe).window(FixedWindows(2 * MINUTE)).combine_per_key(Sum())
    batches = replay(observed, {READINGS: FRAME}, watermark=POLICY, processing_time="seen")
    list(islice(batches, 2))
    batches.close()
    assert sorted(called) == [1, 2, 3]


def test_outputs_share_a_replay() -> None:
    """Several outputs of one replay are those of a replay of each."""
    large = VALUES.filter(lambda pair: pair.value > 2)
    batches = list(
        replay({"sums": SUMS, "large": large}, {READINGS: FRAME}, watermark=POLICY, processing_time="seen")
    )
    alone = list(replay(large, {READINGS: FRAME}, watermark=POLICY, processing_time="seen"))
    assert [batch[large].elements for batch in batches] == [batch.elements for batch in alone]
    assert lines_of(batch[SUMS] for batch in batches) == lines_of(
        replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="seen")
    )


def test_bad_records_are_dead_letters() -> None:
    """With dead letters, a bad record is with the batch of its instant."""
    frame = FRAME.with_columns(key=pl.when(pl.col("value") == 3).then(None).otherwise(pl.col("key")))
    with pytest.raises(ElementError, match="source 'readings': key must be"):
        list(replay(SUMS, {READINGS: frame}, watermark=POLICY, processing_time="seen"))
    batches = list(
        replay(SUMS, {READINGS: frame}, watermark=POLICY, processing_time="seen", dead_letters=True)
    )
    assert [len(batch.bad_records) for batch in batches] == [0, 1, 0, 0, 0]


WITHOUT_TIME = FRAME.with_columns(seen=pl.when(pl.col("value") == 3).then(None).otherwise(pl.col("seen")))


def test_data_without_order_are_refused() -> None:
    """A message names the source, the argument, and what is wrong with it."""
    with pytest.raises(
        ElementError,
        match=r"^source 'readings': processing_time must not be null, .* it is null in 1 of 5 rows$",
    ):
        replay(SUMS, {READINGS: WITHOUT_TIME}, watermark=POLICY, processing_time="seen")
    with pytest.raises(
        SchemaMismatchError, match=r"source 'readings': processing_time must be a timestamp .* got Int64"
    ):
        replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="value")
    naive = FRAME.with_columns(pl.col("seen").dt.replace_time_zone(None))
    with pytest.raises(SchemaMismatchError, match="processing_time must be a timestamp with a time zone"):
        replay(SUMS, {READINGS: naive}, watermark=POLICY, processing_time="seen")
    with pytest.raises(
        SchemaMismatchError, match="processing_time must be a column of its rows, which have key, "
    ):
        replay(SUMS, {READINGS: FRAME}, watermark=POLICY, processing_time="arrived")
    with pytest.raises(ElementError, match="source 'readings': micro_batch must not be null"):
        replay(SUMS, {READINGS: WITHOUT_TIME}, watermark=POLICY, micro_batch="seen")
    with pytest.raises(SchemaMismatchError, match="micro_batch must be a column of integers, .* got Boolean"):
        replay(SUMS, {READINGS: FRAME}, watermark=POLICY, micro_batch=pl.col("value") > 3)
    unplaced = FRAME.with_columns(at=pl.when(pl.col("value") == 3).then(None).otherwise(pl.col("at")))
    with pytest.raises(ElementError, match="source 'readings': at must be .* null"):
        replay(SUMS, {READINGS: unplaced}, watermark=POLICY)


def test_arguments_are_validated() -> None:
    """A message names the argument, its value, and what would be valid."""
    with pytest.raises(
        ArgumentError, match="watermark must be a watermark policy, since the input of source 'read"
    ):
        replay(SUMS, {READINGS: FRAME})
    with pytest.raises(ArgumentError, match="every must be a positive timedelta"):
        replay(SUMS, {READINGS: FRAME}, watermark=POLICY, every=timedelta(0))
    with pytest.raises(ArgumentError, match="every must be None if a column names the micro-batch"):
        replay(SUMS, {READINGS: FRAME}, watermark=POLICY, every=MINUTE, micro_batch="value")
    with pytest.raises(
        ArgumentError, match="the input of source 'readings' must be a frame .*, or a StreamInput"
    ):
        replay(SUMS, {READINGS: SOME}, watermark=POLICY)  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    control = StreamInput(Frames([FRAME]), POLICY, signal="key")
    with pytest.raises(
        ArgumentError, match="processing_time must be a column; got None .*StreamInput.signal marks"
    ):
        replay(SUMS, {READINGS: control})
