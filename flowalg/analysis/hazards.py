"""Static warnings: what can go wrong in a valid pipeline when it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import Enum, unique
from typing import Final, TypeVar

from attrs import frozen

from flowalg.analysis.key_lifetime import frees_keys, observes_end
from flowalg.combiners.collections import ToList, ToSet
from flowalg.combiners.core import Into, Over, Sum, Together
from flowalg.computations.computation import Late
from flowalg.computations.library import EmitEvery, EmitFirst, built_in
from flowalg.data.durations import length_in_words
from flowalg.data.errors import ArgumentError
from flowalg.data.views import HasView
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.accumulation import drops_panes, resolve_accumulation
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.joins import is_of_join
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    GroupingNode,
    Node,
    Process,
    WithSide,
    join_of,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.side_inputs import AsMap, LatestComplete
from flowalg.pipeline.source import Source
from flowalg.pipeline.structure import (
    groupings_that_assign_times,
    last_groupings,
    lateness_of_readers,
    sources_of,
)
from flowalg.triggers.describe import describe
from flowalg.triggers.normal_form import never_finishes, normalise
from flowalg.triggers.syntax import (
    Always,
    And,
    AtCount,
    AtWatermark,
    Never,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
from flowalg.watermarks import ProcessingTimeLag, WatermarkPolicy
from flowalg.windows.strategy import Accumulation, TimestampCombiner, emits_one_pane
from flowalg.windows.window_functions import GlobalWindows, SlidingWindows, WindowFn, as_merging

# As a type variable, because a mapping is invariant in its keys.
AnySource = TypeVar("AnySource", bound=Source[object])


@unique
class Danger(Enum):
    """The kinds of hazards."""

    UNBOUNDED_STATE = "state is kept indefinitely"
    DROPS = "elements can be dropped"
    NO_OUTPUT = "nothing is emitted while the input continues"
    RETRACTIONS = "panes can retract earlier panes"
    GAPS = "elements can be in no window"
    DOUBLE_COUNTING = "corrections can be counted twice"
    STALE_PANES = "the last pane of a window can remain when the window has gone"
    OVERLAPS = "windows that would have merged can overlap"
    LAST_WINDOW = "all panes fall into the last window of time"
    MANY_WINDOWS = "each element is in many windows"
    GROWING_PANES = "panes grow with the elements of their window"
    PYTHON = "a function runs in Python for each element"
    EARLY_TIMERS = "timers that are set when the input ends fire before their time"
    SILENCE = "nothing is emitted in silence unless there are instants without data"


_MANY_WINDOWS: Final = 100
"""The most windows of an element of which nothing is said."""


@frozen
class Hazard(HasView):
    """A danger, its location in the pipeline, its cause, and a remedy if it is not intended."""

    danger: Danger
    where: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.danger.value}, because {self.why}; {self.remedy}"


def hazards(
    pipeline: PCollection[object], watermarks: Mapping[AnySource, WatermarkPolicy] | None = None
) -> tuple[Hazard, ...]:
    """Returns the hazards of a pipeline, from its sources on.

    The analysis is complete for each kind: without a hazard of that kind, windows are freed after the watermark has
    passed them, no element is dropped before the input ends, every trigger can fire while the input continues, no pane
    is a retraction, every element is in a window (user-defined windows always contain the event time), a grouping of
    panes counts each value once (if the functions between DISCARDING panes and a sum of them are additive), or the last
    panes are the current values. Likewise merged windows of a key never overlap, no element is in more than
    100 windows, no pane is windowed again by the end of time, no value is emitted again by early panes of lists, and
    engines compute the functions of all steps as columns.

    With ``watermarks``, the policies of its sources, also those of the policies: a delay by the clock makes everything
    late that has waited for longer during an outage, and what follows the clock needs instants without data.

    What depends on the data shows at run time instead: in the log and the metrics, for example, a watermark that an
    element from the future has moved ahead of the clock.

    Example:

    >>> [hazard.danger.name for hazard in hazards(points.window(FixedWindows(MINUTE)).combine_per_key(Sum()))]
    ['UNBOUNDED_STATE']
    """
    if not isinstance(pipeline, PCollection):
        raise ArgumentError("pipeline", pipeline, "a PCollection")
    result = [*_hazards(resolve_accumulation(pipeline.node))]
    if watermarks is not None:
        source_nodes = sources_of(pipeline.node)
        for source, policy in watermarks.items():
            if not isinstance(source, Source) or source.node not in source_nodes:
                names = ", ".join(sorted(node.name for node in source_nodes))
                raise ArgumentError("a source of watermarks", source, f"a source of the pipeline: {names}")
            result += _of_policy(source.name, policy)
    return tuple(dict.fromkeys(result))


def _of_policy(source: str, policy: WatermarkPolicy) -> Iterator[Hazard]:
    if not isinstance(policy, WatermarkPolicy):
        raise ArgumentError(f"the watermark of source {source!r}", policy, "a watermark policy")
    where = f"source {source!r}"
    if isinstance(policy, ProcessingTimeLag):
        delay = length_in_words(policy.delay)
        yield Hazard(
            Danger.DROPS,
            where,
            f"its watermark is {delay} behind the clock, and records that have waited for longer, as after an outage, "
            "are late",
            "use LagQuantile, which learns the delay, or BoundedOutOfOrderness, or allow lateness for an outage",
        )
    if policy.follows_clock:
        yield Hazard(
            Danger.SILENCE,
            where,
            f"its watermark may advance by the clock alone: {policy}",
            "a query that follows its sources ticks by itself, but pass tick=... to Timeline.from_records and replay",
        )


def _hazards(root: Node) -> Iterator[Hazard]:
    for node in nodes_of(root):
        match node:
            case CombinePerKey(label=label) | CoGroupByKey(label=label):
                yield from _of_grouping(node)
                yield from _of_last_window(label, node.inputs, node.windowed_by.strategy.windows)
                yield from _of_join(node)
                for producer in last_groupings(*node.inputs):
                    yield from _of_regrouping(producer, node)
            case WithSide():
                yield from _of_side_input(node)
                yield from _of_last_window("a side input", node.inputs, node.side.windowing.strategy.windows)
            case Process():
                yield from _of_computation(node)
            case ElementWise(analyses=analyses):
                yield from filter(None, map(_of_step, analyses))
            case _:
                pass
    for last in last_groupings(root):
        if last.retracts:
            yield Hazard(
                Danger.RETRACTIONS,
                last.label,
                "it is RETRACTING",
                "write to a sink that can delete, or take final_values()",
            )
        yield from _of_stale_panes(root, last)


def _of_step(analysis: StepAnalysis) -> Hazard | None:
    opaque = analysis.opaque
    if opaque is None or is_of_join(analysis.step):
        return None
    why = f"{opaque.reason}, at {opaque.location}" if opaque.location else opaque.reason
    remedy = "write it so that engines compute it as columns, or accept that it is slower"
    return Hazard(Danger.PYTHON, analysis.step.label, why, remedy)


def _of_last_window(consumer: str, inputs: tuple[Node, ...], windows: WindowFn) -> Iterator[Hazard]:
    """Yields the hazard of panes of the global window that other windows contain, by the event time of the panes."""
    if isinstance(windows, GlobalWindows):
        return
    for producer in groupings_that_assign_times(*inputs):
        strategy = producer.windowed_by.strategy
        if not isinstance(strategy.windows, GlobalWindows) or (
            strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW
        ):
            continue
        if join_of(producer) is not None:
            continue  # each pair has an event time of its own
        why = f"{consumer} has {windows}, and the event time of the panes is the end of the global window"
        remedy = "put with_timestamps(...) after it, or set timestamp_combiner to TimestampCombiner.LATEST"
        yield Hazard(Danger.LAST_WINDOW, producer.label, why, remedy)


def _of_computation(node: Process) -> Iterator[Hazard]:
    if not frees_keys(node.computation):
        why = "none of its functions is seen to free a key, or to set a timer that could"
        remedy = "set a timer, and return Transition(None) from on_timer"
        yield Hazard(Danger.UNBOUNDED_STATE, node.label, why, remedy)
    if isinstance(node.computation.on_element, EmitEvery):
        why = "elements wait for others of their key, or for the end of the input"
        yield Hazard(Danger.UNBOUNDED_STATE, node.label, why, "use it for few keys")
    first = built_in(node.computation)
    on_timer = node.computation.on_timer
    if on_timer is not None and built_in(node.computation) is None and not observes_end(on_timer):
        why = "on_timer is not seen to read clocks.input_ended, which is true for these"
        yield Hazard(Danger.EARLY_TIMERS, node.label, why, "read it, if they mean something else then")
    if node.late is Late.DROP:
        why = "it does not observe elements behind the watermark"
        yield Hazard(Danger.DROPS, node.label, why, "let the watermark wait longer")
    elif isinstance(first, EmitFirst):
        why = f"it has forgotten the ids of elements that are {length_in_words(first.within)} behind the watermark"
        yield Hazard(Danger.DROPS, node.label, why, "keep ids longer, or let the watermark wait longer")
    for producer in last_groupings(*node.inputs):
        strategy = producer.windowed_by.strategy
        if strategy.mode is Accumulation.ACCUMULATING and not emits_one_pane(strategy):
            yield _counted_again(producer, node.label)


def _of_side_input(node: WithSide) -> Iterator[Hazard]:
    where, lateness = "a side input", lateness_of_readers(node)
    if lateness is None:
        if not isinstance(node.side.windowing.strategy.windows, GlobalWindows):
            why = "its complete windows are kept, because the elements that read them may be late without a bound"
            remedy = "put window(..., allowed_lateness=timedelta(...)) before it, or use a join, whose windows expire"
            yield Hazard(Danger.UNBOUNDED_STATE, where, why, remedy)
    elif node.input.windowing.fresh:
        yield _of_lateness(where, lateness.allowed)
    if node.view == LatestComplete(AsMap()):
        why = "the newest value of each key is kept"
        yield Hazard(Danger.UNBOUNDED_STATE, where, why, "use it for tables with few keys")
    why = "elements for a window of it that is already complete are not read"
    yield Hazard(Danger.DROPS, where, why, "let its watermark wait longer")


def _of_stale_panes(root: Node, last: GroupingNode) -> Iterator[Hazard]:
    strategy = last.windowed_by.strategy
    if strategy.mode is not Accumulation.ACCUMULATING or emits_one_pane(strategy):
        return
    remedy = "make it RETRACTING"
    if last.receives_retractions:
        why = "all its values can be retracted, and it is ACCUMULATING"
        yield Hazard(Danger.STALE_PANES, last.label, why, remedy)
    elif as_merging(strategy.windows) is not None:
        yield Hazard(Danger.STALE_PANES, last.label, "its windows merge, and it is ACCUMULATING", remedy)
    elif drops_panes(root):
        why = "it is ACCUMULATING, and a filter or flat_map after it can drop the pane that replaces another"
        yield Hazard(Danger.STALE_PANES, last.label, why, remedy)


def _of_regrouping(producer: GroupingNode, consumer: GroupingNode) -> Iterator[Hazard]:
    strategy = producer.windowed_by.strategy
    if strategy.mode is Accumulation.RETRACTING or emits_one_pane(strategy):
        return
    if join_of(producer) is not None and strategy.mode is Accumulation.DISCARDING:
        return  # each pair is emitted once
    if strategy.mode is Accumulation.ACCUMULATING:
        yield _counted_again(producer, consumer.label)
    elif isinstance(consumer, CoGroupByKey) or not _is_additive(consumer.combiner):
        why = f"it is DISCARDING, and {consumer.label} is not a sum of the values of its panes"
        yield Hazard(Danger.DOUBLE_COUNTING, producer.label, why, "leave accumulation unset, or use Sum()")


def _counted_again(producer: GroupingNode, consumer: str) -> Hazard:
    why = f"it is ACCUMULATING, and {consumer} receives each pane in addition to the one that it replaces"
    return Hazard(
        Danger.DOUBLE_COUNTING, producer.label, why, "leave accumulation unset, or make it RETRACTING"
    )


def _is_additive(combiner: object) -> bool:
    """Returns whether a value and the parts that add up to it have the same result."""
    match combiner:
        case Sum():
            return True
        case Over(combiner=inner):
            return _is_additive(inner)
        case Together(parts=parts):
            return all(map(_is_additive, parts))
        case _:
            return False


def _grows(combiner: object) -> bool:
    """Returns whether the results of a combiner have all values that it has combined."""
    match combiner:
        case ToList() | ToSet():
            return True
        case Over(combiner=inner) | Into(combiner=inner):
            return _grows(inner)
        case Together(parts=parts):
            return any(map(_grows, parts))
        case _:
            return False


def _of_join(node: GroupingNode) -> Iterator[Hazard]:
    kind, trigger = join_of(node), node.windowed_by.strategy.trigger
    if kind is not None and not kind.keeps_left and normalise(trigger) in (AtCount(1), Always()):
        why = "its trigger finishes at the first element of a window, which has no match yet"
        yield Hazard(Danger.NO_OUTPUT, node.label, why, "repeat the trigger")


def _of_grouping(node: CombinePerKey | CoGroupByKey) -> Iterator[Hazard]:
    label, strategy = node.label, node.windowed_by.strategy
    lateness, windows = strategy.allowed_lateness, strategy.windows
    if isinstance(windows, SlidingWindows):
        yield from _of_sliding_windows(label, windows)
    lists = isinstance(node, CoGroupByKey) or _grows(node.combiner)
    repeats = lists and strategy.mode is not Accumulation.DISCARDING
    joins = join_of(node) is not None
    unbounded = isinstance(windows, GlobalWindows)
    if unbounded:
        per_key = (
            "each key has one, which keeps all of its values" if repeats or joins else "each key has one"
        )
        unless = "" if joins else ", or make it DISCARDING" if repeats else ", unless the keys are few"
        why = f"the global window ends with the input, and {per_key}"
        yield Hazard(Danger.UNBOUNDED_STATE, label, why, f"put window(...) before it{unless}")
    elif isinstance(lateness, timedelta):
        yield _of_lateness(label, lateness)
    else:
        yield Hazard(
            Danger.UNBOUNDED_STATE,
            label,
            f"the allowed lateness of its windows is {'unset' if lateness is None else repr(lateness)}",
            "set allowed_lateness=timedelta(...)",
        )
    if isinstance(lateness, timedelta) and as_merging(windows) is not None:
        when = f"{length_in_words(lateness)} after" if lateness else "when"
        why = f"a window expires {when} the watermark has passed its end, and then merges with nothing"
        remedy = "allow more lateness, or let the watermark wait longer"
        yield Hazard(Danger.OVERLAPS, label, why, remedy)
    if repeats and not emits_one_pane(strategy) and can_fire(strategy.trigger, unbounded=True):
        why = "its panes have all values of the window, and it fires early"
        remedy = "make it DISCARDING, fire less often, or combine the values"
        yield Hazard(Danger.GROWING_PANES, label, why, remedy)
    if not never_finishes(strategy.trigger):
        yield Hazard(
            Danger.DROPS,
            label,
            f"a window is closed once its trigger has finished, which fires {describe(strategy.trigger)}",
            "repeat the trigger, or let it end with late firings",
        )
        if as_merging(windows) is not None:
            why = "a window is closed once its trigger has finished, and then merges with nothing"
            yield Hazard(Danger.OVERLAPS, label, why, "repeat the trigger")
    if not can_fire(strategy.trigger, unbounded=unbounded):
        yield Hazard(
            Danger.NO_OUTPUT,
            label,
            "its trigger cannot fire before the end of the input"
            if unbounded
            else "its trigger can never fire",
            "give it a trigger that fires, such as AtPeriod(timedelta(minutes=1)).repeat()",
        )


def _of_sliding_windows(label: str, windows: SlidingWindows) -> Iterator[Hazard]:
    every = f"windows of {length_in_words(windows.size)} start every {length_in_words(windows.period)}"
    if windows.period > windows.size:
        yield Hazard(Danger.GAPS, label, every, "choose a period of at most the size")
    count = -(-windows.size // windows.period)
    if count > _MANY_WINDOWS:
        why = f"{every}, so an element is in {count:,} of them, and each has its own state and panes"
        yield Hazard(Danger.MANY_WINDOWS, label, why, "choose a longer period")


def _of_lateness(where: str, lateness: timedelta) -> Hazard:
    late = f"late elements are accepted for {length_in_words(lateness)} only"
    why = late if lateness else "no late element is accepted"
    return Hazard(Danger.DROPS, where, why, "allow more lateness, or let the watermark wait longer")


def can_fire(trigger: Trigger, *, unbounded: bool) -> bool:
    """Returns whether a trigger can become ready; in an ``unbounded`` window the watermark never passes the end."""
    match trigger:
        case Never():
            return False
        case AtWatermark(percentile=percentile):
            return not unbounded or percentile is not None
        case And(triggers=parts):
            return all(can_fire(part, unbounded=unbounded) for part in parts)
        case Or(triggers=parts):
            return any(can_fire(part, unbounded=unbounded) for part in parts)
        case SequenceOf(triggers=parts):
            return can_fire(parts[0], unbounded=unbounded)
        case Repeat(trigger=inner):
            return can_fire(inner, unbounded=unbounded)
        case OrFinally(main=main, until_=until):
            return can_fire(main, unbounded=unbounded) or can_fire(until, unbounded=unbounded)
        case _:
            return True
