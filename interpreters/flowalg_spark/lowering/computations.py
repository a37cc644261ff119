"""The stage of a computation, in batches and streams."""

from __future__ import annotations

from flowalg_columns.codec import Codec
from flowalg_shard.computations.stage import ComputationStage, output_shape

from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import Process
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.pairs import require_exact_keys, require_pairs


def computation_stage(node: Process, flow: Flow, *, dead_letters: bool) -> tuple[ComputationStage, RecordOf]:
    """Returns the stage of a computation over the elements of a flow, and the shape of its outputs.

    Raises ``UnsupportedError`` for elements that are not pairs with exact keys, and for outputs of an unknown type.
    """
    element = require_pairs(flow, node.label)
    require_exact_keys(element, node.label)
    pair = output_shape(node)
    return ComputationStage.of(node, element, pair, Codec.of, dead_letters=dead_letters), pair


__all__ = ["computation_stage"]
