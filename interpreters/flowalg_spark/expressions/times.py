"""Conversion of times to and from numbers, independent of the session's time zone."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as T

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import DURATION_OVERFLOW, TOO_LONG, can_fail_itself
from flowalg.lifting.tree.intervals import DAYS, DURATIONS, INSTANTS, STORED, Interval, interval
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.errors import fail, fail_where
from flowalg_spark.expressions.integers import EXACT

ISO_8601: Final = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""The options of CSV, which formats a timestamp in a time zone other than the session's."""

_DAY: Final = 86_400 * 10**6
_OUT_OF_RANGE: Final = "OverflowError: date value out of range"
_SECONDS: Final = T.DayTimeIntervalType(3, 3)


def _in_range(node: Apply, number: Sql, bounds: Interval, value: Sql, message: str = _OUT_OF_RANGE) -> Sql:
    if not can_fail_itself(node):
        return value
    low, high = map(_literal, (bounds.low, bounds.high))
    return fail_where((number < low) | (number > high), node, message, value)


def _literal(bound: int) -> Sql:
    return sql.lit(bound) if bound in STORED else sql.lit(str(bound)).cast(EXACT)


def timestamp_from_micros(node: Apply, micros: Sql) -> Sql:
    """Compiles the timestamp from microseconds since the epoch."""
    return _in_range(node, micros, INSTANTS, sql.timestamp_micros(micros.cast("bigint")))


def date_from_days(node: Apply, days: Sql) -> Sql:
    """Compiles the date from days since the epoch."""
    return _in_range(node, days, DAYS, sql.date_from_unix_date(days.cast("int")))


def interval_from_micros(node: Apply, micros: Sql) -> Sql:
    """Compiles the interval from microseconds. Its parts round towards zero, so none of them overflows."""
    if not interval(node.args[0]).within(STORED):
        outside = (micros < STORED.low) | (micros > STORED.high)
        stored = sql.when(outside, fail(node.location, DURATION_OVERFLOW)).otherwise(
            micros.try_cast("bigint")
        )
        micros = _in_range(node, micros, DURATIONS, stored, TOO_LONG)
    seconds = (micros % sql.long(_DAY)).cast("decimal(18,0)") / 10**6
    days = micros.div(sql.long(_DAY)).cast("int")
    return sql.make_dt_interval(days, 0, 0, seconds.cast("decimal(18,6)"))


def micros_of_interval(_: Apply, of: Sql) -> Sql:
    """Compiles the microseconds of an interval."""
    seconds = of.cast(_SECONDS).cast("decimal(38,6)")
    return (seconds * 10**6).cast("bigint")
