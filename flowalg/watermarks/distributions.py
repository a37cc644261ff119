"""Quantiles of the gamma and the log-normal distribution with a given mean and variance."""

from __future__ import annotations

from enum import Enum, unique
from math import exp, fsum, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Final


@unique
class LagDistribution(Enum):
    """A family of distributions that can be fitted to lags: both are positive and skewed to the right."""

    GAMMA = "gamma"
    LOG_NORMAL = "log-normal"

    def quantile(self, mean: float, variance: float, q: float) -> float:
        """Returns the ``q`` quantile of the distribution of this family with a mean and a variance.

        Without variance it is the mean.
        """
        if mean <= 0 or variance <= 0:
            return max(mean, 0.0)
        if self is LagDistribution.GAMMA:
            return variance / mean * _standard_gamma_quantile(mean * mean / variance, q)
        ratio = log(variance) - 2 * log(mean)  # as a logarithm, since the square of a small mean is zero
        spread = max(ratio, 0.0) + log1p(exp(-abs(ratio)))  # log(1 + variance / mean**2)
        return mean * exp(sqrt(spread) * NormalDist().inv_cdf(q) - spread / 2)


_LARGE_SHAPE: Final = 1000.0
"""From this shape on, the cube root of a gamma variable is normal, to more digits than a fit has (Wilson, Hilferty)."""


def _standard_gamma_quantile(shape: float, q: float) -> float:
    if shape >= _LARGE_SHAPE:
        root = 1 - 1 / (9 * shape) + NormalDist().inv_cdf(q) / (3 * sqrt(shape))
        return float(shape * root**3)
    least, most = 0.0, shape + 1
    while _gamma_share_below(shape, most) < q:
        least, most = most, 2 * most
    for _ in range(100):
        middle = (least + most) / 2
        if not least < middle < most:
            break
        if _gamma_share_below(shape, middle) < q:
            least = middle
        else:
            most = middle
    return most


def _gamma_share_below(shape: float, point: float) -> float:
    """Returns the regularized lower incomplete gamma function: a series of positive terms, summed until they do not
    matter.
    """
    terms = [1.0]
    n = 0
    while terms[-1] > 1e-17 * terms[0] or point > shape + n:
        n += 1
        terms.append(terms[-1] * point / (shape + n))
    largest = max(terms)
    scale = shape * log(point) - point - lgamma(shape + 1) + log(largest)
    return min(1.0, exp(scale) * fsum(term / largest for term in terms))
