"""Static warnings: what can go wrong in a valid pipeline when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import Enum, unique

from attrs import frozen

from flowalg.analysis.key_lifetime import frees_keys
from flowalg.combiners.core import Over, Sum, Together
from flowalg.computations.computation import Late
from flowalg.computations.library import EmitEvery
from flowalg.data.durations import length_in_words
from flowalg.data.errors import ArgumentError
from flowalg.data.views import HasView
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CoGroupByKey, CombinePerKey, GroupingNode, Node, Process, WithSide
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.side_inputs import AsMap, LatestComplete
from flowalg.pipeline.structure import last_groupings, lateness_of_readers
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
from flowalg.windows.strategy import Accumulation, WindowingStrategy, emits_one_pane
from flowalg.windows.window_functions import GlobalWindows, SlidingWindows, as_merging


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


@frozen
class Hazard(HasView):
    """A danger, its location in the pipeline, its cause, and a remedy if it is not intended."""

    danger: Danger
    where: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.danger.value}, because {self.why}; {self.remedy}"


def hazards(pipeline: PCollection[object]) -> tuple[Hazard, ...]:
    """Returns the hazards of a pipeline, from its sources on.

    The analysis is complete for each kind: without a hazard of that kind, windows are freed after the watermark has
    passed them, no element is dropped before the input ends, every trigger can fire while the input continues, no pane
    is a retraction, every element is in a window (user-defined windows always contain the event time), a grouping of
    panes counts each value once (if the functions between DISCARDING panes and a sum of them are additive), or the last
    panes are the current values.

    Example:

    >>> [hazard.danger.name for hazard in hazards(points.window(FixedWindows(MINUTE)).combine_per_key(Sum()))]
    ['UNBOUNDED_STATE']
    """
    if not isinstance(pipeline, PCollection):
        raise ArgumentError("pipeline", pipeline, "a PCollection")
    return tuple(dict.fromkeys(_hazards(resolve_accumulation(pipeline.node))))


def _hazards(root: Node) -> Iterator[Hazard]:
    for node in nodes_of(root):
        match node:
            case CombinePerKey(label=label) | CoGroupByKey(label=label):
                yield from _of_grouping(label, node.windowed_by.strategy)
                if isinstance(node, CoGroupByKey) and node.join is not None:
                    yield from _of_join(label, node.windowed_by.strategy)
                for producer in last_groupings(*node.inputs):
                    yield from _of_regrouping(producer, node)
            case WithSide():
                yield from _of_side_input(node)
            case Process():
                yield from _of_computation(node)
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
        yield from _of_stale_panes(last)


def _of_computation(node: Process) -> Iterator[Hazard]:
    if not frees_keys(node.computation):
        why = "none of its functions is seen to free a key, or to set a timer that could"
        remedy = "set a timer, and return Transition(None) from on_timer"
        yield Hazard(Danger.UNBOUNDED_STATE, node.label, why, remedy)
    if isinstance(node.computation.on_element, EmitEvery):
        why = "elements wait for others of their key, or for the end of the input"
        yield Hazard(Danger.UNBOUNDED_STATE, node.label, why, "use it for few keys")
    if node.late is Late.DROP:
        why = "it does not observe elements behind the watermark"
        yield Hazard(Danger.DROPS, node.label, why, "let the watermark wait longer")
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


def _of_stale_panes(last: GroupingNode) -> Iterator[Hazard]:
    strategy = last.windowed_by.strategy
    if strategy.mode is not Accumulation.ACCUMULATING or emits_one_pane(strategy):
        return
    remedy = "make it RETRACTING"
    if last.receives_retractions:
        why = "all its values can be retracted, and it is ACCUMULATING"
        yield Hazard(Danger.STALE_PANES, last.label, why, remedy)
    elif as_merging(strategy.windows) is not None:
        yield Hazard(Danger.STALE_PANES, last.label, "its windows merge, and it is ACCUMULATING", remedy)


def _of_regrouping(producer: GroupingNode, consumer: GroupingNode) -> Iterator[Hazard]:
    strategy = producer.windowed_by.strategy
    if strategy.mode is Accumulation.RETRACTING or emits_one_pane(strategy):
        return
    if isinstance(producer, CoGroupByKey) and producer.join and strategy.mode is Accumulation.DISCARDING:
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
    """Whether a value and the parts that add up to it have the same result."""
    match combiner:
        case Sum():
            return True
        case Over(combiner=inner):
            return _is_additive(inner)
        case Together(parts=parts):
            return all(map(_is_additive, parts))
        case _:
            return False


def _of_join(label: str, strategy: WindowingStrategy) -> Iterator[Hazard]:
    if normalise(strategy.trigger) in (AtCount(1), Always()):
        yield Hazard(
            Danger.NO_OUTPUT,
            label,
            "its trigger finishes at the first element of a window, which has no match yet",
            "repeat the trigger",
        )


def _of_grouping(label: str, strategy: WindowingStrategy) -> Iterator[Hazard]:
    lateness = strategy.allowed_lateness
    windows = strategy.windows
    if isinstance(windows, SlidingWindows) and windows.period > windows.size:
        yield Hazard(
            Danger.GAPS,
            label,
            f"windows of {length_in_words(windows.size)} start every {length_in_words(windows.period)}",
            "choose a period of at most the size",
        )
    unbounded = isinstance(strategy.windows, GlobalWindows)
    if unbounded:
        yield Hazard(
            Danger.UNBOUNDED_STATE,
            label,
            "the global window ends with the input, and each key has one",
            "put window(...) before it, unless the keys are few",
        )
    elif isinstance(lateness, timedelta):
        yield _of_lateness(label, lateness)
    else:
        yield Hazard(
            Danger.UNBOUNDED_STATE,
            label,
            f"the allowed lateness of its windows is {'unset' if lateness is None else repr(lateness)}",
            "set allowed_lateness=timedelta(...)",
        )
    if not never_finishes(strategy.trigger):
        yield Hazard(
            Danger.DROPS,
            label,
            f"a window is closed once its trigger has finished, which fires {describe(strategy.trigger)}",
            "repeat the trigger, or let it end with late firings",
        )
    if not can_fire(strategy.trigger, unbounded=unbounded):
        yield Hazard(
            Danger.NO_OUTPUT,
            label,
            "its trigger cannot fire before the end of the input"
            if unbounded
            else "its trigger can never fire",
            "give it a trigger that fires, such as AtPeriod(timedelta(minutes=1)).repeat()",
        )


def _of_lateness(where: str, lateness: timedelta) -> Hazard:
    late = f"late elements are accepted for {length_in_words(lateness)} only"
    why = late if lateness else "no late element is accepted"
    return Hazard(Danger.DROPS, where, why, "allow more lateness, or let the watermark wait longer")


def can_fire(trigger: Trigger, *, unbounded: bool) -> bool:
    """Whether a trigger can become ready; in an ``unbounded`` window the watermark never passes the end."""
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


__all__ = ["Danger", "Hazard", "can_fire", "hazards"]
