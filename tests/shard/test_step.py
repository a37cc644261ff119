"""The shard step compared with the reference, without Spark: thousands of timelines in seconds.

The tests catch faults of the vectorized semantics: assignment, pre-combination, firing, expiry, and the packed state.
They cannot catch faults of the lowering or of the engine; ``tests/spark/test_streaming.py`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import flowalg_reference as reference
import polars as pl
import pytest
from attrs import frozen
from flowalg_laws import READINGS, VALUES
from flowalg_laws.strategies import (
    Reading,
    apply_windowing,
    batches,
    fixed_windows,
    policies,
    windowing_strategies,
)
from flowalg_shard import (
    ShardState,
    Stage,
    aggregate_columns,
    pack,
    precombine,
    source_report,
    step,
    unpack,
)
from flowalg_shard.contents.columns import extract_column
from flowalg_shard.contents.stage import TOP_RANK, TOP_VALUE
from flowalg_shard.tables.columns import (
    DROP_COUNT,
    DROP_REASON,
    END,
    ENDED,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    KEEP,
    PROCESSING_TIME,
    SHARD,
    START,
    TIMING,
    WEIGHT,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    KV,
    Accumulation,
    AtWatermark,
    Count,
    GlobalWindows,
    Max,
    Mean,
    Min,
    PCollection,
    Repeat,
    Sessions,
    Sum,
    Timeline,
    TopN,
)
from flowalg.combiners.core import Combiner, product
from flowalg.data import MAX_TIME
from flowalg.data.shapes import FLOAT, INTEGER, Shape, TupleOf
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime, event_time, processing_time
from flowalg.errors import ElementError, ValueRangeError
from flowalg.pipeline.nodes import WindowInto
from flowalg.runs import Instant
from flowalg.runs.clocks import Clocks
from flowalg.watermarks import ClockSummary, WatermarkPolicy
from flowalg.windows import WindowingStrategy

EVERYTHING = (Sum[int](), Count(), Mean(), Min[int](), Max[int]())
SCHEMA = {
    "key": pl.String,
    **{f"a{i}": pl.Int64 for i in range(len(EVERYTHING))},
    SHARD: pl.Int32,
    KEEP: pl.Boolean,
    EVENT_TIME: pl.Int64,
    PROCESSING_TIME: pl.Int64,
    ENDED: pl.Boolean,
}


@frozen
class Emitted:
    """The panes and drops of a run, as bags."""

    panes: Counter[tuple[object, ...]]
    drops: Counter[tuple[object, ...]]


def rows_of(instant: Instant[Reading], part: Sequence[Reading], shards: int) -> pl.DataFrame:
    """Returns the rows of an input partition. A filter has dropped negative values, which only move the clocks."""
    rows = [
        {
            "key": reading.key,
            **{f"a{i}": reading.value for i in range(len(EVERYTHING))},
            SHARD: ord(reading.key) % shards,
            KEEP: reading.value >= 0,
            EVENT_TIME: event_time(reading.at),
            PROCESSING_TIME: instant.processing_time,
            ENDED: False,
        }
        for reading in part
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def stage_of(pipeline: PCollection[KV[str, int]], shape: Shape = INTEGER) -> Stage:
    """Returns the stage that computes all aggregates over a windowed collection."""
    assert isinstance(pipeline.node, WindowInto)
    combiner: Combiner[object, object, object] = product(EVERYTHING)  # type: ignore[arg-type]
    columns = aggregate_columns(combiner, (shape,) * len(EVERYTHING))
    return Stage("combine_per_key", ("key",), columns, pipeline.node.strategy)


def run_step(
    stage: Stage, timeline: Timeline[Reading], policy: WatermarkPolicy, *, partitions: int, shards: int
) -> Emitted:
    """Returns the emissions of all shards; bundles and state go through their packed form, as in an engine."""
    states = [(b"", policy.start()) for _ in range(shards)]
    panes: Counter[tuple[object, ...]] = Counter()
    drops: Counter[tuple[object, ...]] = Counter()
    results = [column.result for column in stage.aggregates]
    for instant in timeline:
        tables = [rows_of(instant, instant.elements[i::partitions], shards) for i in range(partitions)]
        report = ClockSummary(ended=instant.watermark == MAX_TIME)
        for table in tables:
            report = report.merge(source_report(policy, table).clock)
        bundles = [precombine(stage, table) for table in tables]
        for shard, (packed, before) in enumerate(states):
            of_shard = [
                unpack(pack(bundle.filter(pl.col(SHARD) == shard).drop(SHARD)))
                for bundle in bundles
                if len(bundle)
            ]
            after = policy.advance(before, report, instant.processing_time)
            state_before = ShardState(unpack(packed), before.watermark)
            state, emission = step(
                stage, state_before, of_shard, Clocks(instant.processing_time, after.watermark)
            )
            states[shard] = (pack(state.windows), after)
            clocks = (instant.processing_time, after.watermark)
            for row in emission.panes.iter_rows(named=True):
                info = (row[TIMING], row[INDEX], row[IS_FIRST], row[IS_LAST])
                panes[
                    (row["key"], row[START], row[END], *(row[column] for column in results), *info, *clocks)
                ] += 1
            for row in emission.drops.iter_rows(named=True):
                drops[(row["key"], row[START], row[END], row[DROP_REASON], *clocks[:1])] += row[DROP_COUNT]
    return Emitted(panes, drops)


def run_reference(pipeline: PCollection[KV[str, int]], timeline: Timeline[Reading]) -> Emitted:
    """Returns the emissions of the reference interpreter."""
    node = pipeline.node
    assert isinstance(node, WindowInto)
    positive = VALUES.filter(lambda pair: pair.value >= 0)
    windowed = PCollection[KV[str, int]](WindowInto(positive.node, node.strategy))
    parts = windowed.combine_per_key(Sum(), Count(), Mean(), Min())
    last = windowed.combine_per_key(Max())
    run, last_run = reference.run(parts, {READINGS: timeline}), reference.run(last, {READINGS: timeline})
    panes: Counter[tuple[object, ...]] = Counter()
    for pane, last_pane in zip(run.panes, last_run.panes, strict=True):
        info = (
            pane.timing.value,
            pane.index,
            pane.is_first,
            pane.is_last,
            pane.processing_time,
            pane.watermark,
        )
        panes[(pane.key, pane.window.start, pane.window.end, *pane.value, last_pane.value, *info)] += 1
    drops: Counter[tuple[object, ...]] = Counter()
    for drop in run.dropped:
        assert isinstance(drop.element, KV)
        where = (drop.element.key, drop.window.start, drop.window.end)
        drops[(*where, drop.reason.value, drop.processing_time)] += 1
    return Emitted(panes, drops)


@settings(max_examples=3 * settings().max_examples)
@given(st.data())
def test_the_step_equals_the_reference(data: st.DataObject) -> None:
    """The step has the panes and drops of the reference for any windows, trigger, lateness, partitions and shards."""
    strategy = data.draw(
        windowing_strategies(
            windows=st.one_of(st.builds(GlobalWindows), fixed_windows()),
            trigger=st.sampled_from([Repeat(AtWatermark()), AtWatermark(), Repeat(Repeat(AtWatermark()))]),
            modes=st.just(Accumulation.ACCUMULATING),
            plain=True,
        )
    )
    pipeline = apply_windowing(VALUES, strategy)
    policy = data.draw(policies())
    timeline = Timeline.micro_batches(
        READINGS,
        data.draw(batches()),
        processing_time=lambda reading: reading.seen,
        watermark=policy,
        ends=data.draw(st.booleans()),
    )
    partitions, shards = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    emitted = run_step(stage_of(pipeline), timeline, policy, partitions=partitions, shards=shards)
    assert emitted == run_reference(pipeline, timeline)


def table(values: list[float], kind: type[pl.DataType]) -> pl.DataFrame:
    """Returns the values of one key in one shard, at the epoch."""
    arguments = {f"a{i}": pl.Series(values, dtype=kind) for i in range(len(EVERYTHING))}
    same = {"key": "a", SHARD: 0, KEEP: True, EVENT_TIME: 0, PROCESSING_TIME: 0, ENDED: False}
    return pl.DataFrame(arguments).with_columns(**{name: pl.lit(value) for name, value in same.items()})


THE_END = Clocks(processing_time(datetime(2024, 1, 1, tzinfo=UTC)), MAX_TIME)
GLOBALLY = VALUES.window(GlobalWindows())


def test_a_sum_that_overflows_in_a_pane_is_an_error() -> None:
    """The error of a sum that overflows in a pane names the grouping, the sum and the key; Polars would wrap."""
    stage = stage_of(GLOBALLY)
    bundle = precombine(stage, table([2**62, 2**62], pl.Int64)).drop(SHARD)
    with pytest.raises(
        ValueRangeError, match=r"combine_per_key: the sum 9223372036854775808 overflows 64 bits.*'a'"
    ):
        step(stage, ShardState(), [bundle], THE_END)


def test_a_sum_that_overflows_in_a_bundle_alone_is_no_error() -> None:
    """A sum of a bundle may need more than 64 bits, if that of the pane does not."""
    stage = stage_of(GLOBALLY)
    parts: list[list[float]] = [[2**62, 2**62], [-5]]
    bundles = [precombine(stage, table(values, pl.Int64)).drop(SHARD) for values in parts]
    _, emission = step(stage, ShardState(), bundles, THE_END)
    assert emission.panes["r0"].to_list() == [2**63 - 5]


def test_a_sum_that_overflows_across_bundles_is_an_error() -> None:
    """A sum that overflows across bundles is an error, although the sum of each bundle fits."""
    stage = stage_of(GLOBALLY)
    bundles = [precombine(stage, table([2**62], pl.Int64)).drop(SHARD) for _ in range(2)]
    with pytest.raises(ValueRangeError, match="overflows 64 bits"):
        step(stage, ShardState(), bundles, THE_END)


def test_a_sum_may_use_all_64_bits() -> None:
    """The largest and the smallest 64-bit integers are valid sums."""
    stage = stage_of(GLOBALLY)
    for extreme in (2**63 - 1, -(2**63)):
        bundle = precombine(stage, table([extreme, 0], pl.Int64)).drop(SHARD)
        _, emission = step(stage, ShardState(), [bundle], THE_END)
        assert emission.panes["r0"].to_list() == [extreme]


def test_nan_in_a_minimum_or_maximum_is_an_error() -> None:
    """``Min`` and ``Max`` raise an error for NaN, as in the reference; Polars would ignore it."""
    with pytest.raises(ElementError, match="the input of Min must not be None or NaN; got nan"):
        precombine(stage_of(GLOBALLY, FLOAT), table([1.0, float("nan")], pl.Float64))


def test_nan_in_the_rank_of_a_greatest_value_is_an_error() -> None:
    """``TopN`` raises an error for a value whose rank is NaN, as in the reference; to Polars it is the greatest."""
    columns = aggregate_columns(product((TopN(1),)), (TupleOf((FLOAT, FLOAT)),))  # type: ignore[arg-type]
    stage = Stage("combine_per_key", ("key",), columns, WindowingStrategy())
    values = [1.0, float("nan")]
    pairs = pl.DataFrame({TOP_VALUE: values, TOP_RANK: values}).to_struct("a0")
    with pytest.raises(ElementError, match="the input of TopN must not be None or NaN; got nan"):
        precombine(stage, table(values, pl.Float64).with_columns(pairs))


def sum_with_retractions(values: list[int], weights: list[int]) -> tuple[Stage, pl.DataFrame]:
    """Returns a sum of one key's values and retractions, and their rows."""
    columns = aggregate_columns(product((Sum(),)), (INTEGER,))  # type: ignore[arg-type]
    stage = Stage("combine_per_key", ("key",), columns, WindowingStrategy(), retractions=True)
    rows = table([0] * len(values), pl.Int64).with_columns(
        a0=pl.Series(values, dtype=pl.Int64()), **{WEIGHT: pl.Series(weights, dtype=pl.Int8())}
    )
    return stage, rows


def test_a_retracted_value_is_removed_from_a_sum() -> None:
    """A retracted value is removed from a sum, also the smallest integer, whose opposite needs more than 64 bits."""
    stage, rows = sum_with_retractions([-(2**63), -(2**63), 7], [1, -1, 1])
    bundle = precombine(stage, rows).drop(SHARD)
    _, emission = step(stage, ShardState(), [bundle], THE_END)
    assert emission.panes["r0"].to_list() == [7]
    values, retractions = ([-(2**63), 7], [1, 1]), ([-(2**63)], [-1])
    divided = [precombine(*sum_with_retractions(*part)).drop(SHARD) for part in (retractions, values)]
    _, emission = step(stage, ShardState(), divided, THE_END)
    assert emission.panes["r0"].to_list() == [7]


def test_a_window_without_current_values_emits_no_value() -> None:
    """A window in which every value was retracted emits no value; the sum is not zero."""
    stage, rows = sum_with_retractions([4, 4], [1, -1])
    _, emission = step(stage, ShardState(), [precombine(stage, rows).drop(SHARD)], THE_END)
    assert emission.panes.is_empty()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 9), st.integers(0, 40))
def test_a_grouping_without_key_columns_has_one_key(minutes: list[int], gap: int, watermark: int) -> None:
    """Sessions of a grouping without key columns merge and close as those of one key."""
    strategy = WindowingStrategy(
        Sessions(timedelta(minutes=gap)), AtWatermark(), allowed_lateness=timedelta(minutes=9)
    )
    columns = aggregate_columns(product((Count(),)), (None,))  # type: ignore[arg-type]
    results = []
    for keys in ((), ("key",)):
        stage, state = Stage("combine_globally", keys, columns, strategy), ShardState()
        emissions = []
        for number, minute in enumerate(minutes):
            row = table([1], pl.Int64).with_columns(pl.lit(minute * 60_000_000, pl.Int64()).alias(EVENT_TIME))
            passed = EventTime(watermark * 60_000_000 if 2 * number > len(minutes) else MIN_TIME)
            clocks = Clocks(ProcessingTime(number), passed)
            state, emission = step(stage, state, [precombine(stage, row).drop(SHARD)], clocks)
            emissions.append(
                [
                    emitted.drop("key", strict=False).sort(pl.all()).rows()
                    for emitted in (emission.panes, emission.drops)
                ]
            )
        results.append(emissions)
    assert results[0] == results[1]


def test_a_mean_is_rounded_once() -> None:
    """A mean is rounded once, even where Polars knows that all counts are equal."""
    (column,) = aggregate_columns(product((Mean(),)), (INTEGER,))  # type: ignore[arg-type]
    total, count = column.accumulators
    table = pl.DataFrame({total: [3, 7]}).with_columns(pl.lit(5).alias(count))
    assert table.select(extract_column(column)).to_series().to_list() == [3 / 5, 7 / 5]
