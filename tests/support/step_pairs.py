"""Generated pipelines and inputs on which the shard step is compared with the reference interpreter.

Some replay records with an in-band watermark policy, as the conformance suite does. Others have timelines without a
policy, with signals and percentile watermarks, and windows that the suite does not generate: calendar days, and
user-defined windows, merging or not. The last are sessions of one key with dense and often late elements, because few
of the others open a complete session again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import cast

from attrs import evolve, frozen
from flowalg_laws.conformance import Replay, replays
from flowalg_laws.conformance.drawing import difference_of, drop_lines, full_line
from flowalg_laws.conformance.drops import count_drops
from flowalg_laws.conformance.generated import describe_run
from flowalg_laws.kit.drawing import format_time
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading, event_time_of, key_of, value_of
from flowalg_laws.strategies import (
    dense_timelines,
    free_timelines,
    triggers,
    window_fns,
    windowing_strategies,
)
from flowalg_laws.strategies.pipelines import (
    GROUPINGS,
    STEPS,
    Part,
    Values,
    count_values,
    double,
    group_values,
    keep_positive,
    pipelines,
    sum_values,
    take_max,
    use_one_key,
)
from flowalg_laws.strategies.times import durations, point
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference
from flowalg_shard.triggers.summary import SummaryColumns
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Mean,
    Mode,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
    TopN,
    Window,
    flatten,
)
from flowalg.combiners import Variance
from flowalg.data.errors import FlowalgError
from flowalg.data.shapes import INTEGER, TEXT, kv_of
from flowalg.data.time import EventTime
from flowalg.pipeline.structure import sources_of
from flowalg.runs.signals import in_order
from flowalg.triggers import Trigger
from flowalg.watermarks import Perfect
from flowalg.windows import CustomWindows, MergedWindow, WindowFn, WindowingStrategy
from flowalg.windows.window import clamp

MINUTE = 60_000_000


@frozen
class Inputs:
    """The inputs, as timelines for the reference and for the local engine."""

    timelines: dict[Source[object], Timeline[object]]
    generates: bool
    text: str

    @classmethod
    def of_replay(cls, replay: Replay) -> Inputs:
        """Returns the records of a replay, from which the engine generates the watermark, unless it is perfect."""
        timelines = replay.timelines
        generated = [timeline.generated_by for timeline in timelines.values()]
        generates = all(by is not None and not isinstance(by.policy, Perfect) for by in generated)
        return cls(timelines, generates=generates, text=describe_run(VALUES, replay))

    @classmethod
    def of_timelines(cls, timeline: Timeline[Reading], other: Timeline[Reading]) -> Inputs:
        """Returns timelines of both sources, with their watermarks."""
        timelines: dict[Source[object], Timeline[object]] = {READINGS: timeline, OTHERS: other}
        lines = [
            f"{source.name} {format_time(instant.processing_time)}: "
            f"{', '.join(map(str, instant.elements)) or 'nothing'}, watermark {format_time(instant.watermark)}, "
            f"percentiles {dict(instant.percentile_watermarks)}, signals {in_order(instant.signals)}"
            for source, timeline_ in timelines.items()
            for instant in timeline_
        ]
        return cls(timelines, generates=False, text="\n".join(lines))


@frozen
class Pair:
    """A pipeline with its inputs, the distribution of the run, and when the engine evaluates timers."""

    pipeline: PCollection[object]
    inputs: Inputs
    cluster: Cluster
    mode: Mode

    def difference(self) -> str:
        """Returns the difference of the step from the reference: panes in order, drops, or an error; empty if equal."""
        read = {source.name for source in sources_of(self.pipeline.node)}
        timelines = {
            source: timeline for source, timeline in self.inputs.timelines.items() if source.name in read
        }
        generates = self.inputs.generates and self.mode is Mode.MICRO_BATCH
        local = PolarsStreaming(self.cluster, mode=self.mode, generate_watermarks=generates)
        try:
            expected = Reference(self.mode).run(self.pipeline, timelines)
        except FlowalgError as error:
            return self._error_difference(error, lambda: local.run(self.pipeline, timelines))
        output = local.run(self.pipeline, timelines)
        panes = difference_of(list(map(full_line, expected.panes)), list(map(full_line, output.panes)))
        drops = difference_of(*(drop_lines(count_drops(run.dropped)) for run in (expected, output)))
        return "\n".join(part for part in (panes, drops) if part)

    @staticmethod
    def _error_difference(expected: FlowalgError, attempt: Callable[[], object]) -> str:
        """Returns the difference of two errors, empty if both are of one kind; user-defined functions may raise."""
        try:
            attempt()
        except FlowalgError as error:
            same = type(error) is type(expected)
            return "" if same else f"raised {error!r}, instead of {expected!r}"
        return f"ran without {expected!r}"

    def __str__(self) -> str:
        nothing = Replay(())
        return (
            f"{describe_run(self.pipeline, nothing)}\n{self.inputs.text}\n{self.cluster}, {self.mode.value}"
        )


def two_minutes_around(point: EventTime, key: object) -> tuple[Window, ...]:
    """Returns the two minutes around an event time, and for one key the whole hour too."""
    start, hour = point - point % MINUTE, point - point % (60 * MINUTE)
    two = _window(start - MINUTE, start + MINUTE)
    return (two, _window(hour, hour + 60 * MINUTE)) if key == "a" else (two,)


def minutes_after(point: EventTime, key: object) -> tuple[Window, ...]:
    """Returns some minutes after an event time, and for one key a few before it."""
    before, after = (0, 3) if key == "a" else (2, 4)
    return (_window(point - before * MINUTE, point + after * MINUTE),)


def _window(start: int, end: int) -> Window:
    return Window(clamp(start), clamp(end))


def overlapping_groups(windows: Sequence[Window]) -> list[list[Window]]:
    """Returns groups of windows that overlap; windows that only touch are in different groups."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda window_: (window_.start, window_.end)):
        if groups and window.start < max(member.end for member in groups[-1]):
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


def one_minute(point: EventTime, key: object) -> tuple[Window, ...]:
    """Returns the minute after an event time."""
    return (_window(point, point + MINUTE),)


def up_to_four_minutes(windows: Sequence[Window]) -> list[MergedWindow]:
    """Returns sessions whose ends are rounded up to four minutes, so that a part may have the bounds of the whole."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda window_: (window_.start, window_.end)):
        if groups and window.start <= groups[-1][-1].end:
            groups[-1].append(window)
        else:
            groups.append([window])
    return [
        MergedWindow(_window(group[0].start, -(-group[-1].end // (4 * MINUTE)) * 4 * MINUTE), tuple(group))
        for group in groups
    ]


ROUNDED = CustomWindows("rounded", one_minute, up_to_four_minutes)


def any_windows() -> SearchStrategy[WindowFn]:
    """Returns windows of every kind, user-defined ones included."""
    custom: list[WindowFn] = [
        CustomWindows("two_minutes_around", two_minutes_around),
        CustomWindows("minutes_after", minutes_after, overlapping_groups),
    ]
    return st.one_of(window_fns(), window_fns(), window_fns(), st.sampled_from(custom))


OTHERS = Source("others", Reading, event_time=event_time_of)
OTHER_VALUES: Values = OTHERS.key_by(key_of).map_values(value_of)
COUNTED = OTHERS.window(FixedWindows(timedelta(minutes=7)), allowed_lateness=timedelta(0)).combine_globally(
    Count()
)


def flatten_with_others(values: Values) -> Values:
    """Returns the union with another source, if the collection is not grouped yet."""
    ungrouped = values.node.windowing == OTHER_VALUES.node.windowing
    return flatten(values, OTHER_VALUES) if ungrouped else values


def add_count(values: Values) -> Values:
    """Adds a count of another source, a side input, to each value."""
    side = COUNTED.as_singleton(default=0)
    return values.map_with(side, lambda pair, count: KV(pair.key, pair.value + count))


NEWEST = (
    OTHER_VALUES.window(FixedWindows(timedelta(minutes=3)), allowed_lateness=timedelta(0))
    .combine_per_key(Count())
    .as_map()
    .latest_complete()
)


def add_newest_count(values: Values) -> Values:
    """Adds the newest complete count of its key in another source to each value, if its key is a text."""
    if values.shape != kv_of(TEXT, INTEGER):
        return values
    return values.map_with(
        NEWEST, lambda pair, counts: KV(pair.key, pair.value + counts.get(pair.key, 0)), result=KV[str, int]
    )


def sum_with_count(values: Values) -> Values:
    """Sums values in their windows after they have read a side input, for which some are too late."""
    return sum_values(add_count(values))


def sum_with_newest_count(values: Values) -> Values:
    """Sums values in their windows after they have read the newest complete values of a side input."""
    return sum_values(add_newest_count(values))


def use_tuple_keys(values: Values) -> Values:
    """Returns values under tuple keys, which have several columns, one of them null."""
    tuples = values.map(
        lambda pair: KV((pair.key, cast("int | None", None)), pair.value),
        result=KV[tuple[str, int | None], int],
    )
    return cast("Values", tuples)


def use_integer_keys(values: Values) -> Values:
    """Returns values under integer keys."""
    return values.map(lambda pair: KV(cast("str", pair.value % 3), pair.value))


def take_mean(values: Values) -> Values:
    """Combines by a group that is not signed."""
    return values.combine_per_key(Mean()).map_values(lambda mean: round(60 * mean), result=int)


def take_variance(values: Values) -> Values:
    """Combines by a group over objects."""
    return values.combine_per_key(Variance()).map_values(round, result=int)


def combine_several(values: Values) -> Values:
    """Combines by several combiners at once, one of them with a function."""
    return values.combine_per_key(
        Sum.of(lambda value: value * 3),
        Count(),
        Max(),
        Mean(),
        into=lambda a, b, c, d: a - 100 * b + 10_000 * c + round(7 * d),
    )


def take_greatest_two(values: Values) -> Values:
    """Combines by a combiner whose accumulator is a list."""
    return values.combine_per_key(TopN(2)).map_values(lambda top: 100 * sum(top) + len(top), result=int)


def take_distinct(values: Values) -> Values:
    """Returns distinct pairs of key and value, or counts if a trigger needs integers."""
    needs_integers = SummaryColumns.of(values.node.windowing.strategy.trigger).data
    return count_values(values) if needs_integers else values.distinct()


def join_with_doubles(values: Values) -> Values:
    """Joins a collection with its doubled values; adds them up where values that can be retracted cannot be joined."""
    discards = values.node.windowing.strategy.accumulation is Accumulation.DISCARDING
    if discards and values.node.may_retract:
        return values.combine_per_key(Sum())
    return values.inner_join(double(values)).map_values(lambda both: 100 * both[0] + both[1], result=int)


MORE_STEPS: Sequence[Part] = (*STEPS, *STEPS, flatten_with_others, add_count, add_newest_count)
REKEYINGS: Sequence[Part] = (use_tuple_keys, use_integer_keys)
MORE_GROUPINGS: Sequence[Part] = (
    *GROUPINGS,
    take_mean,
    take_variance,
    combine_several,
    take_greatest_two,
    take_distinct,
    join_with_doubles,
    sum_with_count,
    sum_with_newest_count,
)

EACH = WindowingStrategy(GlobalWindows(), Repeat(AtCount(1)), Accumulation.DISCARDING)

Second = tuple[list[Part], "WindowingStrategy | None", Part]


def any_pipelines() -> SearchStrategy[Values]:
    """Returns pipelines of one, two or three groupings, in any windows."""
    strategies = windowing_strategies(windows=any_windows())
    few = st.lists(st.sampled_from(MORE_STEPS), max_size=2)
    grouping = st.sampled_from(MORE_GROUPINGS)
    another = st.tuples(few, st.none() | strategies, grouping)
    new_keys = st.none() | st.none() | st.sampled_from(REKEYINGS)
    return st.builds(_build_pipeline, few, strategies, grouping, st.lists(another, max_size=2), new_keys)


def _build_pipeline(
    first: list[Part],
    strategy: WindowingStrategy,
    grouping: Part,
    others: Sequence[Second],
    new_keys: Part | None,
) -> Values:
    """Returns the pipeline of some parts. The last grouping may have other keys, since no later step needs text."""
    values = VALUES
    stages: list[Second] = [(first, strategy, grouping), *others]
    for number, (between, strategy_, group) in enumerate(stages, start=1):
        last = [] if new_keys is None or number < len(stages) else [new_keys]
        values = _apply_steps(values, [*between, *last])
        values = group(values if strategy_ is None else apply_windowing(values, strategy_))
    return values


def _apply_steps(values: Values, parts: Sequence[Part]) -> Values:
    for part in parts:
        values = part(values)
    return values


def papers_triggers() -> SearchStrategy[Trigger]:
    """Returns triggers with early, on-time and late firings, as in the figures of the papers."""
    counts = st.integers(1, 3).map(AtCount)

    def build(early: AtCount | None, late: AtCount) -> Trigger:
        on_time = AtWatermark()
        first = on_time if early is None else on_time.with_early_firings(early)
        return first.with_late_firings(late)

    return st.builds(build, st.none() | counts, counts)


def crowded_sessions() -> SearchStrategy[Values]:
    """Returns sessions that merge and that late elements reopen, under triggers that depend on it."""
    strategies = windowing_strategies(windows=durations(1, 3).map(Sessions), trigger=papers_triggers())
    return st.builds(
        _build_pipeline, st.just([]), strategies, st.sampled_from(MORE_GROUPINGS), st.just([]), st.none()
    )


def corrections() -> SearchStrategy[Values]:
    """Returns groupings that retract early panes, with a second grouping after them.

    A third grouping shows how the second holds the watermark.
    """
    short = durations(1, 3)
    at_once = st.integers(1, 2).map(lambda count: Repeat(AtCount(count)))
    first = windowing_strategies(
        windows=short.map(FixedWindows) | short.map(Sessions),
        trigger=at_once | papers_triggers(),
        modes=st.just(Accumulation.RETRACTING),
    )
    counts = st.integers(1, 3).map(AtCount)
    second = windowing_strategies(
        windows=st.one_of(durations(2, 9).map(FixedWindows), short.map(Sessions), any_windows()),
        trigger=st.one_of(counts, counts.map(Repeat), papers_triggers(), triggers()),
    )
    between = st.lists(st.sampled_from([keep_positive, use_one_key, double]), max_size=2)
    grouping = st.sampled_from([*MORE_GROUPINGS, take_mean, group_values])
    first_grouping = st.sampled_from([sum_values, take_max, group_values])
    later = st.tuples(between, st.none() | second, grouping)
    last: SearchStrategy[Second] = st.just(([], EACH, count_values))
    return st.builds(
        _build_pipeline,
        st.just([]),
        first,
        first_grouping,
        st.tuples(later) | st.tuples(later, last),
        st.none(),
    )


def keep_odd(values: Values) -> Values:
    """Removes even values, so that sums come and go."""
    return values.filter(lambda pair: pair.value % 2 == 1)


def expiring_sessions() -> SearchStrategy[Values]:
    """Returns sessions of values that come and go, which come apart while parts of them have expired."""
    minute = WindowingStrategy(
        FixedWindows(timedelta(minutes=1)), Repeat(AtCount(1)), Accumulation.RETRACTING
    )
    at_once = st.integers(1, 2).map(lambda count: Repeat(AtCount(count)))
    second = windowing_strategies(
        windows=durations(1, 3).map(Sessions) | st.just(ROUNDED),
        trigger=st.one_of(at_once, at_once, papers_triggers(), triggers()),
        modes=st.sampled_from([Accumulation.RETRACTING, *Accumulation]),
    )
    short = st.builds(
        lambda strategy, lateness: evolve(strategy, allowed_lateness=lateness),
        second,
        st.sampled_from([timedelta(0), timedelta(minutes=1), timedelta(minutes=4)]),
    )
    grouping = st.sampled_from([count_values, sum_values, group_values])
    later = st.builds(lambda strategy, group: ([keep_odd], strategy, group), short, grouping)
    last: SearchStrategy[Second] = st.just(([], EACH, count_values))
    return st.builds(
        _build_pipeline,
        st.just([]),
        st.just(minute),
        st.just(sum_values),
        st.tuples(later) | st.tuples(later) | st.tuples(later, last),
        st.none(),
    )


def creeping_timelines() -> SearchStrategy[Timeline[Reading]]:
    """Returns timelines of one key whose watermark lags behind its readings, so that windows expire one by one."""
    reading = st.tuples(st.integers(1, 2), st.integers(0, 8))
    step = st.tuples(st.lists(reading, min_size=1, max_size=2), st.sampled_from([0, 0, 1, 1, 2]))
    return st.lists(step, min_size=4, max_size=14).map(_creeping)


def _creeping(steps: Sequence[tuple[Sequence[tuple[int, int]], int]]) -> Timeline[Reading]:
    timeline, watermark = Timeline[Reading](), 0
    for number, (readings, advance) in enumerate(steps):
        watermark += advance
        elements = [Reading("a", value, point(minute), point(number)) for value, minute in readings]
        timeline = timeline.at(point(number), *elements, watermark=point(watermark))
    return timeline


def expiring_pairs() -> SearchStrategy[Pair]:
    """Returns sessions that come apart while parts of them have expired."""
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 2), st.booleans())
    inputs = st.builds(Inputs.of_timelines, creeping_timelines(), st.just(Timeline[Reading]()))
    return st.builds(Pair, expiring_sessions(), inputs, clusters, st.sampled_from(Mode))


def correction_pairs() -> SearchStrategy[Pair]:
    """Returns groupings over corrected panes, of dense readings."""
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 3), st.booleans())
    modes = st.sampled_from([Mode.MICRO_BATCH, Mode.CONTINUOUS])
    inputs = st.builds(Inputs.of_timelines, dense_timelines() | free_timelines(), dense_timelines())
    return st.builds(Pair, corrections() | crowded_sessions() | closing_windows(), inputs, clusters, modes)


def closing_windows() -> SearchStrategy[Values]:
    """Returns groupings whose triggers close windows, or that emit on-time panes without changes."""
    windows = st.one_of(durations(1, 3).map(Sessions), durations(1, 3).map(FixedWindows), window_fns())
    counts = st.integers(1, 3).map(AtCount)
    strategies = windowing_strategies(
        windows=windows,
        trigger=counts | st.just(AtWatermark()) | papers_triggers(),
        modes=st.just(Accumulation.DISCARDING),
    )
    between = st.lists(st.sampled_from([use_one_key, keep_positive]), max_size=1)
    grouping = st.sampled_from([sum_values, group_values, take_mean, take_max])
    later = st.tuples(between, st.none() | strategies, grouping)
    return st.builds(
        _build_pipeline, st.just([]), strategies, grouping, st.lists(later, max_size=1), st.none()
    )


def pairs() -> SearchStrategy[Pair]:
    """Returns pipelines with their inputs."""
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 3), st.booleans())
    modes = st.sampled_from([Mode.MICRO_BATCH, Mode.MICRO_BATCH, Mode.CONTINUOUS])
    inputs = st.builds(Inputs.of_timelines, free_timelines() | dense_timelines(), free_timelines())
    dense = st.builds(Inputs.of_timelines, dense_timelines(), free_timelines())
    return st.one_of(
        st.builds(Pair, pipelines(), replays().map(Inputs.of_replay), clusters, modes),
        st.builds(Pair, any_pipelines(), inputs, clusters, modes),
        st.builds(Pair, crowded_sessions(), dense, clusters, modes),
    )
