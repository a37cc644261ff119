"""The stage of a computation and the columns of its bad records, in batches and streams."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from flowalg_columns.checks.shapes import require_exact_pairs
from flowalg_columns.codec import Codec
from flowalg_columns.names import BAD_RECORD, DROPPED_VALUE, ERROR, STAGE
from flowalg_columns.values import AnyArray
from flowalg_shard.computations.stage import ComputationStage, output_shape
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON

from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import Process
from flowalg.runs.bad_records import BadRecord
from flowalg_spark.lowering.flow import Flow


def computation_stage(node: Process, flow: Flow, *, dead_letters: bool) -> tuple[ComputationStage, RecordOf]:
    """Returns the stage of a computation over the elements of a flow, and the shape of its outputs.

    Raises ``UnsupportedError`` for elements that are not pairs with exact keys, and for outputs of an unknown type.
    """
    element = require_exact_pairs(flow.shape, node.label)
    pair = output_shape(node)
    return ComputationStage.of(node, element, pair, Codec.of, dead_letters=dead_letters), pair


def bad_record_columns(records: Sequence[BadRecord]) -> dict[str, AnyArray]:
    """Returns the columns of bad records, except for their times: a row for each."""
    texts = {
        STAGE: [record.stage for record in records],
        DROP_REASON: [BAD_RECORD] * len(records),
        DROPPED_VALUE: [record.record for record in records],
        ERROR: [record.error for record in records],
    }
    columns = {name: pa.array(values, pa.string()) for name, values in texts.items()}
    return {**columns, DROP_COUNT: pa.array([1] * len(records), pa.int64())}
