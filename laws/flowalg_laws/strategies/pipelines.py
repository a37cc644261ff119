"""Whole pipelines of bounded size, and replays for them: element-wise steps, windows, a grouping, perhaps a second.

They are made of a few named parts, and shrink to ``readings``, keyed, in one window, summed. With ``capabilities`` only
what an interpreter supports is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtWatermark,
    Count,
    GlobalWindows,
    Max,
    Min,
    OnTimeBehavior,
    PCollection,
    Repeat,
    Sum,
    TimestampCombiner,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
    combiner,
    flatten,
)
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Area, Feature, features_of, features_of_strategy
from flowalg_laws.kit.interpreters import put_into
from flowalg_laws.kit.readings import VALUES, Reading
from flowalg_laws.strategies.elements import readings
from flowalg_laws.strategies.sources import policies, watermark_policies
from flowalg_laws.strategies.times import durations
from flowalg_laws.strategies.triggers import triggers
from flowalg_laws.strategies.windows import fixed_windows, phased_windows, sessions, sliding_windows

A = TypeVar("A")
Values: TypeAlias = PCollection[KV[str, int]]
Part: TypeAlias = Callable[[Values], Values]
Second: TypeAlias = tuple[list[Part], "WindowingStrategy | None", Part]

ALL = Capabilities("everything")


def doubled(values: Values) -> Values:
    """Other values."""
    return values.map_values(lambda value: 2 * value)


def positive(values: Values) -> Values:
    """Some of them."""
    return values.filter(lambda pair: pair.value > 0)


def under_one_key(values: Values) -> Values:
    """All under one key."""
    return values.map(lambda pair: KV("all", pair.value))


def twice_if_even(pair: KV[str, int]) -> list[KV[str, int]]:
    """Two, or none."""
    return [pair, KV(pair.key, pair.value + 1)] if pair.value % 2 == 0 else []


def even_ones_twice(values: Values) -> Values:
    """Any number for one."""
    return values.flat_map(twice_if_even)


def with_their_doubles(values: Values) -> Values:
    """A union."""
    return flatten(values, doubled(values))


STEPS: Sequence[Part] = (doubled, positive, under_one_key, even_ones_twice, with_their_doubles)
"""From collection to collection, element by element, and unions."""


def summed(values: Values) -> Values:
    """A group, which absorbs retractions."""
    return values.combine_per_key(Sum())


def counted(values: Values) -> Values:
    """Blind to the values."""
    return values.combine_per_key(Count())


def greatest(values: Values) -> Values:
    """No group: a retraction is combined anew."""
    return values.combine_per_key(Max())


def least(values: Values) -> Values:
    """No group either."""
    return values.combine_per_key(Min())


def total(values: list[int]) -> int:
    """Their sum."""
    return sum(values)


def listed(values: Values) -> Values:
    """A grouping that keeps everything."""
    return values.group_by_key().map_values(total)


def _between(known: frozenset[int]) -> int:
    return max(known) - min(known)


def spread(values: Values) -> Values:
    """A combiner of plain functions."""
    none: frozenset[int] = frozenset()
    return values.combine_per_key(
        combiner(
            zero=none,
            add=lambda known, value: known | {value},
            merge=lambda one, other: one | other,
            extract=_between,
            name="spread",
        )
    )


def beside_their_doubles(values: Values) -> Values:
    """A co-group, whose two lists tell apart what came from where."""
    both = values.co_group_by_key(doubled(values))
    return both.map_values(lambda lists: total(lists[0]) - len(lists[1]), result=int)


GROUPINGS: Sequence[Part] = (summed, counted, greatest, least, listed, spread, beside_their_doubles)
"""From collection to panes."""


def _supported(parts: Iterable[Part], able: Capabilities) -> list[Part]:
    """The parts of which nothing is missing; windows and the like are not theirs."""
    return [part for part in parts if not able.lacking(_own_features(part))]


def _own_features(part: Part) -> frozenset[Feature]:
    made = features_of(part(VALUES))
    return frozenset(one for one in made if one.area in (Area.TRANSFORMS, Area.COMBINERS))


def _windows(able: Capabilities) -> SearchStrategy[WindowFn]:
    kinds: list[tuple[Feature, SearchStrategy[WindowFn]]] = [
        (Feature.GLOBAL_WINDOWS, st.just(GlobalWindows())),
        (Feature.FIXED_WINDOWS, fixed_windows()),
        (Feature.SLIDING_WINDOWS, sliding_windows()),
        (Feature.SESSIONS, sessions()),
        (Feature.WINDOWS_BY_KEY, phased_windows()),
    ]
    return st.one_of(*(some for feature, some in kinds if feature not in able.missing))


def _triggers(able: Capabilities) -> SearchStrategy[Trigger]:
    if not any(one.area is Area.TRIGGERS for one in able.missing):
        return st.just(Repeat(AtWatermark())) | triggers()
    few: list[Trigger] = [Repeat(AtWatermark()), AtWatermark()]
    return st.sampled_from([one for one in few if _runs(WindowingStrategy(trigger=one), able)])


def _runs(strategy: WindowingStrategy, able: Capabilities) -> bool:
    return not able.lacking(features_of_strategy(strategy))


def _among(
    options: Iterable[A], strategy: Callable[[A], WindowingStrategy], able: Capabilities
) -> SearchStrategy[A]:
    """The options whose use in a strategy is supported."""
    return st.sampled_from([option for option in options if _runs(strategy(option), able)])


def _strategies(able: Capabilities) -> SearchStrategy[WindowingStrategy]:
    modes = (Accumulation.RETRACTING, Accumulation.ACCUMULATING, Accumulation.DISCARDING)
    return st.builds(
        WindowingStrategy,
        _windows(able),
        _triggers(able),
        _among(modes, lambda one: WindowingStrategy(accumulation=one), able),
        st.just(FOREVER) | durations(0),
        _among(TimestampCombiner, lambda one: WindowingStrategy(timestamp_combiner=one), able),
        _among(OnTimeBehavior, lambda one: WindowingStrategy(on_time_behavior=one), able),
    )


def _put(values: Values, strategy: WindowingStrategy | None) -> Values:
    return values if strategy is None else put_into(values, strategy)


def _through(values: Values, parts: Iterable[Part]) -> Values:
    for part in parts:
        values = part(values)
    return values


def pipelines(capabilities: Capabilities = ALL) -> SearchStrategy[Values]:
    """Pipelines over ``READINGS``: up to two steps, windows, a grouping; perhaps a step and another grouping.

    The second grouping has windows of its own, or those of the first.
    """
    steps, groupings = _supported(STEPS, capabilities), _supported(GROUPINGS, capabilities)
    windows = _strategies(capabilities)

    def made(
        first: list[Part],
        strategy: WindowingStrategy,
        grouping: Part,
        more: Second | None,
    ) -> Values:
        panes = grouping(_put(_through(VALUES, first), strategy))
        if more is None:
            return panes
        between, own, last = more
        return last(_put(_through(panes, between), own))

    few = st.lists(st.sampled_from(steps), max_size=2)
    second = st.tuples(few, st.none() | windows, st.sampled_from(groupings))
    again = st.none() if Feature.REGROUPING in capabilities.missing else st.none() | second
    return st.builds(made, few, windows, st.sampled_from(groupings), again)


def batches_of_readings() -> SearchStrategy[tuple[tuple[Reading, ...], ...]]:
    """Micro-batches, the first of which has a reading; others may be empty."""
    batch = st.lists(readings(), max_size=4).map(tuple)
    first = st.lists(readings(), min_size=1, max_size=4).map(tuple)
    return st.tuples(first, st.lists(batch, max_size=5)).map(lambda both: (both[0], *both[1]))


def replay_policies(capabilities: Capabilities = ALL) -> SearchStrategy[WatermarkPolicy]:
    """Watermark policies: any, or bounded disorder where others are missing."""
    few = any(one.area is Area.WATERMARKS for one in capabilities.missing)
    return policies() if few else policies() | watermark_policies()


__all__ = ["GROUPINGS", "STEPS", "batches_of_readings", "pipelines", "replay_policies"]
