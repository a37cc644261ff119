"""Validation of the pairs that a grouping reads."""

from __future__ import annotations

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import RecordOf, contains_float
from flowalg_spark.lowering.flow import Flow


def require_pairs(flow: Flow, label: str) -> RecordOf:
    """Returns the shape of a flow of pairs; raises ``UnsupportedError`` for elements of another shape."""
    if isinstance(flow.shape, RecordOf) and len(flow.shape.fields) == 2:
        return flow.shape
    raise UnsupportedError(f"{label}: elements must be KV pairs; got elements of type {flow.shape}")


def require_exact_keys(pair: RecordOf, label: str) -> None:
    """Raises ``UnsupportedError`` for pairs whose keys contain floats."""
    key = pair.fields[0].shape
    if contains_float(key):
        raise UnsupportedError(
            f"{label}: keys must not contain floats, which cannot be compared exactly; got keys of type {key}"
        )
