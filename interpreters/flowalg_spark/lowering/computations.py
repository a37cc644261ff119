"""What a computation needs of the types of its elements and outputs, in batches and streams."""

from __future__ import annotations

from flowalg_columns.layout import key_and_value, layout_of, leaf_columns

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import Process
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.pairs import require_exact_keys, require_pairs


def require_computation_shapes(node: Process, flow: Flow) -> tuple[RecordOf, tuple[str, ...]]:
    """Returns the shape of the outputs of a computation, and the columns of its key.

    Raises ``UnsupportedError`` for elements that are not pairs with exact keys, and for outputs of an unknown type.
    """
    require_exact_keys(require_pairs(flow, node.label), node.label)
    pair = node.shape
    if not isinstance(pair, RecordOf):
        raise UnsupportedError(
            f"{node.label}: the type of its outputs is unknown; pass Computation(..., result=...), or annotate the "
            "result of on_element, as Transition[int, str]"
        )
    return pair, leaf_columns(key_and_value(layout_of(pair))[0])


__all__ = ["require_computation_shapes"]
