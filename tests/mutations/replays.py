"""Faults of replays: of the order of recorded rows, of their division into instants, and of the clock."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

REPLAY_MUTANTS: Final = (
    Replacement(
        "rows of one period are in the order of the frame",
        "flowalg_polars:in_order",
        "_TIME if micro_batch is None else _KEY",
        "_KEY",
    ),
    Replacement(
        "an instant is at the least of its times",
        "flowalg_polars:in_order",
        "pl.col(_TIME).max()",
        "pl.col(_TIME).min()",
    ),
    Replacement(
        "an instant is at the time of its last source",
        "Division.instants",
        "max(times.get(key, time), time)",
        "time",
    ),
    Replacement(
        "the input does not end after the last row",
        "RecordedReader.has_ended",
        "self.instants[count - 1].ends",
        "False",
    ),
    Replacement(
        "an instant without rows does not advance the clock",
        "StreamSource._own_report",
        "self.stream.processing_time is not None and not self.recorded",
        "self.stream.processing_time is not None",
    ),
    Replacement(
        "the policy of an argument does not replace that of the input",
        "flowalg_polars:_stream_of",
        "given.watermark if watermark is None else watermark",
        "given.watermark",
    ),
)
