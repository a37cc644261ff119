"""Laws of collections: fusion and commutation, each as two pipelines that emit the same panes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Final, TypeAlias

from attrs import evolve
from flowalg_reference import Reference
from returns.maybe import Maybe, Nothing, Some
from returns.result import Failure, Result, Success

from flowalg import KV, Interpreter, Max, Pane, PCollection, Sum, Timeline, flatten
from flowalg.runs import Output
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import MICRO_BATCH, add_timer_instants, apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.parities import Even, Number, Odd, number_of, pair_of
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_laws.kit.structures import (
    SEMIGROUP,
    VARIADIC,
    Action,
    Model,
    Operation,
    action,
    is_commutative,
    laws_of,
)

Pair: TypeAlias = KV[str, int]
Endo: TypeAlias = Callable[[Pair], Pair]
Test: TypeAlias = Callable[[Pair], bool]
Spread: TypeAlias = Callable[[Pair], Iterable[Pair]]
Panes: TypeAlias = tuple[Pane[KV[str, int]], ...]


def _summed(
    engine: Interpreter,
    collection: PCollection[Pair],
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
) -> Panes:
    grouped = apply_windowing(collection, strategy).combine_per_key(Sum())
    return engine.run(grouped, {READINGS: timeline}).panes


def _sums(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Callable[[PCollection[Pair]], Panes]:
    return lambda collection: _summed(engine, collection, strategy, timeline)


def _map(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, g: Endo
) -> Action[PCollection[Pair], Endo, Panes]:
    def compose(first: Endo, second: Endo) -> Endo:
        return lambda pair: second(first(pair))

    return Action(
        PCollection.map, VALUES, f, g, compose, lambda pair: pair, _sums(engine, strategy, timeline)
    )


def _filter(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], p: Test, q: Test
) -> Action[PCollection[Pair], Test, Panes]:
    def both(first: Test, second: Test) -> Test:
        return lambda pair: first(pair) and second(pair)

    return Action(
        PCollection.filter, VALUES, p, q, both, lambda pair: True, _sums(engine, strategy, timeline)
    )


def _flat_map(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Spread, g: Spread
) -> Action[PCollection[Pair], Spread, Panes]:
    def compose(first: Spread, second: Spread) -> Spread:
        return lambda pair: [end for middle in first(pair) for end in second(middle)]

    return Action(
        PCollection.flat_map, VALUES, f, g, compose, lambda pair: [pair], _sums(engine, strategy, timeline)
    )


@law
def a_filter_moves_before_a_map(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, p: Test
) -> Equation[Panes]:
    """``map(f).filter(p) = filter(p after f).map(f)``.

    Source: found here; the free theorem of ``filter``.

    Relied on by: Spark, which pushes filters into the scan.
    """
    mapped_first = _summed(engine, VALUES.map(f).filter(p), strategy, timeline)
    return Equation(
        mapped_first, _summed(engine, VALUES.filter(lambda pair: p(f(pair))).map(f), strategy, timeline)
    )


@law
def flat_map_of_single_items_is_map(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo
) -> Equation[Panes]:
    """``flat_map(lambda x: [f(x)]) = map(f)``.

    Source: found here; the list monad's unit.
    """
    flat_mapped = _summed(engine, VALUES.flat_map(lambda pair: [f(pair)]), strategy, timeline)
    return Equation(flat_mapped, _summed(engine, VALUES.map(f), strategy, timeline))


def _union(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, g: Endo
) -> Model[PCollection[Pair], Panes]:
    values = VALUES, VALUES.map(f), VALUES.map(g)
    return Model(flatten, values, _sums(engine, strategy, timeline))


UNION: Final = Operation("flatten", "flatten", _union, "Dataflow Model, section 2.1; SEMANTICS 13")


@law
def map_distributes_over_flatten(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, g: Endo
) -> Equation[Panes]:
    """``flatten(a, b).map(f) = flatten(a.map(f), b.map(f))``.

    Source: FlumeJava (PLDI 2010), section 4 (sinking flattens).

    Relied on by: co-groups, which tag their inputs before they flatten them.
    """
    a, b = VALUES, VALUES.map(g)
    mapped_after = _summed(engine, flatten(a, b).map(f), strategy, timeline)
    return Equation(mapped_after, _summed(engine, flatten(a.map(f), b.map(f)), strategy, timeline))


@law
def collect_is_a_flat_map_of_one_item_at_most(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, p: Test
) -> Equation[Panes]:
    """``collect(lambda x: Some(f(x)) if p(x) else Nothing) = flat_map(lambda x: [f(x)] if p(x) else [])``.

    Source: found here; a ``Maybe`` is a list of one item at most.
    """

    def chosen(pair: Pair) -> Maybe[Pair]:
        return Some(f(pair)) if p(pair) else Nothing

    items = VALUES.flat_map(lambda pair: [f(pair)] if p(pair) else [])
    collected = _summed(engine, VALUES.collect(chosen), strategy, timeline)
    return Equation(collected, _summed(engine, items, strategy, timeline))


@law
def a_split_takes_results_apart(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, g: Endo, p: Test
) -> Equation[Panes]:
    """``c.map(h) = flatten(a.map(f), b.map(g))`` where ``a, b = c.split()``; ``h`` is ``f`` of a success or ``g``.

    Source: found here; a ``Result`` is the coproduct of its successes and its failures.

    Relied on by: ``try_map``, whose failures are a collection of their own.
    """
    outcomes = VALUES.map(lambda pair: Success(pair) if p(pair) else Failure(pair), result=Result[Pair, Pair])
    good, bad = outcomes.split()
    apart = flatten(good.map(f), bad.map(g))

    def of_either(outcome: Result[Pair, Pair]) -> Pair:
        return f(outcome.unwrap()) if isinstance(outcome, Success) else g(outcome.failure())

    together = _summed(engine, outcomes.map(of_either), strategy, timeline)
    return Equation(together, _summed(engine, apart, strategy, timeline))


@law
def only_takes_a_union_apart(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Panes]:
    """``flatten(a, b).only(A) = a`` if the elements of ``a`` are of type ``A`` and those of ``b`` are not.

    Source: SEMANTICS 14; a union of two types is their coproduct.

    Relied on by: ``partition``.
    """
    numbers = VALUES.map(number_of)
    odd = flatten(numbers.only(Odd), numbers.only(Even), VALUES).only(Odd).map(pair_of)
    alone = VALUES.filter(lambda pair: pair.value % 2 == 1)
    return Equation(_summed(engine, odd, strategy, timeline), _summed(engine, alone, strategy, timeline))


@law
def a_function_of_a_sum_is_one_of_each_member(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, g: Endo
) -> Equation[Panes]:
    """``c.map(h) = flatten(a.map(h), b.map(h))`` where ``a, b = c.partition(A, B)``, for each ``h`` on ``A | B``.

    Source: SEMANTICS 14; the universal property of the coproduct.

    Relied on by: functions with ``isinstance`` and ``match``, which are columns of each member.
    """
    numbers = VALUES.map(number_of)
    odd, even = numbers.partition(Odd, Even)

    def of_either(number: Number) -> Pair:
        return f(pair_of(number)) if isinstance(number, Odd) else g(pair_of(number))

    apart = flatten(odd.map(lambda n: f(pair_of(n))), even.map(lambda n: g(pair_of(n))))
    together = _summed(engine, numbers.map(of_either), strategy, timeline)
    return Equation(together, _summed(engine, apart, strategy, timeline))


@law
def keys_are_independent(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading], key: str
) -> Equation[list[Hashable]]:
    """The panes of one key are the panes of a run over the elements of that key alone, at the same instants.

    Where: timers fire in the second run at all times at which they fire in the first, because every window is
    evaluated then.

    Source: Dataflow Model, section 2.1; SEMANTICS 13.

    Relied on by: shards and Spark partitions, which hold different keys.
    """
    whole = engine.run(apply_windowing(VALUES, strategy).combine_per_key(Sum()), {READINGS: timeline})
    instants = add_timer_instants(timeline, whole)
    alone = _summed(engine, VALUES.filter(lambda pair: pair.key == key), strategy, instants)
    return Equation([pane for pane in whole.panes if pane.key == key], [*alone])


@law
def an_output_of_elements_is_what_a_grouping_receives(
    timeline: Timeline[Reading], f: Spread
) -> Equation[tuple[Counter[Pair], int]]:
    """The elements that ``c`` gives as an output are those that ``c.group_by_key()`` has in a batch.

    Source: found here; SEMANTICS 14.

    Relied on by: Spark streaming, which gives elements without a stage.
    """
    collection = VALUES.flat_map(f)
    alone = MICRO_BATCH.run(collection, {READINGS: timeline})
    everything = Timeline.batch(timeline.elements, time=START)
    lists = MICRO_BATCH.run(collection.group_by_key(), {READINGS: everything})
    grouped = Counter(KV(pane.key, value) for pane in lists.panes for value in pane.value)
    return Equation((Counter(element.element for element in alone.elements), 0), (grouped, len(alone.panes)))


@law
def outputs_of_one_run_are_those_of_single_runs(
    strategy: WindowingStrategy, timeline: Timeline[Reading], f: Endo, p: Test
) -> Equation[list[Output[Pair]]]:
    """``run({a: x, b: y})[a] = run(x)``, for panes and for elements.

    Where: the outputs read the same sources, timers do not add instants, and each accumulation is set (unset, it is one
    mode for all readers of a shared grouping).

    Source: found here; SEMANTICS 14.

    Relied on by: all interpreters, which compute what outputs share once.
    """
    shared = VALUES.map(f)
    set_mode = evolve(strategy, accumulation=strategy.mode)
    sums = apply_windowing(shared, set_mode).combine_per_key(Sum())
    most = sums.combine_per_key(Max())
    outputs = {"sums": sums, "most": most, "kept": shared.filter(p)}
    together = MICRO_BATCH.run(outputs, {READINGS: timeline})
    alone = [MICRO_BATCH.run(collection, {READINGS: timeline}) for collection in outputs.values()]
    return Equation(
        [together[collection] for collection in outputs.values()],
        [Output(run.panes, elements=run.elements) for run in alone],
    )


COLLECTION_LAWS: tuple[Law[..., object], ...] = (
    *action(
        "map",
        _map,
        Action("{}.map({})".format, "c", "f", "g", "{1} after {0}".format, "identity", str),
        source="FlumeJava (PLDI 2010), section 4; SEMANTICS 13",
        condition="``f`` returns values in normal form: 64-bit integers, datetimes in UTC",
        relied_on_by="all interpreters, which run a chain of steps as one",
    ),
    *action(
        "filter",
        _filter,
        Action("{}.filter({})".format, "c", "p", "q", "{} and {}".format, "always", str),
        source="FlumeJava (PLDI 2010), section 4; SEMANTICS 13",
        relied_on_by="Spark, which pushes filters into the scan",
    ),
    a_filter_moves_before_a_map,
    flat_map_of_single_items_is_map,
    *action(
        "flat_map",
        _flat_map,
        Action("{}.flat_map({})".format, "c", "f", "g", "all of {1} after {0}".format, "single", str),
        source="found here; the list monad",
    ),
    *laws_of(UNION, is_commutative, *SEMIGROUP, *VARIADIC),
    map_distributes_over_flatten,
    collect_is_a_flat_map_of_one_item_at_most,
    a_split_takes_results_apart,
    only_takes_a_union_apart,
    a_function_of_a_sum_is_one_of_each_member,
    keys_are_independent,
    an_output_of_elements_is_what_a_grouping_receives,
    outputs_of_one_run_are_those_of_single_runs,
)
"""All laws of collections."""
