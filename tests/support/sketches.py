"""The combiner whose library has no wheel for some versions of Python."""

from __future__ import annotations

from typing import Final

from flowalg import ApproximateDistinct, MissingExtraError


def distinct_counts() -> list[ApproximateDistinct]:
    """Returns the combiner, or none if its library is not installed."""
    try:
        return [ApproximateDistinct()]
    except MissingExtraError:
        return []


WITHOUT_LIBRARY: Final[frozenset[type]] = frozenset(() if distinct_counts() else (ApproximateDistinct,))
"""The classes of which there are no values here."""

__all__ = ["WITHOUT_LIBRARY", "distinct_counts"]
