"""Laws of the algebra as values, strategies that generate their inputs, and checks for user-defined parts.

A law is a named function that returns the two sides of an equation; it depends on no test framework. ``check_law``
tests a law on generated values. ``check_combiner``, ``check_computation``, ``check_window_fn``, ``check_trigger`` and
``check_watermark_policy`` test all laws of a user-defined part in one call. ``check_interpreter`` runs the conformance
suite for interpreters; ``flowalg_laws.conformance`` contains its jobs. ``find_difference`` searches for a timeline on
which two triggers differ, and draws it.
"""

from flowalg_laws.catalogue import CATALOGUE
from flowalg_laws.checks.check import (
    check_combiner,
    check_computation,
    check_law,
    check_trigger,
    check_watermark_policy,
    check_window_fn,
)
from flowalg_laws.checks.differences import Difference, NoDifference, find_difference
from flowalg_laws.conformance import check_interpreter
from flowalg_laws.kit.equation import Equality, Equation
from flowalg_laws.kit.history import History
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.scenarios import Scenario, observe
from flowalg_laws.laws.chains import CHAIN_LAWS
from flowalg_laws.laws.clocks import CLOCK_LAWS
from flowalg_laws.laws.combiners import COMBINER_LAWS
from flowalg_laws.laws.composition import TRANSFORM_LAWS
from flowalg_laws.laws.computations import COMPUTATION_LAWS
from flowalg_laws.laws.loops import LOOP_LAWS
from flowalg_laws.laws.panes import PANE_LAWS
from flowalg_laws.laws.serialization import SERIALIZATION_LAWS
from flowalg_laws.laws.transforms import COLLECTION_LAWS
from flowalg_laws.laws.triggers import COMPOSITION_LAWS, LATTICE_LAWS, TRIGGER_LAWS
from flowalg_laws.laws.watermarks import WATERMARK_LAWS
from flowalg_laws.laws.windows import SIZE_LAWS, WINDOW_LAWS
from flowalg_laws.strategies import (
    combiners,
    computations,
    free_timelines,
    histories,
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

__all__ = [
    "CATALOGUE",
    "CHAIN_LAWS",
    "CLOCK_LAWS",
    "COLLECTION_LAWS",
    "COMBINER_LAWS",
    "COMPOSITION_LAWS",
    "COMPUTATION_LAWS",
    "LATTICE_LAWS",
    "LOOP_LAWS",
    "PANE_LAWS",
    "READINGS",
    "SERIALIZATION_LAWS",
    "SIZE_LAWS",
    "TRANSFORM_LAWS",
    "TRIGGER_LAWS",
    "VALUES",
    "WATERMARK_LAWS",
    "WINDOW_LAWS",
    "Difference",
    "Equality",
    "Equation",
    "History",
    "Law",
    "NoDifference",
    "Reading",
    "Scenario",
    "apply_windowing",
    "check_combiner",
    "check_computation",
    "check_interpreter",
    "check_law",
    "check_trigger",
    "check_watermark_policy",
    "check_window_fn",
    "combiners",
    "computations",
    "find_difference",
    "free_timelines",
    "histories",
    "law",
    "observe",
    "once_triggers",
    "partitioned_timelines",
    "pipelines",
    "readings",
    "scenarios",
    "timelines",
    "triggers",
    "watermark_policies",
    "window_fns",
    "windowing_strategies",
]
