"""The columns of the bad records of a computation, in batches and streams."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from flowalg_columns.names import BAD_RECORD, DROPPED_VALUE, ERROR, STAGE
from flowalg_columns.values import AnyArray
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON

from flowalg.runs.bad_records import BadRecord


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
