"""Pipelines with parts that engines of tables cannot run, and with parts that they can, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from typing import Final, TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import KV, Count, FixedWindows, GlobalWindows, PCollection, Quantile, Sum, flatten
from flowalg.computations import Computation, Transition
from flowalg.triggers import AtMeasure
from tests.support.scores import POINTS

Pairs: TypeAlias = PCollection[KV[str, int]]
K = TypeVar("K")
Part: TypeAlias = Callable[[Pairs], Pairs]


def retype(element: object) -> KV[str, int]:
    """Returns a pair of any element. Its annotation is the type that what follows needs to know."""
    return KV(str(element), 1)


def untyped(value):  # type: ignore[no-untyped-def]  # that engines do not know its type is the point
    """Returns a number by a function of unknown type."""
    return divmod(len(str(value)), 2)[0]


def halve(pair: KV[str, int]) -> KV[float, int]:
    """Returns a pair whose key is a float."""
    return KV(pair.value / 2, pair.value)


def minutes_of(number: int) -> timedelta:
    """Returns a size of windows, by which messages differ."""
    return timedelta(minutes=number)


def with_unknown_result(pairs: Pairs) -> Pairs:
    """A grouping of elements of an unknown type."""
    return pairs.map_values(untyped).combine_per_key(Count()).map(retype)


def with_float_keys(pairs: Pairs) -> Pairs:
    """A grouping, and one more after it, by keys that are floats: the second one is a consequence."""
    return pairs.map(halve).combine_per_key(Sum()).combine_per_key(Count()).map(retype)


def with_unknown_sum(pairs: Pairs) -> Pairs:
    """A combiner of values of an unknown type."""
    return pairs.combine_per_key(Sum.of(untyped)).map(retype)


def with_unknown_argument(pairs: Pairs) -> Pairs:
    """A combiner of values of an unknown type whose result has a known one."""
    return pairs.combine_per_key(Quantile.of(untyped, 0.5)).map(retype)


def echo(key: type[K], result: type[int] | None = None) -> Computation[K, int, int, int]:
    """Returns a computation whose outputs have an unknown type, unless it is given."""
    return Computation(
        initial=0, on_element=lambda n, seen, clocks: Transition(n, emit=[seen.value]), result=result
    )


def with_untyped_outputs(pairs: Pairs) -> Pairs:
    """A computation whose outputs have an unknown type."""
    return pairs.process(echo(str), in_order=True).map(retype)


def with_other_default(pairs: Pairs) -> Pairs:
    """A side input with a default of another type."""
    return pairs.with_side(POINTS.as_singleton(default="none")).map(retype)


def with_two_types(pairs: Pairs) -> Pairs:
    """A union of elements of two types that have no sum."""
    numbers: PCollection[object] = pairs.map(lambda pair: 1)
    floats: PCollection[object] = pairs.map(lambda pair: 0.5)
    return flatten(numbers, floats).map(retype)


def with_long_measure(pairs: Pairs) -> Pairs:
    """A trigger on a stream with an amount of more than 64 bits."""
    trigger = AtMeasure(lambda value: 1, 2**63)
    return pairs.window(GlobalWindows(), trigger=trigger).combine_per_key(Sum()).window(GlobalWindows())


def without_lateness(minutes: int) -> Part:
    """Two groupings of one window whose allowed lateness is unset."""

    def part(pairs: Pairs) -> Pairs:
        windowed = pairs.window(FixedWindows(minutes_of(minutes))).combine_per_key(Sum())
        return windowed.combine_per_key(Count()).window(GlobalWindows())

    return part


def filtered(pairs: Pairs) -> Pairs:
    """Steps that engines have."""
    return pairs.filter(lambda pair: pair.value > 0).map_values(lambda value: value + 1)


def summed(pairs: Pairs) -> Pairs:
    """A grouping that engines have."""
    return pairs.combine_per_key(Sum())


def untyped_in_between(pairs: Pairs) -> Pairs:
    """A step of an unknown type before one of a known type: engines run both in Python."""
    return pairs.map(untyped).map(retype)


IN_BATCHES: Final[Mapping[str, Part]] = {
    part.__name__: part
    for part in (
        with_unknown_result,
        with_float_keys,
        with_unknown_sum,
        with_untyped_outputs,
        with_other_default,
        with_two_types,
    )
}
"""Parts that neither batches nor streams can run."""

ONLY_IN_BATCHES: Final[Mapping[str, Part]] = {"with_unknown_argument": with_unknown_argument}
"""Parts that batches cannot run, and streams can."""

ONLY_IN_STREAMS: Final[Mapping[str, Part]] = {
    "with_long_measure": with_long_measure,
    **{f"without_lateness({minutes})": without_lateness(minutes) for minutes in (1, 2, 5)},
}
"""Parts that streams cannot run, and batches can."""

SUPPORTED: Final[Mapping[str, Part]] = {
    part.__name__: part for part in (filtered, summed, untyped_in_between)
}
"""Parts that all engines run."""

PARTS: Final[Mapping[str, Part]] = {**IN_BATCHES, **ONLY_IN_BATCHES, **ONLY_IN_STREAMS, **SUPPORTED}
"""All parts, by their names."""


def pipeline_of(names: Sequence[str]) -> Pairs:
    """Returns a pipeline of some parts, one after the other."""
    return reduce(lambda pairs, name: PARTS[name](pairs), names, POINTS)


def names_of_parts() -> SearchStrategy[list[str]]:
    """Returns the names of parts of a pipeline, in order."""
    return st.lists(st.sampled_from(sorted(PARTS)), max_size=6)
