"""Bad records: rows on which element-wise work fails, found by dividing a micro-batch until one row is left.

Element-wise work is deterministic and sees one element at a time, so the rows without the bad ones give what they would
have given beside them. Without a bad record nothing is divided.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import polars as pl
from attrs import define, field, frozen
from flowalg_columns.names import BAD_RECORD

from flowalg.data.errors import ElementError, UserFunctionError, ValueRangeError
from flowalg_polars.errors import raise_causes


@frozen
class BadRecord:
    """A record on which a step failed: the step, the error, and the record as JSON."""

    stage: str
    error: str
    record: str

    def drop_fields(self, now: datetime) -> dict[str, object]:
        """Returns the bad record as sinks store it among the drops."""
        return {
            "stage": self.stage,
            "reason": BAD_RECORD,
            "count": 1,
            "key": None,
            "value": self.record,
            "error": self.error,
            "processing_time": now,
            "watermark": None,
        }


@define
class BadRecords:
    """The bad records of a micro-batch."""

    found: list[BadRecord] = field(factory=list)

    def take(self) -> tuple[BadRecord, ...]:
        """Returns the bad records so far, and forgets them."""
        found, self.found = tuple(self.found), []
        return found


def keep_good(
    rows: pl.DataFrame,
    work: Callable[[pl.DataFrame], pl.DataFrame],
    bad: BadRecords,
    stage: str,
    shown: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Returns the result of element-wise work on the rows on which it succeeds; the others become bad records.

    ``stage`` names the step where the error does not. ``shown`` has the columns of a record to show.
    """
    try:
        with raise_causes():
            return work(rows)
    except (ElementError, UserFunctionError, ValueRangeError) as error:
        record = rows if shown is None else shown
        if rows.height == 1:
            bad.found.append(BadRecord(_step_of(str(error), stage), str(error), _as_json(record)))
            return work(rows.clear())
        half = rows.height // 2
        parts = [
            keep_good(rows[:half], work, bad, stage, record[:half]),
            keep_good(rows[half:], work, bad, stage, record[half:]),
        ]
        return pl.concat(parts)


def _step_of(error: str, otherwise: str) -> str:
    """Returns the label at the start of an error of a user-defined function: ``map(<lambda> at pipeline.py:7)``."""
    if error.startswith("source "):
        return otherwise
    label, found, _ = error.partition(" raised ")
    if not found:
        label, found, _ = error.partition("): ")
        label += ")" if found else ""
    return label if found else otherwise


def _as_json(row: pl.DataFrame) -> str:
    return row.write_ndjson().strip()


__all__ = ["BadRecord", "BadRecords", "keep_good"]
