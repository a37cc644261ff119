"""Generated pipelines and inputs on which the shard step is compared with the reference interpreter.

Some replay records with a watermark policy in band, as the conformance suite does. Others have timelines without a
policy, with signals and percentile watermarks, and windows that the suite does not generate: calendar days, and
user-defined windows, merging or not. The last are sessions of one key whose elements are close together and often late,
because few of the others open a complete session again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import reduce
from typing import cast

from attrs import frozen
from flowalg_laws.conformance import Replay, replays
from flowalg_laws.conformance.drawing import difference_of, full_line
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
from flowalg_laws.strategies.times import durations
from flowalg_reference import Reference
from flowalg_shard.local import Cluster, Local
from flowalg_shard.step.trigger_summary import SummaryColumns
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    CustomWindows,
    Drop,
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
    Trigger,
    Variance,
    Window,
    WindowFn,
    WindowingStrategy,
    flatten,
)
from flowalg.data.errors import FlowalgError
from flowalg.data.time import EventTime
from flowalg.pipeline.structure import sources_of
from flowalg.windows.window import clamp

MINUTE = 60_000_000


@frozen
class Played:
    """The inputs, as timelines for the reference and as the local engine takes them."""

    timelines: dict[Source[object], Timeline[object]]
    generates: bool
    text: str

    @classmethod
    def replayed(cls, replay: Replay) -> Played:
        """Records of which the engine derives the watermark itself."""
        return cls(replay.timelines, generates=True, text=describe_run(VALUES, replay))

    @classmethod
    def free(cls, timeline: Timeline[Reading], other: Timeline[Reading]) -> Played:
        """Timelines of both sources as they are."""
        timelines: dict[Source[object], Timeline[object]] = {READINGS: timeline, OTHERS: other}
        lines = [
            f"{source.name} {format_time(one.processing_time)}: {', '.join(map(str, one.elements)) or 'nothing'}, "
            f"watermark {format_time(one.watermark)}, "
            f"outrun {dict(one.percentile_watermarks)}, signals {sorted(one.signals)}"
            for source, played in timelines.items()
            for one in played
        ]
        return cls(timelines, generates=False, text="\n".join(lines))


@frozen
class Pair:
    """A pipeline with its inputs, the distribution of the run, and when the engine evaluates timers."""

    pipeline: PCollection[object]
    played: Played
    cluster: Cluster
    mode: Mode

    def difference(self) -> str:
        """The difference of the step from the reference: panes in order, drops, or an error; empty if there is none."""
        read = {one.name for one in sources_of(self.pipeline.node)}
        timelines = {source: one for source, one in self.played.timelines.items() if source.name in read}
        local = Local(self.cluster, mode=self.mode, generate_watermarks=self.played.generates)
        try:
            wanted = Reference(self.mode).run(self.pipeline, timelines)
        except FlowalgError as error:
            return self._raises(error, lambda: local.run(self.pipeline, timelines))
        found = local.run(self.pipeline, timelines)
        panes = difference_of(list(map(full_line, wanted.panes)), list(map(full_line, found.panes)))
        drops = difference_of(_drop_lines(wanted.dropped), _drop_lines(found.dropped))
        return "\n".join(one for one in (panes, drops) if one)

    @staticmethod
    def _raises(expected: FlowalgError, attempt: Callable[[], object]) -> str:
        """Empty if the attempt raises the same kind of error; a user-defined function may refuse its argument."""
        try:
            attempt()
        except FlowalgError as error:
            same = type(error) is type(expected)
            return "" if same else f"raised {error!r}, where {expected!r} is due"
        return f"ran, where {expected!r} is due"

    def __str__(self) -> str:
        nothing = Replay(())
        return (
            f"{describe_run(self.pipeline, nothing)}\n{self.played.text}\n{self.cluster}, {self.mode.value}"
        )


def _drop_lines(drops: Iterable[Drop]) -> list[str]:
    """How many elements were dropped where, when and why."""
    counts: Counter[str] = Counter()
    for drop in drops:
        counts[f"{format_time(drop.processing_time)}: {drop.key} {drop.window} {drop.reason}"] += drop.count
    return sorted(f"{line}: {count}" for line, count in counts.items())


def around(point: EventTime, key: object) -> tuple[Window, ...]:
    """The two minutes around an event time, and for one key the whole hour too."""
    start, hour = point - point % MINUTE, point - point % (60 * MINUTE)
    two = _window(start - MINUTE, start + MINUTE)
    return (two, _window(hour, hour + 60 * MINUTE)) if key == "a" else (two,)


def lasting(point: EventTime, key: object) -> tuple[Window, ...]:
    """Some minutes after an event time, and for one key a few before it."""
    before, after = (0, 3) if key == "a" else (2, 4)
    return (_window(point - before * MINUTE, point + after * MINUTE),)


def _window(start: int, end: int) -> Window:
    return Window(clamp(start), clamp(end))


def overlapping(windows: Sequence[Window]) -> list[list[Window]]:
    """Windows that overlap, but not those that only touch."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda one: (one.start, one.end)):
        if groups and window.start < max(one.end for one in groups[-1]):
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


def any_windows() -> SearchStrategy[WindowFn]:
    """Windows of every kind, user-defined ones included."""
    own: list[WindowFn] = [CustomWindows("around", around), CustomWindows("lasting", lasting, overlapping)]
    return st.one_of(window_fns(), window_fns(), window_fns(), st.sampled_from(own))


OTHERS = Source("others", Reading, event_time=event_time_of)
OTHER_VALUES: Values = OTHERS.key_by(key_of).map_values(value_of)
COUNTED = OTHERS.window(FixedWindows(timedelta(minutes=7)), allowed_lateness=timedelta(0)).combine_globally(
    Count()
)


def with_others(values: Values) -> Values:
    """The union with another source, if nothing has been grouped yet."""
    fresh = values.node.windowing == OTHER_VALUES.node.windowing
    return flatten(values, OTHER_VALUES) if fresh else values


def beside_a_count(values: Values) -> Values:
    """The collection with a side input from another source."""
    side = COUNTED.as_singleton(default=0)
    return values.map_with(side, lambda pair, count: KV(pair.key, pair.value + count))


def under_pairs(values: Values) -> Values:
    """Keys that have no column of their own."""
    return values.map(lambda pair: KV(cast("str", (pair.key, None)), pair.value))


def under_numbers(values: Values) -> Values:
    """Integer keys."""
    return values.map(lambda pair: KV(cast("str", pair.value % 3), pair.value))


def averaged(values: Values) -> Values:
    """A group that is not signed."""
    return values.combine_per_key(Mean()).map_values(lambda mean: round(60 * mean), result=int)


def varied(values: Values) -> Values:
    """A group over objects."""
    return values.combine_per_key(Variance()).map_values(round, result=int)


def several(values: Values) -> Values:
    """Several combiners side by side, one of them of what a function gives."""
    return values.combine_per_key(
        Sum.of(lambda value: value * 3),
        Count(),
        Max(),
        Mean(),
        into=lambda a, b, c, d: a - 100 * b + 10_000 * c + round(7 * d),
    )


def greatest_two(values: Values) -> Values:
    """A combiner over objects that is not a group."""
    return values.combine_per_key(TopN(2)).map_values(lambda top: 100 * sum(top) + len(top), result=int)


def different(values: Values) -> Values:
    """Distinct pairs of key and value, unless a trigger needs integers."""
    looking = SummaryColumns.of(values.node.windowing.strategy.trigger).data
    return count_values(values) if looking else values.distinct()


def digest(values: list[int]) -> int:
    """A number that depends on the order of values."""
    return reduce(lambda known, value: (31 * known + value) % 9_973, values, len(values))


def in_order(values: Values) -> Values:
    """A grouping that keeps all values in order."""
    return values.group_by_key().map_values(digest)


def joined_with_doubles(values: Values) -> Values:
    """A join."""
    return values.inner_join(double(values)).map_values(lambda both: 100 * both[0] + both[1], result=int)


MORE_STEPS: Sequence[Part] = (*STEPS, *STEPS, with_others, beside_a_count)
REKEYINGS: Sequence[Part] = (under_pairs, under_numbers)
MORE_GROUPINGS: Sequence[Part] = (
    *GROUPINGS,
    averaged,
    varied,
    several,
    greatest_two,
    in_order,
    different,
    joined_with_doubles,
)

EACH = WindowingStrategy(GlobalWindows(), Repeat(AtCount(1)), Accumulation.DISCARDING)

Second = tuple[list[Part], "WindowingStrategy | None", Part]


def any_pipelines() -> SearchStrategy[Values]:
    """Pipelines of one grouping, two or three, in any windows."""
    strategies = windowing_strategies(windows=any_windows())
    few = st.lists(st.sampled_from(MORE_STEPS), max_size=2)
    grouping = st.sampled_from(MORE_GROUPINGS)
    another = st.tuples(few, st.none() | strategies, grouping)
    rekeyed = st.none() | st.none() | st.sampled_from(REKEYINGS)
    return st.builds(_made, few, strategies, grouping, st.lists(another, max_size=2), rekeyed)


def _made(
    first: list[Part],
    strategy: WindowingStrategy,
    grouping: Part,
    others: Sequence[Second],
    rekeyed: Part | None,
) -> Values:
    """The pipeline of some parts. The last grouping may have other keys, since no step after it expects text."""
    values = VALUES
    stages: list[Second] = [(first, strategy, grouping), *others]
    for number, (between, own, group) in enumerate(stages, start=1):
        last = [] if rekeyed is None or number < len(stages) else [rekeyed]
        values = _apply_steps(values, [*between, *last])
        values = group(values if own is None else apply_windowing(values, own))
    return values


def _apply_steps(values: Values, parts: Sequence[Part]) -> Values:
    for part in parts:
        values = part(values)
    return values


def papers_triggers() -> SearchStrategy[Trigger]:
    """Early, on-time and late panes, as in the figures of the papers."""
    counts = st.integers(1, 3).map(AtCount)

    def made(early: AtCount | None, late: AtCount) -> Trigger:
        on_time = AtWatermark()
        first = on_time if early is None else on_time.with_early_firings(early)
        return first.with_late_firings(late)

    return st.builds(made, st.none() | counts, counts)


def crowded_sessions() -> SearchStrategy[Values]:
    """Sessions that merge and that late elements reopen, under triggers that depend on it."""
    strategies = windowing_strategies(windows=durations(1, 3).map(Sessions), trigger=papers_triggers())
    return st.builds(_made, st.just([]), strategies, st.sampled_from(MORE_GROUPINGS), st.just([]), st.none())


def corrections() -> SearchStrategy[Values]:
    """A grouping that retracts early panes, with a second grouping over it.

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
        windows=st.one_of(durations(2, 9).map(FixedWindows), short.map(Sessions), window_fns()),
        trigger=st.one_of(counts, counts.map(Repeat), papers_triggers(), triggers()),
    )
    between = st.lists(st.sampled_from([keep_positive, use_one_key, double]), max_size=2)
    grouping = st.sampled_from([*MORE_GROUPINGS, averaged, in_order, group_values])
    beginning = st.sampled_from([sum_values, take_max, in_order])
    again = st.tuples(between, st.none() | second, grouping)
    last: SearchStrategy[Second] = st.just(([], EACH, count_values))
    return st.builds(
        _made, st.just([]), first, beginning, st.tuples(again) | st.tuples(again, last), st.none()
    )


def corrected() -> SearchStrategy[Pair]:
    """Groupings over corrected panes, of readings that are close together."""
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 3), st.booleans())
    modes = st.sampled_from([Mode.MICRO_BATCH, Mode.CONTINUOUS])
    played = st.builds(Played.free, dense_timelines() | free_timelines(), dense_timelines())
    return st.builds(Pair, corrections() | crowded_sessions() | empty_ones(), played, clusters, modes)


def empty_ones() -> SearchStrategy[Values]:
    """Windows that their trigger closes, or that emit on time without changes."""
    windows = st.one_of(durations(1, 3).map(Sessions), durations(1, 3).map(FixedWindows), window_fns())
    counts = st.integers(1, 3).map(AtCount)
    strategies = windowing_strategies(
        windows=windows,
        trigger=counts | st.just(AtWatermark()) | papers_triggers(),
        modes=st.just(Accumulation.DISCARDING),
    )
    between = st.lists(st.sampled_from([use_one_key, keep_positive]), max_size=1)
    grouping = st.sampled_from([sum_values, group_values, averaged, in_order, take_max])
    again = st.tuples(between, st.none() | strategies, grouping)
    return st.builds(_made, st.just([]), strategies, grouping, st.lists(again, max_size=1), st.none())


def pairs() -> SearchStrategy[Pair]:
    """Pipelines with their inputs."""
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 3), st.booleans())
    modes = st.sampled_from([Mode.MICRO_BATCH, Mode.MICRO_BATCH, Mode.CONTINUOUS])
    played = st.builds(Played.free, free_timelines() | dense_timelines(), free_timelines())
    crowd = st.builds(Played.free, dense_timelines(), free_timelines())
    return st.one_of(
        st.builds(Pair, pipelines(), replays().map(Played.replayed), clusters, modes),
        st.builds(Pair, any_pipelines(), played, clusters, modes),
        st.builds(Pair, crowded_sessions(), crowd, clusters, modes),
    )


__all__ = ["Pair", "corrected", "pairs"]
