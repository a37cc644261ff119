"""Laws of the algebra as values, strategies that generate what they speak of, and checks for anybody's parts.

A law is a named function that returns its two sides; it knows no test framework. ``check_law`` tries one on generated
values. ``check_combiner``, ``check_window_fn``, ``check_trigger_law`` and ``check_watermark_policy`` try all that
concern a part of your own: one call each. ``check_interpreter`` is the conformance suite for interpreters, and
``flowalg_laws.conformance`` its jobs. ``find_difference`` looks for a timeline
on which two triggers differ, and draws it.
"""

from flowalg_laws.catalogue import CATALOGUE
from flowalg_laws.checks.check import (
    check_combiner,
    check_law,
    check_trigger_law,
    check_watermark_policy,
    check_window_fn,
)
from flowalg_laws.checks.differences import Difference, NoDifference, find_difference
from flowalg_laws.conformance import check_interpreter
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.history import History
from flowalg_laws.kit.interpreters import Interpreter, put_into
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.situations import Situation, observed
from flowalg_laws.laws.clocks import CLOCK_LAWS
from flowalg_laws.laws.combiners import COMBINER_LAWS
from flowalg_laws.laws.composition import TRANSFORM_LAWS
from flowalg_laws.laws.loops import LOOP_LAWS
from flowalg_laws.laws.panes import PANE_LAWS
from flowalg_laws.laws.serialization import SERIALISATION_LAWS
from flowalg_laws.laws.transforms import COLLECTION_LAWS
from flowalg_laws.laws.triggers import ALONE_LAWS, COMPOSITION_LAWS, LATTICE_LAWS, TRIGGER_LAWS
from flowalg_laws.laws.watermarks import WATERMARK_LAWS
from flowalg_laws.laws.windows import SIZE_LAWS, WINDOW_LAWS
from flowalg_laws.strategies import (
    combiners,
    free_timelines,
    histories,
    once_triggers,
    partitioned_timelines,
    pipelines,
    readings,
    situations,
    timelines,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)

__all__ = [
    "ALONE_LAWS",
    "CATALOGUE",
    "CLOCK_LAWS",
    "COLLECTION_LAWS",
    "COMBINER_LAWS",
    "COMPOSITION_LAWS",
    "LATTICE_LAWS",
    "LOOP_LAWS",
    "PANE_LAWS",
    "READINGS",
    "SERIALISATION_LAWS",
    "SIZE_LAWS",
    "TRANSFORM_LAWS",
    "TRIGGER_LAWS",
    "VALUES",
    "WATERMARK_LAWS",
    "WINDOW_LAWS",
    "Difference",
    "Equation",
    "History",
    "Interpreter",
    "Law",
    "NoDifference",
    "Reading",
    "Situation",
    "check_combiner",
    "check_interpreter",
    "check_law",
    "check_trigger_law",
    "check_watermark_policy",
    "check_window_fn",
    "combiners",
    "find_difference",
    "free_timelines",
    "histories",
    "law",
    "observed",
    "once_triggers",
    "partitioned_timelines",
    "pipelines",
    "put_into",
    "readings",
    "situations",
    "timelines",
    "triggers",
    "watermark_policies",
    "window_fns",
    "windowing_strategies",
]
