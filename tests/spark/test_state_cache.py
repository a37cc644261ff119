"""What Python workers keep of a shard's state between batches: never believed when Spark has another state.

A batch may be done by any worker, thrown away after it has written its state, done again elsewhere, or by a process
that knows nothing; and a worker forgets what does not fit. The store here is a dictionary whose changes are committed
or thrown away, as those of Spark's are with a task. Real queries with killed workers are in ``make faults``.
"""

from __future__ import annotations

import pickle
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
from flowalg_shard.tables.columns import SHARD
from flowalg_spark.state.state_cache import StateCache
from flowalg_spark.state.state_format import FORMAT, Store, seal, unseal
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.stateful_processor import MapState, ValueState

from flowalg import (
    FOREVER,
    Accumulation,
    AfterDelay,
    AtCount,
    AtWatermark,
    FixedWindows,
    GlobalWindows,
    Instant,
    OnTimeBehavior,
    Repeat,
    Timeline,
    TimestampCombiner,
    WindowingStrategy,
)
from flowalg.data.errors import CheckpointError
from flowalg.data.time import EventTime, event_time, processing_time
from flowalg.runs.clocks import Clocks
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
    """The state variables of a shard, as a task sees them."""

    head: tuple[object, ...] | None = None
    log: dict[tuple[object, ...], tuple[object, ...]] = field(factory=dict)

    def get(self) -> tuple[object, ...] | None:
        """The head."""
        return self.head

    def update(self, value: tuple[object, ...]) -> None:
        """Another head."""
        self.head = value

    def getValue(self, key: tuple[object, ...]) -> tuple[object, ...] | None:
        """An entry of the log."""
        return self.log.get(key)

    def updateValue(self, key: tuple[object, ...], value: tuple[object, ...]) -> None:
        """A new entry."""
        assert key not in self.log, "a segment is written once"
        self.log[key] = value

    def removeKey(self, key: tuple[object, ...]) -> None:
        """One entry less."""
        del self.log[key]

    def attempt(self) -> Variables:
        """What a task works on until it is committed."""
        return Variables(self.head, dict(self.log))

    def store(self, cache: StateCache, limit: int, shards: int = 1, stage: StageDescription = SAME) -> Store:
        """How a worker sees them."""
        return Store(cast("ValueState", self), cast("MapState", self), stage, shards, limit, cache)


def sent(stage: Stage, instant: Instant[Reading], clocks: Clocks) -> list[list[ShardInput]]:
    """What a partition sends in an instant."""
    bundle = precombine(stage, rows_of(instant, instant.elements, 1)).drop(SHARD, strict=False)
    return [[ShardInput(pack(bundle), {0: StageReport(clocks)})]]


def bag(packed: bytes) -> list[tuple[object, ...]]:
    """The rows of a packed table, in an order of their own."""
    return sorted(unpack(packed).rows(), key=repr)


@pytest.mark.long
@settings(max_examples=150)
@given(st.data())
def test_what_is_kept_never_changes_a_result(data: st.DataObject) -> None:
    """Whoever does a batch, and however often it is done."""
    strategy = data.draw(windowing_strategies(windows=window_fns(), trigger=st.sampled_from(TRIGGERS)))
    stage = stage_of(apply_windowing(VALUES, strategy))
    timeline = Timeline.micro_batches(
        READINGS,
        data.draw(batches()),
        processing_time=lambda one: one.seen,
        watermark=data.draw(policies()),
        ends=True,
    )
    operator = Grouping(stage, (FromStage(),))
    workers = [StateCache(), StateCache()]
    committed = Variables()
    plain: OperatorState | None = None
    for instant in timeline:
        clocks = Clocks(instant.processing_time, EventTime(instant.watermark))
        parts = sent(stage, instant, clocks)
        plain, wanted = advance(operator, plain, parts, first_shard=True)
        for last in [*[False] * data.draw(st.integers(0, 2)), True]:
            if data.draw(st.integers(0, 9)) == 0:
                workers[0] = StateCache()
            task = committed.attempt()
            store = task.store(
                data.draw(st.sampled_from(workers)), data.draw(st.sampled_from([0, 2_000, 1 << 30]))
            )
            found = store.read(0)
            after, emitted = advance(
                operator, None if found is None else found.stored, parts, first_shard=True
            )
            store.write(found, after)
            assert bag(emitted.panes) == bag(wanted.panes)
            assert bag(emitted.drops) == bag(wanted.drops)
            assert emitted.report == wanted.report
            if last:
                committed = task
    assert all(cache.size <= 1 << 30 for cache in workers)


def grown(keys: int, batches_of: int, last: int = 10) -> tuple[Stage, list[list[list[ShardInput]]]]:
    """A batch with so many keys, and then batches that touch ten of them, but for the last one."""
    stage = stage_of(VALUES.window(GlobalWindows(), trigger=Repeat(AtCount(10**9))))
    timeline = Timeline[Reading]().at(
        point(0), *(Reading(chr(200 + n), n, point(0), point(0)) for n in range(keys))
    )
    for number in range(1, batches_of):
        touched = last if number == batches_of - 1 else 10
        timeline = timeline.at(
            point(number), *(Reading(chr(200 + n), 1, point(0), point(number)) for n in range(touched))
        )
    return stage, [
        sent(stage, one, Clocks(one.processing_time, EventTime(one.watermark))) for one in timeline
    ]


def done(store: Store, stage: Stage, parts: list[list[ShardInput]]) -> None:
    """A batch that is done once."""
    found = store.read(0)
    after, _ = advance(
        Grouping(stage, (FromStage(),)), None if found is None else found.stored, parts, first_shard=True
    )
    store.write(found, after)


def test_a_batch_writes_what_it_has_touched() -> None:
    """Not the ten thousand keys that it has not."""
    stage, instants = grown(10_000, 12)
    variables, cache = Variables(), StateCache()
    sizes = []
    for parts in instants:
        before = dict(variables.log)
        done(variables.store(cache, 1 << 30), stage, parts)
        assert variables.head is not None
        new = [value for key, value in variables.log.items() if key not in before]
        sizes.append(sum(len(cast("bytes", one)) for (one,) in new) + len(cast("bytes", variables.head[-1])))
    assert max(sizes[2:]) < sizes[0] / 20
    assert variables.head is not None
    names = {name for name, _ in pickle.loads(unseal(cast("bytes", variables.head[-2])))}
    assert {name for name, _ in variables.log} <= names, "what no segment needs is not in the log"


def test_a_worker_keeps_no_more_than_it_may() -> None:
    """What it forgets it reads again."""
    stage, instants = grown(2_000, 4)
    variables, cache = Variables(), StateCache()
    for parts in instants:
        done(variables.store(cache, 10_000), stage, parts)
        assert cache.size <= 10_000
    found = variables.store(cache, 10_000).read(0)
    assert found is not None
    assert found.stored.windows.activate_all().windows.height == 2_000


def test_what_no_segment_needs_leaves_the_log() -> None:
    """A batch that touches all keys leaves nothing of the segment that they were in."""
    stage, instants = grown(40_000, 3, last=40_000)
    variables, cache = Variables(), StateCache()
    for number, parts in enumerate(instants):
        done(variables.store(cache, 1 << 30), stage, parts)
        assert bool(variables.log) == (number == 1), "the newest segment is not in the log, the large one is"


def written() -> Variables:
    """A state of a few segments, the first of which is large."""
    stage, instants = grown(40_000, 4)
    variables, cache = Variables(), StateCache()
    for parts in instants:
        done(variables.store(cache, 1 << 30), stage, parts)
    assert variables.log, "a large segment is in the log"
    return variables


@given(st.binary(), st.data())
def test_a_seal_tells_any_change(payload: bytes, data: st.DataObject) -> None:
    """Of a byte, also where what reads the bytes could not tell."""
    whole = seal(payload)
    assert unseal(whole) == payload
    place, by = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
    changed = bytearray(whole)
    changed[place] ^= by
    with pytest.raises(ValueError, match="checksum"):
        unseal(changed)


def test_a_damaged_state_is_an_error() -> None:
    """Never another number: bytes that are cut off, changed, or not there."""
    whole = written()
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


def test_another_format_and_other_shards_are_refused() -> None:
    """With what there is and what is wanted."""
    variables = written()
    assert variables.head is not None
    with pytest.raises(
        CheckpointError, match="written with 1 shards, and the query now has 4; compile with shards=1"
    ):
        variables.store(StateCache(), 0, shards=4).read(0)
    variables.head = (FORMAT - 1, *variables.head[1:])
    with pytest.raises(CheckpointError, match=f"has format {FORMAT - 1}, .* reads format {FORMAT};"):
        variables.store(StateCache(), 0).read(0)


def of(strategy: WindowingStrategy) -> tuple[Stage, StageDescription]:
    """The stage of a strategy, and what it is to its state."""
    stage = stage_of(apply_windowing(VALUES, strategy))
    return stage, describe_stage(stage, "KV[str, int]")


BEFORE = WindowingStrategy(
    FixedWindows(timedelta(minutes=10)),
    AtWatermark().with_early_firings(AfterDelay(timedelta(minutes=5))),
    allowed_lateness=timedelta(minutes=20),
)
FOLLOWED = {
    "a longer lateness": evolve(BEFORE, allowed_lateness=timedelta(hours=2)),
    "lateness for ever": evolve(BEFORE, allowed_lateness=FOREVER),
    "another delay": evolve(
        BEFORE, trigger=AtWatermark().with_early_firings(AfterDelay(timedelta(minutes=1)))
    ),
    "another on-time policy": evolve(BEFORE, on_time_behavior=OnTimeBehavior.ALWAYS),
}
REFUSED = {
    r"windows was FixedWindows\(size=0:10:00": evolve(BEFORE, windows=FixedWindows(timedelta(minutes=5))),
    "accumulation mode was accumulating and is now retracting": evolve(
        BEFORE, accumulation=Accumulation.RETRACTING
    ),
    "allowed lateness was 1200000000 and is now 60000000": evolve(
        BEFORE, allowed_lateness=timedelta(minutes=1)
    ),
    "shape of the trigger was .*AfterDelay.* and is now .*AtCount": evolve(
        BEFORE, trigger=AtWatermark().with_early_firings(AtCount(2))
    ),
    "event time of panes was end of window and is now latest": evolve(
        BEFORE, timestamp_combiner=TimestampCombiner.LATEST
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_change_that_the_state_cannot_follow_is_refused(message: str) -> None:
    """With the stage, and what it was and is."""
    _, before = of(BEFORE)
    _, after = of(REFUSED[message])
    with pytest.raises(CheckpointError, match=rf"stage 'combine_per_key'.*incompatible.*{message}"):
        before.is_unchanged_in(after)


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_change_that_the_state_can_follow(name: str) -> None:
    """From the next instant on it is as if it had always been so, for windows that are still open."""
    (old, before), (new, after) = of(BEFORE), of(FOLLOWED[name])
    assert before.is_unchanged_in(before)
    assert not before.is_unchanged_in(after)
    variables, cache = Variables(), StateCache()
    at = [Clocks(processing_time(point(minute)), event_time(point(minute))) for minute in (0, 2, 11, 40)]
    first = Timeline[Reading]().at(point(0), Reading("a", 1, point(1), point(0)))
    done(variables.store(cache, 1 << 30, stage=before), old, sent(old, first.instants[0], at[0]))
    state = None
    said = []
    for clocks in at[1:]:
        store = variables.store(cache, 1 << 30, stage=after)
        found = store.read(0)
        assert found is not None
        later, emitted = advance(Grouping(new, (FromStage(),)), found.stored, quiet(clocks), first_shard=True)
        store.write(found, later)
        said.append((unpack(emitted.panes).height, later.windows.activate_all().windows.height))
        state = later
    assert state is not None
    expected = {
        "a longer lateness": [(0, 1), (1, 1), (0, 1)],
        "lateness for ever": [(0, 1), (1, 1), (0, 1)],
        "another delay": [(1, 1), (0, 1), (0, 0)],
        "another on-time policy": [(0, 1), (1, 1), (0, 0)],
    }
    assert said == expected[name]


def quiet(clocks: Clocks) -> list[list[ShardInput]]:
    """Nothing but what the clocks read."""
    return [[ShardInput(b"", {0: StageReport(clocks)})]]
