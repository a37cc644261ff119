"""Messages about values, which the expressions of engines raise."""

from __future__ import annotations

from typing import Final

NO_SINGLETON: Final = (
    "as_singleton() has no value in a window that an element reads; give as_singleton(default=...)"
)
"""A side input without a value, and without a default."""


def several_values(count: object, key: object) -> str:
    """Returns the message for a side input whose key has several values in a window."""
    return f"as_map() has {count} values under {key} in a window; each key must have one value"


def nan_in(combiner: str, label: str) -> str:
    """Returns the message for a NaN that a combiner has no place for."""
    return f"{label}: the input of {combiner} must not be None or NaN; got nan"


def sum_overflows(label: str) -> str:
    """Returns the message for a sum of integers beyond 64 bits."""
    return f"{label}: a sum overflows 64 bits: integers must lie in [-2**63, 2**63)"
