"""The bad records of a micro-batch, and how sinks store them."""

from __future__ import annotations

from datetime import datetime

from attrs import define, field
from flowalg_columns.names import BAD_RECORD

from flowalg.runs.bad_records import BadRecord


@define
class BadRecords:
    """The bad records of a micro-batch."""

    records: list[BadRecord] = field(factory=list)

    def take(self) -> tuple[BadRecord, ...]:
        """Returns the bad records so far, sorted, and forgets them."""
        records, self.records = tuple(sorted(self.records)), []
        return records


def drop_fields(record: BadRecord, now: datetime) -> dict[str, object]:
    """Returns a bad record as sinks store it among the drops."""
    return {
        "stage": record.stage,
        "reason": BAD_RECORD,
        "count": 1,
        "key": None,
        "value": record.record,
        "error": record.error,
        "processing_time": now,
        "watermark": None,
    }
