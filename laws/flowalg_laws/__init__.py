"""Laws of the algebra as values, and strategies that generate what they speak of.

A law is a named function that returns its two sides; it knows no test framework. ``check_combiner`` runs the laws
of combiners over generated values: one call, for anybody's combiner. ``check_watermark_policy`` does so for policies.
"""

from flowalg_laws.check import check_combiner, check_watermark_policy
from flowalg_laws.combiners import COMBINER_LAWS, CombinerLaw
from flowalg_laws.equation import Equation
from flowalg_laws.strategies import (
    Reading,
    histories,
    put_into,
    readings,
    timelines,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)
from flowalg_laws.watermarks import WATERMARK_LAWS, History

__all__ = [
    "COMBINER_LAWS",
    "WATERMARK_LAWS",
    "CombinerLaw",
    "Equation",
    "History",
    "Reading",
    "check_combiner",
    "check_watermark_policy",
    "histories",
    "put_into",
    "readings",
    "timelines",
    "triggers",
    "watermark_policies",
    "window_fns",
    "windowing_strategies",
]
