"""Laws of the algebra as values, and strategies that generate what they speak of.

A law is a named function that returns its two sides; it knows no test framework. ``check_combiner`` runs the laws
of combiners over generated values: one call, for anybody's combiner.
"""

from flowalg_laws.check import check_combiner
from flowalg_laws.combiners import COMBINER_LAWS, CombinerLaw
from flowalg_laws.equation import Equation
from flowalg_laws.strategies import (
    Reading,
    put_into,
    readings,
    timelines,
    triggers,
    window_fns,
    windowing_strategies,
)

__all__ = [
    "COMBINER_LAWS",
    "CombinerLaw",
    "Equation",
    "Reading",
    "check_combiner",
    "put_into",
    "readings",
    "timelines",
    "triggers",
    "window_fns",
    "windowing_strategies",
]
