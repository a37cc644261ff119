"""The combiner whose library has no wheel for some versions of Python."""

from __future__ import annotations

from flowalg.combiners import ApproximateDistinct
from flowalg.errors import MissingExtraError


def distinct_counts() -> list[ApproximateDistinct]:
    """Returns ``ApproximateDistinct()`` in a list, which is empty if its library is not installed."""
    try:
        return [ApproximateDistinct()]
    except MissingExtraError:
        return []
