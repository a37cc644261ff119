"""The state cache of Python workers, which is never used when Spark has another state.

Any worker may run a micro-batch, a task may be discarded after it has written its state and run again elsewhere, and a
worker may be new or evict states. The store here is a dictionary whose changes are committed or discarded, as Spark
does with a task. ``make faults`` runs queries with killed workers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest
from attrs import define, evolve, field
from flowalg_laws import READINGS, VALUES
from flowalg_laws.kit.readings import Reading
from flowalg_laws.strategies import apply_windowing, batches, policies, window_fns, windowing_strategies
from flowalg_laws.strategies.times import point
from flowalg_shard import (
    FromStage,
    Grouping,
    OperatorState,
    ShardInput,
    Stage,
    StageDescription,
    StageReport,
    advance,
    describe_stage,
    pack,
    precombine,
    unpack,
)
from flowalg_shard.state.compatibility import Outcome, compare_stages, require_continuable
from flowalg_shard.tables.columns import SHARD
from flowalg_shard.tables.packing import seal, unseal
from flowalg_spark.state.state_cache import StateCache
from flowalg_spark.state.state_format import FORMAT, Store
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.stateful_processor import MapState, ValueState

from flowalg import (
    FOREVER,
    Accumulation,
    AtCount,
    AtWatermark,
    FixedWindows,
    GlobalWindows,
    Repeat,
    Timeline,
)
from flowalg.data.errors import CheckpointError
from flowalg.data.shapes import INTEGER, TEXT, kv_of
from flowalg.data.time import EventTime, event_time, processing_time
from flowalg.runs import Instant
from flowalg.runs.clocks import Clocks
from flowalg.serialization.stored import read
from flowalg.triggers import AfterDelay
from flowalg.windows import OnTimeBehavior, TimestampCombiner, WindowingStrategy
from tests.shard.test_step import rows_of, stage_of

TRIGGERS = [
    AtWatermark(),
    AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
    Repeat(AtCount(3)),
    Repeat(AfterDelay(timedelta(minutes=2))),
]


SAME = StageDescription("combine_per_key", {})


@define
class Variables:
    """The state variables of a shard in a task."""

    head: tuple[object, ...] | None = None
    log: dict[tuple[object, ...], tuple[object, ...]] = field(factory=dict)

    def get(self) -> tuple[object, ...] | None:
        """Returns the head."""
        return self.head

    def update(self, value: tuple[object, ...]) -> None:
        """Replaces the head."""
        self.head = value

    def getValue(self, key: tuple[object, ...]) -> tuple[object, ...] | None:
        """Returns an entry of the log."""
        return self.log.get(key)

    def updateValue(self, key: tuple[object, ...], value: tuple[object, ...]) -> None:
        """Adds an entry."""
        assert key not in self.log, "a segment is written once"
        self.log[key] = value

    def removeKey(self, key: tuple[object, ...]) -> None:
        """Removes an entry."""
        del self.log[key]

    def attempt(self) -> Variables:
        """Returns a copy for a task, which is committed or discarded."""
        return Variables(self.head, dict(self.log))

    def store(
        self,
        cache: StateCache,
        limit: int,
        shards: int = 1,
        stage: StageDescription = SAME,
        operator: Grouping | None = None,
    ) -> Store:
        """Returns the store over these variables in a worker."""
        head, log = cast("ValueState", self), cast("MapState", self)
        return Store(head, log, stage, shards, limit, operator, cache)


def shard_inputs(stage: Stage, instant: Instant[Reading], clocks: Clocks) -> list[list[ShardInput]]:
    """Returns the input of the shard in an instant."""
    bundle = precombine(stage, rows_of(instant, instant.elements, 1)).drop(SHARD, strict=False)
    return [[ShardInput(pack(bundle), {0: StageReport(clocks)})]]


def bag(packed: bytes) -> list[tuple[object, ...]]:
    """Returns the rows of a packed table, sorted."""
    return sorted(unpack(packed).rows(), key=repr)


@pytest.mark.long
@settings(max_examples=3 * settings().max_examples)
@given(st.data())
def test_the_cache_never_changes_a_result(data: st.DataObject) -> None:
    """Results are the same whichever worker runs a micro-batch, and however often."""
    strategy = data.draw(windowing_strategies(windows=window_fns(), trigger=st.sampled_from(TRIGGERS)))
    stage = stage_of(apply_windowing(VALUES, strategy))
    timeline = Timeline.micro_batches(
        READINGS,
        data.draw(batches()),
        processing_time=lambda reading: reading.seen,
        watermark=data.draw(policies()),
        ends=True,
    )
    operator = Grouping(((FromStage(),),), stage)
    workers = [StateCache(), StateCache()]
    committed = Variables()
    uncached: OperatorState | None = None
    for instant in timeline:
        clocks = Clocks(instant.processing_time, EventTime(instant.watermark))
        parts = shard_inputs(stage, instant, clocks)
        uncached, expected = advance(operator, uncached, parts, first_shard=True)
        for commits in [*[False] * data.draw(st.integers(0, 2)), True]:
            if data.draw(st.integers(0, 9)) == 0:
                workers[0] = StateCache()
            task = committed.attempt()
            store = task.store(
                data.draw(st.sampled_from(workers)), data.draw(st.sampled_from([0, 2_000, 1 << 30]))
            )
            before = store.read(0)
            after, emitted = advance(
                operator, None if before is None else before.stored, parts, first_shard=True
            )
            store.write(before, after)
            assert bag(emitted.panes) == bag(expected.panes)
            assert bag(emitted.drops) == bag(expected.drops)
            assert emitted.report == expected.report
            if commits:
                committed = task
    assert all(cache.size <= 1 << 30 for cache in workers)


def stage_with_inputs(keys: int, count: int, last: int = 10) -> tuple[Stage, list[list[list[ShardInput]]]]:
    """Returns a stage and its inputs: a micro-batch with so many keys, then ten keys each, and ``last`` in the last."""
    stage = stage_of(VALUES.window(GlobalWindows(), trigger=Repeat(AtCount(10**9))))
    timeline = Timeline[Reading]().at(
        point(0), *(Reading(chr(200 + n), n, point(0), point(0)) for n in range(keys))
    )
    for number in range(1, count):
        touched = last if number == count - 1 else 10
        timeline = timeline.at(
            point(number), *(Reading(chr(200 + n), 1, point(0), point(number)) for n in range(touched))
        )
    return stage, [
        shard_inputs(stage, instant, Clocks(instant.processing_time, EventTime(instant.watermark)))
        for instant in timeline
    ]


def run_batch(store: Store, stage: Stage, parts: list[list[ShardInput]]) -> None:
    """Runs a micro-batch once."""
    before = store.read(0)
    after, _ = advance(
        Grouping(((FromStage(),),), stage), None if before is None else before.stored, parts, first_shard=True
    )
    store.write(before, after)


def test_a_micro_batch_writes_only_the_windows_that_it_touches() -> None:
    """A micro-batch with ten keys does not write the other 10,000 keys."""
    stage, instants = stage_with_inputs(10_000, 12)
    variables, cache = Variables(), StateCache()
    sizes = []
    for parts in instants:
        before = dict(variables.log)
        run_batch(variables.store(cache, 1 << 30), stage, parts)
        assert variables.head is not None
        new = [value for key, value in variables.log.items() if key not in before]
        written = sum(len(cast("bytes", chunk)) for (chunk,) in new)
        sizes.append(written + len(cast("bytes", variables.head[-1])))
    assert max(sizes[2:]) < sizes[0] / 20
    assert variables.head is not None
    names = {name for name, _ in read(unseal(cast("bytes", variables.head[-2])), list)}
    assert {name for name, _ in variables.log} <= names, "the log has no chunk of another segment"


def test_the_cache_stays_within_its_limit() -> None:
    """An evicted state is read from the store again."""
    stage, instants = stage_with_inputs(2_000, 4)
    variables, cache = Variables(), StateCache()
    for parts in instants:
        run_batch(variables.store(cache, 10_000), stage, parts)
        assert cache.size <= 10_000
    evicted = variables.store(cache, 10_000).read(0)
    assert evicted is not None
    assert evicted.stored.windows.activate_all().windows.height == 2_000


@pytest.mark.long
def test_a_replaced_segment_is_removed_from_the_log() -> None:
    """A micro-batch that touches all keys removes the segment that they were in."""
    stage, instants = stage_with_inputs(40_000, 3, last=40_000)
    variables, cache = Variables(), StateCache()
    for number, parts in enumerate(instants):
        run_batch(variables.store(cache, 1 << 30), stage, parts)
        assert bool(variables.log) == (number == 1), "only the large segment is in the log"


def stored_state() -> Variables:
    """Returns a state of several segments, of which the first is large."""
    stage, instants = stage_with_inputs(40_000, 4)
    variables, cache = Variables(), StateCache()
    for parts in instants:
        run_batch(variables.store(cache, 1 << 30), stage, parts)
    assert variables.log, "a large segment is in the log"
    return variables


@given(st.binary(), st.data())
def test_a_seal_detects_a_changed_byte(payload: bytes, data: st.DataObject) -> None:
    """A change of any byte, of the checksum too, raises an error."""
    whole = seal(payload)
    assert unseal(whole) == payload
    position, mask = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
    changed = bytearray(whole)
    changed[position] ^= mask
    with pytest.raises(ValueError, match="checksum"):
        unseal(changed)


def test_a_damaged_state_raises_an_error() -> None:
    """A truncated, changed, empty or missing chunk raises an error."""
    whole = stored_state()
    key, (payload,) = next(iter(whole.log.items()))
    assert isinstance(payload, bytes)
    for damaged in (payload[:-100], payload[:5_000] + b"\0" * 64 + payload[5_064:], b""):
        variables = whole.attempt()
        variables.log[key] = (damaged,)
        with pytest.raises(
            CheckpointError, match=r"the state of shard 7 in the checkpoint is damaged: its segment"
        ):
            variables.store(StateCache(), 0).read(7)
    variables = whole.attempt()
    del variables.log[key]
    with pytest.raises(CheckpointError, match="is missing"):
        variables.store(StateCache(), 0).read(7)


def test_another_format_or_number_of_shards_is_rejected() -> None:
    """The message has the value in the checkpoint and the value of the query."""
    variables = stored_state()
    assert variables.head is not None
    with pytest.raises(
        CheckpointError, match="written with 1 shards, and the query now has 4; compile with shards=1"
    ):
        variables.store(StateCache(), 0, shards=4).read(0)
    for number in (FORMAT - 1, FORMAT + 1):
        variables.head = (number, *variables.head[1:])
        with pytest.raises(CheckpointError, match=f"has format {number}, .* reads the format {FORMAT};"):
            variables.store(StateCache(), 0).read(0)


def compile_stage(strategy: WindowingStrategy) -> tuple[Stage, StageDescription]:
    """Returns the stage of a strategy, and its description in the state."""
    stage = stage_of(apply_windowing(VALUES, strategy))
    return stage, describe_stage(stage, kv_of(TEXT, INTEGER), (INTEGER,))


BEFORE = WindowingStrategy(
    FixedWindows(timedelta(minutes=10)),
    AtWatermark().with_early_firings(AfterDelay(timedelta(minutes=5))),
    allowed_lateness=timedelta(minutes=20),
)
COMPATIBLE = {
    "a longer lateness": evolve(BEFORE, allowed_lateness=timedelta(hours=2)),
    "unlimited lateness": evolve(BEFORE, allowed_lateness=FOREVER),
    "another delay": evolve(
        BEFORE, trigger=AtWatermark().with_early_firings(AfterDelay(timedelta(minutes=1)))
    ),
    "another on-time behavior": evolve(BEFORE, on_time_behavior=OnTimeBehavior.ALWAYS),
}
INCOMPATIBLE = {
    r"windows was FixedWindows\(size=0:10:00": evolve(BEFORE, windows=FixedWindows(timedelta(minutes=5))),
    "accumulation mode was accumulating and is now retracting": evolve(
        BEFORE, accumulation=Accumulation.RETRACTING
    ),
    "allowed lateness was 0:20:00 and is now 0:01:00": evolve(BEFORE, allowed_lateness=timedelta(minutes=1)),
    "event time of panes was end of window and is now latest": evolve(
        BEFORE, timestamp_combiner=TimestampCombiner.LATEST
    ),
}


@pytest.mark.parametrize("message", INCOMPATIBLE)
def test_an_incompatible_change_is_rejected(message: str) -> None:
    """The message has the stage, the former value and the new value."""
    _, before = compile_stage(BEFORE)
    _, after = compile_stage(INCOMPATIBLE[message])
    with pytest.raises(CheckpointError, match=rf"stage 'combine_per_key'.*incompatible.*{message}"):
        require_continuable(compare_stages(before.stored({}), after))


@pytest.mark.parametrize("name", COMPATIBLE)
def test_a_compatible_change_takes_effect_for_open_windows(name: str) -> None:
    """From the next instant on, open windows behave as if the stage had always been so."""
    (old, before), (new, after) = compile_stage(BEFORE), compile_stage(COMPATIBLE[name])
    assert compare_stages(before.stored({}), before).outcome is Outcome.CONTINUES
    assert compare_stages(before.stored({}), after).outcome is Outcome.CHANGES
    variables, cache = Variables(), StateCache()
    at = [Clocks(processing_time(point(minute)), event_time(point(minute))) for minute in (0, 2, 11, 40)]
    first = Timeline[Reading]().at(point(0), Reading("a", 1, point(1), point(0)))
    run_batch(variables.store(cache, 1 << 30, stage=before), old, shard_inputs(old, first.instants[0], at[0]))
    state = None
    counts = []
    for clocks in at[1:]:
        grouping = Grouping(((FromStage(),),), new)
        store = variables.store(cache, 1 << 30, stage=after, operator=grouping)
        previous = store.read(0)
        assert previous is not None
        later, emitted = advance(grouping, previous.stored, empty_input(clocks), first_shard=True)
        store.write(previous, later)
        counts.append((unpack(emitted.panes).height, later.windows.activate_all().windows.height))
        state = later
    assert state is not None
    expected = {
        "a longer lateness": [(0, 1), (1, 1), (0, 1)],
        "unlimited lateness": [(0, 1), (1, 1), (0, 1)],
        "another delay": [(1, 1), (0, 1), (0, 0)],
        "another on-time behavior": [(0, 1), (1, 1), (0, 0)],
    }
    assert counts == expected[name]


def empty_input(clocks: Clocks) -> list[list[ShardInput]]:
    """Returns the input of an instant without elements."""
    return [[ShardInput(b"", {0: StageReport(clocks)})]]
