"""Laws and strategies: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import assert_type

from flowalg_laws import (
    CATALOGUE,
    CHAIN_LAWS,
    CLOCK_LAWS,
    COLLECTION_LAWS,
    COMBINER_LAWS,
    COMPOSITION_LAWS,
    COMPUTATION_LAWS,
    LATTICE_LAWS,
    LOOP_LAWS,
    PANE_LAWS,
    READINGS,
    SERIALIZATION_LAWS,
    SIZE_LAWS,
    TRANSFORM_LAWS,
    TRIGGER_LAWS,
    VALUES,
    WATERMARK_LAWS,
    WINDOW_LAWS,
    Difference,
    Equality,
    Equation,
    History,
    Law,
    NoDifference,
    Reading,
    Scenario,
    apply_windowing,
    check_combiner,
    check_computation,
    check_interpreter,
    check_law,
    check_trigger,
    check_watermark_policy,
    check_window_fn,
    combiners,
    computations,
    find_difference,
    free_timelines,
    histories,
    law,
    observe,
    once_triggers,
    partitioned_timelines,
    pipelines,
    readings,
    scenarios,
    timelines,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)
from flowalg_laws.conformance import Report
from flowalg_laws.kit.scenarios import Observed
from flowalg_laws.laws.combiners import SomeCombiner
from flowalg_reference import Reference, ReferenceRun
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    Aggregate,
    AtValue,
    Computation,
    Interpreter,
    Mean,
    Mode,
    OnceTrigger,
    PCollection,
    Perfect,
    Processor,
    Source,
    Sum,
    Timeline,
    Transition,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
)


def doubling(n: int) -> Equation[int]:
    """``n + n = 2 * n``.

    Source: arithmetic
    """
    return Equation(n + n, 2 * n)


def laws(law_of_ints: Law[[int], int], equation: Equation[int]) -> None:
    """A law is a function that returns two sides."""
    assert_type(Equation(1, 2), Equation[int])
    assert_type(Equation(1, 2, equality=Equality.EXACT).equality, Equality)
    assert_type(equation.left, int)
    assert_type(equation.right, int)
    assert_type(equation.of_corrections, bool)
    assert_type(law(doubling)(3), Equation[int] | None)
    assert_type(law_of_ints(3), Equation[int] | None)
    assert_type(law_of_ints.sides(3), Equation[int] | None)
    assert_type(law_of_ints.sides, Callable[[int], Equation[int] | None])
    assert_type(law_of_ints.holds(3), bool)
    assert_type(law_of_ints.name, str)
    assert_type(law_of_ints.statement, str)
    assert_type(law_of_ints.condition, str)
    assert_type(law_of_ints.source, str)
    assert_type(law_of_ints.relied_on_by, str)


def catalogue(policy: WatermarkPolicy, history: History, some: SomeCombiner) -> None:
    """The catalogue of laws."""
    assert_type(CATALOGUE, Mapping[str, tuple[Law[..., object], ...]])
    assert_type(CHAIN_LAWS, tuple[Law[..., object], ...])
    assert_type(COMPUTATION_LAWS, tuple[Law[..., object], ...])
    assert_type(CLOCK_LAWS, tuple[Law[..., object], ...])
    assert_type(COLLECTION_LAWS, tuple[Law[..., object], ...])
    assert_type(PANE_LAWS, tuple[Law[..., object], ...])
    assert_type(SERIALIZATION_LAWS, tuple[Law[..., object], ...])
    assert_type(SIZE_LAWS, tuple[Law[..., object], ...])
    assert_type(TRANSFORM_LAWS, tuple[Law[..., object], ...])
    assert_type(WINDOW_LAWS, tuple[Law[..., object], ...])
    assert_type(COMPOSITION_LAWS, tuple[Law[..., Trigger], ...])
    assert_type(LOOP_LAWS, tuple[Law[..., object], ...])
    assert_type(LATTICE_LAWS, tuple[Law[..., Trigger], ...])
    assert_type(TRIGGER_LAWS, tuple[Law[..., Trigger], ...])
    assert_type(
        [watermark_law(policy, history) for watermark_law in WATERMARK_LAWS], list[Equation[object] | None]
    )
    assert_type(
        [combiner_law(some, 1, 2, 3, "a") for combiner_law in COMBINER_LAWS], list[Equation[object] | None]
    )


def checks(law_of_ints: Law[[int], int], of_triggers: Law[[Trigger], Trigger]) -> None:
    """Checks of laws and of user-defined parts."""
    check_law(law_of_ints)
    check_law(law_of_ints, n=st.integers(0, 3))
    check_law(of_triggers)
    check_law(of_triggers, t=triggers())
    check_combiner(Sum(), st.integers())
    check_combiner(Mean(), st.floats(), equal=lambda first, second: abs(first - second) < 1e-9)
    check_computation(
        Computation(initial=0, on_element=lambda total, seen, clocks: Transition(total + seen.value)),
        st.integers(),
    )
    check_trigger(AtValue(Sum(), lambda total: total > 3).repeat(), st.integers())
    check_watermark_policy(Perfect())
    check_watermark_policy(Perfect(), histories(most=3))
    check_window_fn(WindowingStrategy().windows, keys=st.text())
    check_window_fn(WindowingStrategy().windows, values=st.integers())


def differences(trigger: Trigger, found: Difference, none: NoDifference, scenario: Scenario) -> None:
    """The difference between two triggers."""
    assert_type(find_difference(trigger, trigger), Difference | NoDifference)
    assert_type(find_difference(trigger, trigger, timelines=3, among=scenarios()), Difference | NoDifference)
    assert_type(found.left, Trigger)
    assert_type(found.right, Trigger)
    assert_type(found.scenario, Scenario)
    assert_type(none.left, Trigger)
    assert_type(none.right, Trigger)
    assert_type(none.tried, int)
    assert_type(scenario.windowing, WindowingStrategy)
    assert_type(scenario.timeline, Timeline[Reading])
    assert_type(scenario.mode, Mode)
    assert_type(scenario.corrected_by, WindowingStrategy | None)
    assert_type(scenario.run_with(trigger), ReferenceRun[KV[str, int]])
    assert_type(observe(trigger, scenario), Observed)


def strategies(flights: PCollection[int], strategy: WindowingStrategy) -> None:
    """Strategies, and helpers for them."""
    assert_type(READINGS, Source[Reading])
    assert_type(VALUES, PCollection[KV[str, int]])
    assert_type(readings(keys="abc"), SearchStrategy[Reading])
    assert_type(combiners(), SearchStrategy[Aggregate[int, object]])
    assert_type(computations(), SearchStrategy[Processor[str, int, int]])
    assert_type(histories(), SearchStrategy[History])
    assert_type(timelines(READINGS), SearchStrategy[Timeline[Reading]])
    assert_type(free_timelines(ends=True), SearchStrategy[Timeline[Reading]])
    assert_type(partitioned_timelines(READINGS), SearchStrategy[Timeline[Reading]])
    assert_type(triggers(), SearchStrategy[Trigger])
    assert_type(once_triggers(), SearchStrategy[OnceTrigger])
    assert_type(watermark_policies(), SearchStrategy[WatermarkPolicy])
    assert_type(window_fns(), SearchStrategy[WindowFn])
    assert_type(windowing_strategies(), SearchStrategy[WindowingStrategy])
    assert_type(scenarios(), SearchStrategy[Scenario])
    assert_type(pipelines(), SearchStrategy[PCollection[KV[str, int]]])
    assert_type(apply_windowing(flights, strategy), PCollection[int])


def generated_records(reading: Reading) -> None:
    """A small record for generated inputs."""
    assert_type(reading.key, str)
    assert_type(reading.value, int)
    assert_type(reading.at, datetime)
    assert_type(reading.seen, datetime)


def conformance(engine: Interpreter) -> None:
    """The conformance suite for interpreters."""
    assert_type(check_interpreter(engine, generated=3), Report)
    assert_type(check_interpreter(Reference(), ordered=True, drops=False, at_once=2), Report)
