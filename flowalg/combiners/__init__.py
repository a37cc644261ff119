"""Combiners: commutative monoids that reduce the values of a window to a result."""

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import Aggregate, Combiner, Count, Group, Max, Mean, Min, Sum
from flowalg.combiners.distinct import ApproximateDistinct
from flowalg.combiners.functional import combiner, reduce_combiner
from flowalg.combiners.product import together
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.combiners.statistics import Variance

__all__ = [
    "Aggregate",
    "AllOf",
    "AnyOf",
    "ApproximateDistinct",
    "Combiner",
    "Count",
    "Group",
    "Max",
    "Mean",
    "Min",
    "Quantile",
    "Quantiles",
    "Sum",
    "ToList",
    "ToSet",
    "TopN",
    "Variance",
    "combiner",
    "reduce_combiner",
    "together",
]
