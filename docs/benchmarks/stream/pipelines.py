"""The timed pipelines."""

from __future__ import annotations

import operator
from datetime import datetime, timedelta
from typing import Final

from docs.benchmarks.stream.data import BEGIN, Reading
from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    CalendarDays,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    PCollection,
    Sessions,
    Source,
    Sum,
)
from flowalg.triggers import AtValue, CustomTrigger
from flowalg.triggers.syntax import OnceTrigger

MINUTE: Final = timedelta(minutes=1)
READINGS: Final = Source("readings", Reading, event_time=lambda reading: reading.at)
VALUES: Final = READINGS.key_by(lambda reading: reading.sensor).map_values(lambda reading: reading.value)
EACH: Final = AtCount(1)
AT_ALL_TIMES: Final = AtWatermark().with_early_firings(EACH).with_late_firings(EACH)

ON_TIME: Final = VALUES.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0)).combine_per_key(Sum())
DAY: Final = timedelta(days=1)
READINGS_BY_DAY: Final = Source(
    "readings", Reading, event_time=lambda reading: BEGIN + 1440 * (reading.at - BEGIN)
)
"""The same readings with a day for each minute."""


def _by_day(windows: CalendarDays | FixedWindows) -> PCollection[KV[int, int]]:
    keyed = READINGS_BY_DAY.key_by(lambda reading: reading.sensor).map_values(lambda reading: reading.value)
    return keyed.window(windows, allowed_lateness=timedelta(0)).combine_per_key(Sum())


CALENDAR_DAYS: Final = _by_day(CalendarDays("Asia/Kathmandu"))
FIXED_DAYS: Final = _by_day(FixedWindows(DAY, timedelta(hours=18, minutes=15)))
"""The same days: they have always started at 18:15 UTC since 1986."""

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
FIVE: Final = 5


def _early(trigger: OnceTrigger) -> PCollection[KV[int, int]]:
    """The sums, early whenever the trigger is ready."""
    windowed = VALUES.window(
        FixedWindows(MINUTE),
        trigger=AtWatermark().with_early_firings(trigger),
        accumulation=Accumulation.ACCUMULATING,
        allowed_lateness=timedelta(0),
    )
    return windowed.combine_per_key(Sum())


EARLY_AT_COUNT: Final = _early(AtCount(FIVE))
EARLY_AT_VALUE: Final = _early(AtValue(Count(), lambda count: count >= FIVE))
EARLY_AT_SUMMARY: Final = _early(
    CustomTrigger(
        zero=0, add=lambda count, value: count + 1, merge=operator.add, ready=lambda count: count >= FIVE
    )
)
OTHERS: Final = Source("others", Reading, event_time=lambda reading: reading.at)


def _in_one_window(readings: PCollection[Reading]) -> PCollection[KV[tuple[int, datetime], int]]:
    """The values of readings by sensor and time, in the global window, each pane at once and alone."""
    keyed = readings.key_by(lambda reading: (reading.sensor, reading.at))
    return keyed.map_values(lambda reading: reading.value).window(
        GlobalWindows(), trigger=EACH.repeat(), accumulation=Accumulation.DISCARDING
    )


JOINED: Final = _in_one_window(READINGS).inner_join(_in_one_window(OTHERS))
FILTERED: Final = VALUES.filter(lambda pair: pair.value % 2 == 0).map_values(lambda value: 2 * value)
TWO_STAGES: Final = ON_TIME.map(lambda pair: pair.value).combine_globally(Max())
