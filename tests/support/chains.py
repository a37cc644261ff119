"""Generated chains of two and three groupings, and what they come to in plain Python.

The theorem of SEMANTICS section 11 through any number of groupings: nothing is dropped and no window closes or expires,
so the panes that no retraction takes back are the result that plain loops compute from all records at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import chain
from typing import TypeAlias, TypeVar

from attrs import frozen
from flowalg_laws.conformance.generated import describe_run
from flowalg_laws.kit.drawing import format_value
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.replay import Replay
from flowalg_laws.kit.sketches import distinct_counts
from flowalg_laws.strategies import free_timelines, triggers
from flowalg_laws.strategies.pipelines import (
    Part,
    Values,
    count_values,
    double,
    keep_positive,
    sum_values,
    take_max,
    take_min,
    take_spread,
    use_one_key,
)
from flowalg_laws.strategies.times import durations
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Interpreter,
    Mode,
    Quantile,
    Repeat,
    Sessions,
    SlidingWindows,
    Timeline,
    Window,
    final_values,
)
from flowalg.combiners import AllOf, AnyOf, ApproximateDistinct, ToSet
from flowalg.data.time import event_time
from flowalg.runs import Change
from flowalg.triggers import AtValue, CustomTrigger, Trigger
from flowalg.triggers.syntax import leaves
from flowalg.windows import CustomWindows, MergedWindow, TimestampCombiner, WindowFn, WindowingStrategy
from tests.support.step_pairs import (
    combine_several,
    minutes_after,
    overlapping_groups,
    take_greatest_two,
    take_mean,
    take_variance,
)

A = TypeVar("A")

Span: TypeAlias = tuple[int, int]
Row: TypeAlias = tuple[str, int, int, Span]
"""A key, a value, its event time and its window."""

ALWAYS: Span = (-1, -1)
"""The window of records, which no loop looks at."""


@frozen
class Step:
    """An element-wise step, and what it makes of a row."""

    apply: Part
    plain: Callable[[Row], list[Row]]


@frozen
class Grouping:
    """A grouping, and what it makes of the values of a key and window."""

    apply: Part
    plain: Callable[[list[int]], int]


def _with_value(function: Callable[[int], int]) -> Callable[[Row], list[Row]]:
    return lambda row: [(row[0], function(row[1]), *row[2:])]


STEPS = (
    Step(double, _with_value(lambda value: 2 * value)),
    Step(keep_positive, lambda row: [row] if row[1] > 0 else []),
    Step(keep_positive, lambda row: [row] if row[1] > 0 else []),
    Step(use_one_key, lambda row: [("all", *row[1:])]),
)


def take_set(values: Values) -> Values:
    """Sums the distinct values."""
    return values.combine_per_key(ToSet()).map_values(sum, result=int)


def take_list(values: Values) -> Values:
    """Combines the list of values, in any order. The modulus keeps chains within 64 bits."""
    return values.group_by_key().map_values(
        lambda group: sum(value * value % 1_009 for value in group), result=int
    )


def ask_any(values: Values) -> Values:
    """Whether any value is greater than two."""
    return values.map_values(lambda value: value > 2).combine_per_key(AnyOf()).map_values(int, result=int)


def ask_all(values: Values) -> Values:
    """Whether all values are greater than two."""
    return values.map_values(lambda value: value > 2).combine_per_key(AllOf()).map_values(int, result=int)


def take_median(values: Values) -> Values:
    """A sketch that is a group."""
    return values.combine_per_key(Quantile(0.5)).map_values(round, result=int)


def count_distinct(values: Values) -> Values:
    """A sketch that is not a group; so few values are counted exactly."""
    return values.combine_per_key(ApproximateDistinct())


def _mean(values: list[int]) -> float:
    return float(sum(values)) / float(len(values))


def _variance(values: list[int]) -> int:
    mean = Fraction(sum(values), len(values))
    return round(float(sum((value - mean) ** 2 for value in values) / len(values)))


def _median(values: list[int]) -> int:
    median = Quantile(0.5)
    return round(median.extract(reduce(median.add, values, median.zero())))


GROUPINGS = (
    Grouping(sum_values, sum),
    Grouping(count_values, len),
    Grouping(take_max, max),
    Grouping(take_min, min),
    Grouping(take_mean, lambda values: round(60 * _mean(values))),
    Grouping(take_variance, _variance),
    Grouping(take_spread, lambda values: max(values) - min(values)),
    Grouping(take_greatest_two, lambda values: 100 * sum(sorted(values)[-2:]) + len(values[:2])),
    Grouping(take_list, lambda values: sum(value * value % 1_009 for value in values)),
    Grouping(take_set, lambda values: sum(set(values))),
    Grouping(ask_any, lambda values: int(any(value > 2 for value in values))),
    Grouping(ask_all, lambda values: int(all(value > 2 for value in values))),
    Grouping(take_median, _median),
    *(Grouping(count_distinct, lambda values: len(set(values))) for _ in distinct_counts()),
    Grouping(
        combine_several,
        lambda values: 3 * sum(values) - 100 * len(values) + 10_000 * max(values) + round(7 * _mean(values)),
    ),
)


def by_minutes(windows: Sequence[Window]) -> list[list[Window]]:
    """Returns groups of windows that begin in the same five minutes."""
    groups: dict[int, list[Window]] = defaultdict(list)
    for window in windows:
        groups[window.start // 300_000_000].append(window)
    return list(groups.values())


USERS = (
    CustomWindows("overlapping", minutes_after, overlapping_groups),
    CustomWindows(
        "by_minutes", lambda point, key: [Window(point, EventTime(point + 60_000_000))], by_minutes
    ),
)


def assign(windows: WindowFn, point: int, key: str) -> list[Span]:
    """Returns the windows of an event time, in plain Python."""
    match windows:
        case FixedWindows():
            return assign(SlidingWindows(windows.size, windows.size, windows.offset), point, key)
        case SlidingWindows():
            size, period, offset = (
                round(duration.total_seconds()) * 1_000_000
                for duration in (windows.size, windows.period, windows.offset)
            )
            first = (point - size - offset) // period * period + offset
            starts = range(first, point + 1, period)
            return [(start, start + size) for start in starts if start <= point < start + size]
        case Sessions():
            return [(point, point + round(windows.gap.total_seconds()) * 1_000_000)]
        case CustomWindows():
            return [(window.start, window.end) for window in windows.assign_with(EventTime(point), key)]
        case _:
            raise AssertionError(windows)


def merge(windows: WindowFn, spans: Iterable[Span]) -> dict[Span, Span]:
    """Returns the merged window of each window of a key, in plain Python."""
    ordered = sorted(set(spans))
    groups: list[list[Span]] = []
    match windows:
        case Sessions():
            for span in ordered:
                if groups and span[0] <= max(end for _, end in groups[-1]):
                    groups[-1].append(span)
                else:
                    groups.append([span])
        case CustomWindows(merge_with=merge_with) if merge_with is not None:
            made = merge_with(tuple(Window(EventTime(start), EventTime(end)) for start, end in ordered))
            groups = []
            for group in made:
                assert not isinstance(group, MergedWindow), "the window functions of chains return groups"
                groups.append([(window.start, window.end) for window in group])
        case _:
            groups = [[span] for span in ordered]
    return {
        span: (min(start for start, _ in group), max(end for _, end in group))
        for group in groups
        for span in group
    }


@frozen
class Stage:
    """Steps and a grouping. Without a strategy it groups by the windows of the stage before."""

    steps: tuple[Step, ...]
    strategy: WindowingStrategy | None
    grouping: Grouping

    def apply(self, values: Values) -> Values:
        """Returns the panes of the stage."""
        for step in self.steps:
            values = step.apply(values)
        return self.grouping.apply(
            values if self.strategy is None else apply_windowing(values, self.strategy)
        )

    def plain(self, rows: list[Row], times: TimestampCombiner) -> list[Row]:
        """Returns the rows of the stage, whose event times are those of ``times``."""
        for step in self.steps:
            rows = list(chain.from_iterable(map(step.plain, rows)))
        placed: dict[str, list[tuple[Span, Row]]] = defaultdict(list)
        for row in rows:
            key, _, point, window = row
            spans = [window] if self.strategy is None else assign(self.strategy.windows, point, key)
            placed[key] += [(span, row) for span in spans]
        groups: dict[tuple[str, Span], list[Row]] = defaultdict(list)
        for key, placements in placed.items():
            windows = GlobalWindows() if self.strategy is None else self.strategy.windows
            merged = merge(windows, [span for span, _ in placements])
            for span, row in placements:
                groups[key, merged[span]].append(row)
        return [
            (
                key,
                self.grouping.plain([row[1] for row in group]),
                _time(times, span, [row[2] for row in group]),
                span,
            )
            for (key, span), group in groups.items()
        ]


def _time(times: TimestampCombiner, span: Span, points: list[int]) -> int:
    match times:
        case TimestampCombiner.END_OF_WINDOW:
            return span[1] - 1
        case TimestampCombiner.EARLIEST:
            return min(points)
        case TimestampCombiner.LATEST:
            return max(points)


@frozen
class Chain:
    """A chain of groupings and its input, and the two interpreters that run it."""

    stages: tuple[Stage, ...]
    timeline: Timeline[Reading]
    cluster: Cluster
    mode: Mode

    @property
    def pipeline(self) -> Values:
        """The pipeline."""
        values = VALUES
        for stage in self.stages:
            values = stage.apply(values)
        return values

    def expected(self) -> Counter[Row]:
        """Returns the result in plain Python."""
        rows: list[Row] = [
            (reading.key, reading.value, event_time(reading.at), ALWAYS) for reading in self.timeline.elements
        ]
        times = TimestampCombiner.END_OF_WINDOW
        for stage in self.stages:
            times = times if stage.strategy is None else stage.strategy.timestamp_combiner
            rows = stage.plain(rows, times)
        return Counter(rows)

    def difference(self) -> str:
        """Returns how the current panes of the reference and of the step differ from the plain result."""
        engines: tuple[Interpreter, ...] = (
            Reference(self.mode),
            PolarsStreaming(self.cluster, mode=self.mode),
        )
        return "\n".join(filter(None, map(self.difference_in, engines)))

    def difference_in(self, engine: Interpreter) -> str:
        """Returns how the current panes of an engine differ from the plain result."""
        run = engine.run(self.pipeline, {READINGS: self.timeline})
        expected, emitted = self.expected(), Counter[Row]()
        for pane in run.panes:
            row = (pane.key, pane.value, int(pane.event_time), (int(pane.window.start), int(pane.window.end)))
            emitted[row] += 1 if pane.change is Change.VALUE else -1
        standing = Counter(
            (final.key, final.value, int(final.event_time), (int(final.window.start), int(final.window.end)))
            for final in final_values(run.panes)
        )
        differences = [
            f"{engine}: {name} {dict(counts)} instead of {dict(expected)}"
            for name, counts in (("panes", emitted), ("final values", standing))
            if {row: count for row, count in counts.items() if count} != expected
        ]
        return "\n".join([*differences, *(f"{engine}: dropped {drop}" for drop in run.dropped)])

    def __str__(self) -> str:
        pipeline = describe_run(self.pipeline, Replay(()))
        return f"{pipeline}\n{format_value(self.timeline)}\n{self.cluster}, {self.mode.value}"


def _strategies(*, first: bool) -> SearchStrategy[WindowingStrategy]:
    short = durations(1, 4)
    windows = st.one_of(
        short.map(FixedWindows),
        st.builds(SlidingWindows, durations(1, 4), durations(1, 3)),
        short.map(Sessions),
        short.map(Sessions),
        st.sampled_from(USERS),
    )
    at_once = st.integers(1, 2).map(lambda count: Repeat(AtCount(count)))
    papers = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))
    return st.builds(
        WindowingStrategy,
        short.map(FixedWindows) | windows if first else windows,
        st.one_of(at_once, st.just(papers), triggers().filter(_takes_any_value).map(Repeat)),
        st.just(Accumulation.RETRACTING),
        timestamp_combiner=st.sampled_from((TimestampCombiner.END_OF_WINDOW, *TimestampCombiner)),
    )


def chains() -> SearchStrategy[Chain]:
    """Returns chains of two and three groupings, over readings that end."""
    steps = st.lists(st.sampled_from(STEPS), max_size=2).map(tuple)
    grouping = st.sampled_from(GROUPINGS)
    first = st.builds(Stage, steps, _strategies(first=True), st.sampled_from(GROUPINGS[:4]) | grouping)
    later = st.builds(Stage, steps, st.none() | _strategies(first=False) | _strategies(first=False), grouping)
    stages = st.builds(lambda one, more: (one, *more), first, st.lists(later, min_size=1, max_size=2))
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 3), st.booleans())
    return st.builds(Chain, stages, free_timelines(ends=True), clusters, st.sampled_from(Mode))


def _takes_any_value(trigger: Trigger) -> bool:
    """Whether a trigger accepts values of every type, since those of a later grouping may not be numbers."""
    return not any(isinstance(leaf, AtValue | CustomTrigger) for leaf in leaves(trigger))
