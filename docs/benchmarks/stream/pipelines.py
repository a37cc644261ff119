"""The timed pipelines."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from docs.benchmarks.stream.data import Reading
from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    FixedWindows,
    Max,
    Sessions,
    Source,
    Sum,
)

MINUTE: Final = timedelta(minutes=1)
READINGS: Final = Source("readings", Reading, event_time=lambda reading: reading.at)
VALUES: Final = READINGS.key_by(lambda reading: reading.sensor).map_values(lambda reading: reading.value)
EACH: Final = AtCount(1)
AT_ALL_TIMES: Final = AtWatermark().with_early_firings(EACH).with_late_firings(EACH)

ON_TIME: Final = VALUES.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0)).combine_per_key(Sum())
CORRECTED: Final = VALUES.window(
    FixedWindows(MINUTE),
    trigger=AT_ALL_TIMES,
    accumulation=Accumulation.RETRACTING,
    allowed_lateness=MINUTE,
).combine_per_key(Sum())
SESSIONS: Final = VALUES.window(
    Sessions(timedelta(seconds=30)),
    trigger=AT_ALL_TIMES,
    accumulation=Accumulation.RETRACTING,
    allowed_lateness=MINUTE,
).combine_per_key(Sum())
FILTERED: Final = VALUES.filter(lambda pair: pair.value % 2 == 0).map_values(lambda value: 2 * value)
TWO_STAGES: Final = ON_TIME.map(lambda pair: pair.value).combine_globally(Max())

__all__ = [
    "AT_ALL_TIMES",
    "CORRECTED",
    "FILTERED",
    "MINUTE",
    "ON_TIME",
    "READINGS",
    "SESSIONS",
    "TWO_STAGES",
    "VALUES",
]
