"""Whole pipelines of bounded size, and replays for them: element-wise steps, windows, one or two groupings.

They are built from a few named parts, and shrink to ``readings``, keyed, in one window, summed. With ``capabilities``
only pipelines that an interpreter supports are generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import reduce
from itertools import accumulate
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from returns.maybe import Maybe
from returns.result import Failure, Result, Success, safe

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Min,
    OrFinally,
    PCollection,
    Repeat,
    SequenceOf,
    Sessions,
    SlidingWindows,
    Sum,
    combiner,
    flatten,
)
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import AREA_OF, AnyFeature, Area, Feature, features_of, features_of_strategy
from flowalg.pipeline import Failed
from flowalg.triggers import OnceTrigger, Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import OnTimeBehavior, TimestampCombiner, WindowFn, WindowingStrategy
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.parities import Even, Number, Odd, number_of, pair_of
from flowalg_laws.kit.readings import VALUES, Reading
from flowalg_laws.strategies.computations import HOLDING, RUNNING_TOTAL, SILENCE, STEPS_OF_SEVERAL
from flowalg_laws.strategies.elements import keys, readings
from flowalg_laws.strategies.sources import policies, watermark_policies
from flowalg_laws.strategies.times import CROWDED, durations, minutes, point
from flowalg_laws.strategies.triggers import once_triggers, triggers
from flowalg_laws.strategies.windows import fixed_windows, fixed_windows_by_key, sessions, sliding_windows

A = TypeVar("A")
Values: TypeAlias = PCollection[KV[str, int]]
Part: TypeAlias = Callable[[Values], Values]
Second: TypeAlias = tuple[list[Part], "WindowingStrategy | None", Part]

ALL = Capabilities("everything")


# The functions have names, so that a generated pipeline can be kept in a file.


def twice(value: int) -> int:
    """Returns the double of a value."""
    return 2 * value


def double(values: Values) -> Values:
    """Doubles the values."""
    return values.map_values(twice)


def is_positive(pair: KV[str, int]) -> bool:
    """Returns whether the value is positive."""
    return pair.value > 0


def keep_positive(values: Values) -> Values:
    """Filters the values."""
    return values.filter(is_positive)


def with_one_key(pair: KV[str, int]) -> KV[str, int]:
    """Returns the value with a key that all have."""
    return KV("all", pair.value)


def use_one_key(values: Values) -> Values:
    """Assigns the same key to all elements."""
    return values.map(with_one_key)


def duplicate_if_even(pair: KV[str, int]) -> list[KV[str, int]]:
    """Returns two elements or none."""
    return [pair, KV(pair.key, pair.value + 1)] if pair.value % 2 == 0 else []


def duplicate_even(values: Values) -> Values:
    """Emits two elements or none for each."""
    return values.flat_map(duplicate_if_even)


def reverse_digits(value: int) -> int:
    """Returns the number with the digits in reverse order; Python computes it on all engines."""
    digits = str(abs(value))
    return int(digits[::-1])


def with_reversed_digits(pair: KV[str, int]) -> KV[str, int]:
    """Returns the pair with another value, of which Python computes only a part."""
    return KV(pair.key, reverse_digits(pair.value))


def reverse_values(values: Values) -> Values:
    """Computes the values in Python."""
    return values.map(with_reversed_digits)


def flatten_with_doubles(values: Values) -> Values:
    """Flattens the collection with its doubles."""
    return flatten(values, double(values))


def take_apart(values: Values) -> Values:
    """Returns a sum of two records, taken apart and united again."""
    odd, even = values.map(number_of).partition(Odd, Even)
    return flatten(even, odd).map(pair_of)


def record_or_number(value: int) -> Number | int:
    """Returns a value as one of three types."""
    return value if value % 3 == 0 else number_of(KV("", value))


def odd_or_rest(pair: KV[str, int]) -> Result[KV[str, int], KV[str, int]]:
    """Returns an odd value as a success, and the half of another one as a failure."""
    return Success(pair) if pair.value % 2 else Failure(KV(pair.key, pair.value // 2))


def lowered(result: Result[KV[str, int], KV[str, int]]) -> Result[KV[str, int], KV[str, int]]:
    """Returns a result with a lower value of a success; a failure of a small value becomes a success."""
    less = result.map(lambda pair: KV(pair.key, pair.value - 1))
    return less.lash(lambda pair: Success(pair) if pair.value < 2 else Failure(pair))


def split_results(values: Values) -> Values:
    """Returns both parts of results, after their methods."""
    return flatten(*values.map(odd_or_rest).map(lowered).split())


@safe
def reciprocal(pair: KV[str, int]) -> KV[str, int]:
    """Returns a quotient; there is none for two."""
    return KV(pair.key, 12 // (pair.value - 2))


def failed_element(failed: Failed[KV[str, int]]) -> KV[str, int]:
    """Returns the element on which a function has failed."""
    return failed.element


def try_each(values: Values) -> Values:
    """Returns what a function gives, and the elements on which it fails."""
    good, bad = values.try_map(reciprocal).split()
    return flatten(good, bad.map(failed_element))


def some_even(value: int) -> Maybe[int]:
    """Returns an even value."""
    return Maybe.from_optional(None if value % 2 else value)


def value_or_one(value: Maybe[int]) -> int:
    """Returns a value, or one."""
    return value.map(twice).value_or(1)


def pass_maybes(values: Values) -> Values:
    """Returns values that may be missing, with another one for those that are."""
    return values.map_values(some_even).map_values(value_or_one)


def process_several(values: Values) -> Values:
    """Returns a computation in order over values of several types, which it keeps."""
    return values.map_values(record_or_number).process(STEPS_OF_SEVERAL, in_order=True)


def process_in_order(values: Values) -> Values:
    """Returns a computation in order, with timers."""
    return values.process(SILENCE, in_order=True)


def process_with_state(values: Values) -> Values:
    """Returns a computation as elements arrive, which subtracts retractions."""
    return values.process(RUNNING_TOTAL)


def process_with_hold(values: Values) -> Values:
    """Returns a computation in order that holds the watermark."""
    return values.process(HOLDING, in_order=True)


STEPS: Sequence[Part] = (
    double,
    keep_positive,
    use_one_key,
    duplicate_even,
    reverse_values,
    flatten_with_doubles,
    take_apart,
    split_results,
    try_each,
    pass_maybes,
    process_several,
    process_in_order,
    process_with_state,
    process_with_hold,
)
"""Element-wise transforms, flattens, and computations."""


def sum_values(values: Values) -> Values:
    """Returns a group, which applies retractions directly."""
    return values.combine_per_key(Sum())


def count_values(values: Values) -> Values:
    """Returns a combiner that does not depend on the values."""
    return values.combine_per_key(Count())


def take_max(values: Values) -> Values:
    """Returns a combiner that is not a group: a retraction combines all values again."""
    return values.combine_per_key(Max())


def take_min(values: Values) -> Values:
    """Another combiner that is not a group."""
    return values.combine_per_key(Min())


def digest(values: list[int]) -> int:
    """Returns a number that depends on the values and their order."""
    return reduce(digest_with, values, len(values))


def digest_with(total: int, value: int) -> int:
    """Returns the digest of values with one more."""
    return (31 * total + value) % 9_973


def group_values(values: Values) -> Values:
    """Returns a grouping that keeps all values, in order."""
    return values.group_by_key().map_values(digest)


def with_either_key(pair: KV[str, int]) -> KV[Even | str, int]:
    """Returns the value with a key of one of two types."""
    return KV(Even(len(pair.key), pair.key) if pair.key <= "a" else pair.key, pair.value)


def with_plain_key(pair: KV[Even | str, int]) -> KV[str, int]:
    """Returns the value with the key as a text: the inverse of ``with_either_key``."""
    return KV(pair.key if isinstance(pair.key, str) else pair.key.key, pair.value)


def sum_by_either_key(values: Values) -> Values:
    """Returns a grouping by keys of two types."""
    return values.map(with_either_key).combine_per_key(Sum()).map(with_plain_key)


def doubles_of_positive(pair: KV[str, list[int]]) -> list[KV[str, int]]:
    """Returns an element for each positive value."""
    return [KV(pair.key, 2 * value) for value in pair.value if value > 0]


def double_items(values: Values) -> Values:
    """Returns a grouping whose lists become elements again."""
    return values.group_by_key().flat_map(doubles_of_positive)


NONE: frozenset[int] = frozenset()


def known_with(values: frozenset[int], value: int) -> frozenset[int]:
    """Returns the known values with one more."""
    return values | {value}


def known_to_both(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    """Returns the values of both."""
    return left | right


def spread_of(values: frozenset[int]) -> int:
    """Returns the difference of the largest and the smallest value."""
    return max(values) - min(values)


def take_spread(values: Values) -> Values:
    """Returns a combiner made from functions."""
    return values.combine_per_key(
        combiner(zero=NONE, add=known_with, merge=known_to_both, extract=spread_of, name="take_spread")
    )


def compare_lists(lists: tuple[list[int], list[int]]) -> int:
    """Returns a number that differs if the lists are exchanged, or the values of one of them."""
    return digest(lists[0]) - 2 * digest(lists[1])


def co_group_with_doubles(values: Values) -> Values:
    """Returns a co-group whose result distinguishes its inputs."""
    grouped = values.co_group_by_key(double(values))
    return grouped.map_values(compare_lists)


GROUPINGS: Sequence[Part] = (
    sum_values,
    count_values,
    take_max,
    take_min,
    group_values,
    sum_by_either_key,
    take_spread,
    co_group_with_doubles,
)
"""Transforms from a collection to panes, with one result for each key and window."""

WITH_ITEMS: Sequence[Part] = (*GROUPINGS, double_items)
"""The same, and one with several results."""


def _supported(parts: Iterable[Part], able: Capabilities) -> list[Part]:
    """Returns the parts whose transforms and combiners are supported."""
    return [part for part in parts if not able.lacking(_own_features(part))]


def _own_features(part: Part) -> frozenset[AnyFeature]:
    features = features_of(part(VALUES))
    return frozenset(feature for feature in features if AREA_OF[feature] in (Area.TRANSFORMS, Area.COMBINERS))


def _windows(able: Capabilities) -> SearchStrategy[WindowFn]:
    kinds: list[tuple[AnyFeature, SearchStrategy[WindowFn]]] = [
        (GlobalWindows, st.just(GlobalWindows())),
        (FixedWindows, fixed_windows()),
        (SlidingWindows, sliding_windows()),
        (Sessions, sessions()),
        (Feature.WINDOWS_BY_KEY, fixed_windows_by_key()),
    ]
    return st.one_of(*(windows for feature, windows in kinds if feature not in able.missing))


def _early_and_late(early: OnceTrigger, late: OnceTrigger) -> Trigger:
    return SequenceOf(OrFinally(Repeat(early), AtWatermark()), Repeat(late))


def _triggers(able: Capabilities) -> SearchStrategy[Trigger]:
    if not any(AREA_OF[feature] is Area.TRIGGERS for feature in able.missing):
        return st.one_of(
            st.just(Repeat(AtWatermark())),
            triggers(),
            st.builds(_early_and_late, once_triggers(), once_triggers()),
        )
    few: list[Trigger] = [Repeat(AtWatermark()), AtWatermark()]
    return st.sampled_from([trigger for trigger in few if _runs(WindowingStrategy(trigger=trigger), able)])


def _runs(strategy: WindowingStrategy, able: Capabilities) -> bool:
    return not able.lacking(features_of_strategy(strategy))


def _supported_options(
    options: Iterable[A], strategy: Callable[[A], WindowingStrategy], able: Capabilities
) -> SearchStrategy[A]:
    """Returns the options whose use in a strategy is supported."""
    return st.sampled_from([option for option in options if _runs(strategy(option), able)])


def _strategies(able: Capabilities) -> SearchStrategy[WindowingStrategy]:
    modes = (Accumulation.RETRACTING, Accumulation.ACCUMULATING, Accumulation.DISCARDING, None)
    return st.builds(
        WindowingStrategy,
        _windows(able),
        _triggers(able),
        _supported_options(modes, lambda mode: WindowingStrategy(accumulation=mode), able),
        st.just(FOREVER) | durations(0),
        _supported_options(
            TimestampCombiner, lambda choice: WindowingStrategy(timestamp_combiner=choice), able
        ),
        _supported_options(OnTimeBehavior, lambda choice: WindowingStrategy(on_time_behavior=choice), able),
    )


def _apply_windowing(values: Values, strategy: WindowingStrategy | None) -> Values:
    return values if strategy is None else apply_windowing(values, strategy)


def _apply_parts(values: Values, parts: Iterable[Part]) -> Values:
    for part in parts:
        values = part(values)
    return values


def pipelines(capabilities: Capabilities = ALL) -> SearchStrategy[Values]:
    """Pipelines over ``READINGS``: up to two steps, windows, a grouping, and possibly more steps and another grouping.

    The second grouping has windows of its own, or those of the first.
    """
    steps, groupings = _supported(STEPS, capabilities), _supported(WITH_ITEMS, capabilities)
    windows = _strategies(capabilities)

    def build(
        first: list[Part],
        strategy: WindowingStrategy,
        grouping: Part,
        more: Second | None,
    ) -> Values:
        panes = grouping(_apply_windowing(_apply_parts(VALUES, first), strategy))
        if more is None:
            return panes
        between, second_strategy, last = more
        return last(_apply_windowing(_apply_parts(panes, between), second_strategy))

    few = st.lists(st.sampled_from(steps), max_size=2)
    second = st.tuples(few, st.none() | windows, st.sampled_from(groupings))
    again = st.none() if Feature.REGROUPING in capabilities.missing else st.none() | second
    return st.builds(build, few, windows, st.sampled_from(groupings), again)


def batches_of_readings() -> SearchStrategy[tuple[tuple[Reading, ...], ...]]:
    """Micro-batches of readings. The first is not empty; others may be.

    In half of them the times are independent. In the others each micro-batch is a minute or two later than the one
    before, and the event times are close, so that windows have several panes.
    """
    batch = st.lists(readings(), max_size=4).map(tuple)
    first = st.lists(readings(), min_size=1, max_size=4).map(tuple)
    independent = st.tuples(first, st.lists(batch, max_size=5)).map(lambda both: (both[0], *both[1]))
    return independent | st.lists(_close_batches(), min_size=3, max_size=6).map(_in_turn)


def _close_batches() -> SearchStrategy[tuple[int, list[tuple[str, int, datetime]]]]:
    """Returns the minutes since the micro-batch before, and the keys, values and event times of its readings."""
    reading = st.tuples(keys(), st.integers(-5, 5), minutes(0, CROWDED))
    return st.tuples(st.integers(1, 2), st.lists(reading, min_size=1, max_size=4))


def _in_turn(
    batches: list[tuple[int, list[tuple[str, int, datetime]]]],
) -> tuple[tuple[Reading, ...], ...]:
    times = accumulate(minutes for minutes, _ in batches)
    return tuple(
        tuple(Reading(key, value, at, point(minute)) for key, value, at in batch)
        for minute, (_, batch) in zip(times, batches, strict=True)
    )


def replay_policies(capabilities: Capabilities = ALL) -> SearchStrategy[WatermarkPolicy]:
    """Watermark policies: all, or only bounded out-of-orderness if others are not supported."""
    few = any(AREA_OF[feature] is Area.WATERMARKS for feature in capabilities.missing)
    return policies() if few else policies() | watermark_policies()
