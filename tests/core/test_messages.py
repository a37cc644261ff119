"""The whole message of every constructor and function that takes arguments.

The tests catch an incomplete message, and an argument that is not checked.
"""

from __future__ import annotations

import inspect
import re
from datetime import UTC, date, datetime, timedelta
from enum import EnumType
from typing import Final, NoReturn

import pytest

from flowalg import FlowalgError
from flowalg.data.errors import describe_function
from tests.support.public import PUBLIC
from tests.support.scores import NOON, POINTS, SCORES, Score, minute

MINUTE: Final = timedelta(minutes=1)
BY_POINTS: Final = SCORES.key_by(lambda s: s.points)
NAMES: Final = (UTC, NOON, POINTS, date, datetime, minute)
"""The names in the calls below, apart from those of flowalg."""


def fails(*arguments: object) -> NoReturn:
    """Raises an error."""
    raise ZeroDivisionError("no")


def three(*arguments: object) -> int:
    """Returns an invalid result."""
    return 3


def threes(*arguments: object) -> list[int]:
    """Returns an invalid result, in a list."""
    return [3]


def points(score: Score) -> int:
    """Returns an invalid event time."""
    return score.points


def before(*arguments: object) -> timedelta:
    """Returns a negative duration."""
    return -MINUTE


TRIGGERS: Final[list[tuple[str, str]]] = [
    (
        "AtWatermark('3')",
        "ArgumentError: AtWatermark.percentile must be a float between 0 and 1, or None; got '3' (str)",
    ),
    (
        "AtWatermark(1)",
        "ArgumentError: AtWatermark.percentile must be a float between 0 and 1, or None; got 1 (int)",
    ),
    (
        "AtWatermark(0.0)",
        "ArgumentError: AtWatermark.percentile must be a float between 0 and 1, or None; got 0.0 (float)",
    ),
    (
        "AtWatermark(1.0)",
        "ArgumentError: AtWatermark.percentile must be a float between 0 and 1, or None; got 1.0 (float)",
    ),
    (
        "AtWatermark(float('nan'))",
        "ArgumentError: AtWatermark.percentile must be a float between 0 and 1, or None; got nan (float)",
    ),
    (
        "AtWatermark(True)",
        "ArgumentError: AtWatermark.percentile must be a float between 0 and 1, or None; got True (bool)",
    ),
    ("AtCount(0)", "ArgumentError: AtCount.count must be a positive int; got 0 (int)"),
    ("AtCount(-1)", "ArgumentError: AtCount.count must be a positive int; got -1 (int)"),
    ("AtCount(True)", "ArgumentError: AtCount.count must be a positive int; got True (bool)"),
    ("AtCount(1.0)", "ArgumentError: AtCount.count must be a positive int; got 1.0 (float)"),
    (
        "AtMeasure(3, 1)",
        "ArgumentError: AtMeasure.measure must be a function from a value to a non-negative int; got 3 (int)",
    ),
    ("AtMeasure(len, 0)", "ArgumentError: AtMeasure.amount must be a positive int; got 0 (int)"),
    ("AtMeasure(len, '1')", "ArgumentError: AtMeasure.amount must be a positive int; got '1' (str)"),
    (
        "AtElement(None)",
        "ArgumentError: AtElement.predicate must be a function from a value to a bool; got None (NoneType)",
    ),
    (
        "AtPeriod(60)",
        "ArgumentError: AtPeriod.period must be a positive timedelta, such as "
        "timedelta(minutes=1); got 60 (int)",
    ),
    (
        "AtPeriod(timedelta(0))",
        "ArgumentError: AtPeriod.period must be a positive timedelta, such as "
        "timedelta(minutes=1); got datetime.timedelta(0) (timedelta)",
    ),
    (
        "AtPeriod(MINUTE, MINUTE)",
        "ArgumentError: AtPeriod.offset must be shorter than the period, 0:01:00; got "
        "datetime.timedelta(seconds=60) (timedelta)",
    ),
    (
        "AtPeriod(MINUTE, -MINUTE)",
        "ArgumentError: AtPeriod.offset must be a timedelta of zero or more; got "
        "datetime.timedelta(days=-1, seconds=86340) (timedelta)",
    ),
    (
        "AtPeriod(MINUTE, 3)",
        "ArgumentError: AtPeriod.offset must be a timedelta of zero or more; got 3 (int)",
    ),
    (
        "AfterDelay(-MINUTE)",
        "ArgumentError: AfterDelay.delay must be a timedelta of zero or more; got "
        "datetime.timedelta(days=-1, seconds=86340) (timedelta)",
    ),
    (
        "AfterInactivity(0 * MINUTE)",
        "ArgumentError: AfterInactivity.gap must be a positive timedelta, such as timedelta(minutes=1); "
        "got datetime.timedelta(0) (timedelta)",
    ),
    (
        "AtValue(3, bool)",
        "ArgumentError: AtValue.combiner must be a combiner, such as Sum(), Count() or "
        "Mean.of(lambda v: v.points); got 3 (int)",
    ),
    (
        "AtValue(ToList(), bool)",
        "ArgumentError: AtValue.combiner must be a combiner that does not depend on the order of values, which no "
        "instant has; got ToList() (ToList)",
    ),
    (
        "AtValue(Sum(), 3)",
        "ArgumentError: AtValue.predicate must be a function from the combined value to a bool; got 3 (int)",
    ),
    (
        "CustomTrigger(zero=[], add=max, merge=max, ready=bool)",
        "ArgumentError: CustomTrigger.zero must be immutable, such as a number, a tuple, a frozenset or a frozen "
        "record; got [] (list)",
    ),
    (
        "CustomTrigger(zero=0, add=max, merge=3, ready=bool)",
        "ArgumentError: CustomTrigger.merge must be a function; got 3 (int)",
    ),
    (
        "CustomTrigger(zero=0, add=max, merge=max, ready=bool, due=3)",
        "ArgumentError: CustomTrigger.due must be a function to a datetime or None, EVERY_INSTANT, or None; "
        "got 3 (int)",
    ),
    ("AfterDelay(3)", "ArgumentError: AfterDelay.delay must be a timedelta of zero or more; got 3 (int)"),
    ("AtSignal('')", "ArgumentError: AtSignal.name must be a non-empty str; got '' (str)"),
    ("AtSignal(3)", "ArgumentError: AtSignal.name must be a non-empty str; got 3 (int)"),
    ("And()", "ArgumentError: And.triggers must be one or more once-triggers; got () (tuple)"),
    ("Or()", "ArgumentError: Or.triggers must be one or more once-triggers; got () (tuple)"),
    (
        "And(Repeat(AtCount(1)))",
        "ArgumentError: And.triggers must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got Repeat(trigger=AtCount(count=1)) (Repeat)",
    ),
    (
        "And(AtCount)",
        "ArgumentError: And.triggers must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got the class AtCount",
    ),
    (
        "Or(AtCount(1), 3)",
        "ArgumentError: Or.triggers must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got 3 (int)",
    ),
    (
        "Or(AtCount(1), [])",
        "ArgumentError: Or.triggers must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got [] (list)",
    ),
    (
        "AtCount(1) & Repeat(AtCount(1))",
        "ArgumentError: And.triggers must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got Repeat(trigger=AtCount(count=1)) (Repeat)",
    ),
    (
        "AtCount(1) | 3",
        "ArgumentError: Or.triggers must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got 3 (int)",
    ),
    ("SequenceOf()", "ArgumentError: SequenceOf.triggers must be one or more triggers; got () (tuple)"),
    (
        "SequenceOf(3)",
        "ArgumentError: SequenceOf.triggers must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "SequenceOf(AtCount)",
        "ArgumentError: SequenceOf.triggers must be a trigger, such as Repeat(AtWatermark()); got"
        " the class AtCount",
    ),
    (
        "AtCount(1) >> 3",
        "ArgumentError: SequenceOf.triggers must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "Repeat(3)",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "Repeat(AtCount)",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got the "
        "class AtCount",
    ),
    (
        "Repeat([])",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got [] (list)",
    ),
    (
        "OrFinally(3, AtCount(1))",
        "ArgumentError: OrFinally.main must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "OrFinally(AtCount(1), Repeat(AtCount(1)))",
        "ArgumentError: OrFinally.until must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got Repeat(trigger=AtCount(count=1)) (Repeat)",
    ),
    (
        "RepeatUntil(3, AtCount(1))",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "RepeatUntil(AtCount(1), 3)",
        "ArgumentError: OrFinally.until must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got 3 (int)",
    ),
    (
        "AtCount(1).until(3)",
        "ArgumentError: OrFinally.until must be a once-trigger, such as AtWatermark(), AtCount(3), or an "
        "And/Or of once-triggers; got 3 (int)",
    ),
    (
        "AtWatermark().with_early_firings(3)",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "AtWatermark().with_late_firings(3)",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "AtWatermark().with_early_firings(AtCount(1)).with_late_firings(3)",
        "ArgumentError: Repeat.trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "normalise(3)",
        "ArgumentError: trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
    (
        "normalise(AtCount)",
        "ArgumentError: trigger must be a trigger, such as Repeat(AtWatermark()); got the class AtCount",
    ),
    (
        "describe(3)",
        "ArgumentError: trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
]

WINDOWS: Final[list[tuple[str, str]]] = [
    (
        "FixedWindows(60)",
        "ArgumentError: FixedWindows.size must be a positive timedelta, such as "
        "timedelta(minutes=1); got 60 (int)",
    ),
    (
        "FixedWindows(timedelta(0))",
        "ArgumentError: FixedWindows.size must be a positive timedelta, such as "
        "timedelta(minutes=1); got datetime.timedelta(0) (timedelta)",
    ),
    (
        "FixedWindows(MINUTE, -MINUTE)",
        "ArgumentError: FixedWindows.offset must be a timedelta of zero or more; got "
        "datetime.timedelta(days=-1, seconds=86340) (timedelta)",
    ),
    (
        "FixedWindows(MINUTE, MINUTE)",
        "ArgumentError: FixedWindows.offset must be shorter than the size, 0:01:00; got "
        "datetime.timedelta(seconds=60) (timedelta)",
    ),
    (
        "FixedWindows(MINUTE, 3)",
        "ArgumentError: FixedWindows.offset must be a timedelta of zero or more; got 3 (int)",
    ),
    (
        "FixedWindows(MINUTE, offset_by_key=3)",
        "ArgumentError: FixedWindows.offset_by_key must be a function from a key to a timedelta; got 3 (int)",
    ),
    (
        "FixedWindows(MINUTE, offset_by_key=three).assign(EventTime(0), 'k')",
        "ArgumentError: the offset of a key must be a timedelta of zero or more; got 3 (int)",
    ),
    (
        "FixedWindows(MINUTE, offset_by_key=before).assign(EventTime(0), 'k')",
        "ArgumentError: the offset of a key must be a timedelta of zero or more; got "
        "datetime.timedelta(days=-1, seconds=86340) (timedelta)",
    ),
    (
        "SlidingWindows(3, MINUTE)",
        "ArgumentError: SlidingWindows.size must be a positive timedelta, such as "
        "timedelta(minutes=1); got 3 (int)",
    ),
    (
        "SlidingWindows(MINUTE, timedelta(0))",
        "ArgumentError: SlidingWindows.period must be a positive timedelta, such as "
        "timedelta(minutes=1); got datetime.timedelta(0) (timedelta)",
    ),
    (
        "SlidingWindows(MINUTE, MINUTE, MINUTE)",
        "ArgumentError: SlidingWindows.offset must be shorter than the period, 0:01:00; got "
        "datetime.timedelta(seconds=60) (timedelta)",
    ),
    (
        "SlidingWindows(MINUTE, MINUTE, -MINUTE)",
        "ArgumentError: SlidingWindows.offset must be a timedelta of zero or more; got "
        "datetime.timedelta(days=-1, seconds=86340) (timedelta)",
    ),
    (
        "Sessions('1 min')",
        "ArgumentError: Sessions.gap must be a positive timedelta, such as timedelta(minutes=1); "
        "got '1 min' (str)",
    ),
    (
        "Sessions(timedelta(0))",
        "ArgumentError: Sessions.gap must be a positive timedelta, such as timedelta(minutes=1); "
        "got datetime.timedelta(0) (timedelta)",
    ),
    (
        "CalendarDays('Mars/Base')",
        "ArgumentError: CalendarDays.zone must be the name of a time zone, such as "
        "'Europe/Berlin'; got 'Mars/Base' (str)",
    ),
    (
        "CalendarDays(3)",
        "ArgumentError: CalendarDays.zone must be the name of a time zone, such as "
        "'Europe/Berlin'; got 3 (int)",
    ),
    (
        "CalendarMonths('')",
        "ArgumentError: CalendarMonths.zone must be the name of a time zone, such as "
        "'Europe/Berlin'; got '' (str)",
    ),
    (
        "CalendarMonths(None)",
        "ArgumentError: CalendarMonths.zone must be the name of a time zone, such as "
        "'Europe/Berlin'; got None (NoneType)",
    ),
    (
        "CalendarWeeks('../etc')",
        "ArgumentError: CalendarWeeks.zone must be the name of a time zone, such as "
        "'Europe/Berlin'; got '../etc' (str)",
    ),
    (
        "CalendarWeeks('UTC', 7)",
        "ArgumentError: CalendarWeeks.first_day must be an int from 0 (Monday) to 6 (Sunday); got 7 (int)",
    ),
    (
        "CalendarWeeks('UTC', True)",
        "ArgumentError: CalendarWeeks.first_day must be an int from 0 (Monday) to 6 (Sunday); got"
        " True (bool)",
    ),
    (
        "CalendarWeeks('UTC', 1.0)",
        "ArgumentError: CalendarWeeks.first_day must be an int from 0 (Monday) to 6 (Sunday); got"
        " 1.0 (float)",
    ),
    ("CustomWindows('', len)", "ArgumentError: CustomWindows.name must be a non-empty str; got '' (str)"),
    ("CustomWindows(3, len)", "ArgumentError: CustomWindows.name must be a non-empty str; got 3 (int)"),
    (
        "CustomWindows('mine', 3)",
        "ArgumentError: CustomWindows.assign_with must be a function from an event time and a key"
        " to windows; got 3 (int)",
    ),
    ("MergedWindow(3, [GLOBAL_WINDOW])", "ArgumentError: MergedWindow.window must be a Window; got 3 (int)"),
    (
        "MergedWindow(GLOBAL_WINDOW, [])",
        "ArgumentError: MergedWindow.parts must be one or more Windows; got () (tuple)",
    ),
    (
        "WindowsByValue('mine', 3)",
        "ArgumentError: WindowsByValue.assign_with must be a function from an event time, a key and a value to "
        "windows; got 3 (int)",
    ),
    (
        "WindowsByValue('auctions', lambda time, key, value: [value]).assign(EventTime(0), 'k', 3)",
        "ElementError: the result of auctions.assign must be Windows that contain 1970-01-01T00:00:00Z; got 3 (int)",
    ),
    (
        "CustomWindows('mine', len, 3)",
        "ArgumentError: CustomWindows.merge_with must be a function to groups of windows, or "
        "None; got 3 (int)",
    ),
    (
        "CustomWindows('mine', threes).assign(EventTime(0), 'k')",
        "ElementError: the result of mine.assign must be Windows that contain "
        "1970-01-01T00:00:00Z; got 3 (int)",
    ),
    (
        "CustomWindows('mine', fails).assign(EventTime(0), 'k')",
        "UserFunctionError: mine.assign: <fails> raised ZeroDivisionError: no; its argument "
        "was (EventTime('1970-01-01T00:00:00Z'), 'k') (tuple)",
    ),
    (
        "CustomWindows('mine', three).assign(EventTime(0), 'k')",
        "UserFunctionError: mine.assign: <three> raised TypeError: 'int' object is not "
        "iterable; its argument was (EventTime('1970-01-01T00:00:00Z'), 'k') (tuple)",
    ),
    (
        "CustomWindows('mine', len, fails).merge([GLOBAL_WINDOW])",
        "UserFunctionError: mine.merge: <fails> raised ZeroDivisionError: no; its argument was"
        " (Window(start=EventTime('0001-01-03T00:00:00Z'), "
        "end=EventTime('9999-12-30T00:00:00Z')),) (tuple)",
    ),
    (
        "CustomWindows('mine', len, three).merge([GLOBAL_WINDOW])",
        "UserFunctionError: mine.merge: <three> raised TypeError: 'int' object is not "
        "iterable; its argument was (Window(start=EventTime('0001-01-03T00:00:00Z'), "
        "end=EventTime('9999-12-30T00:00:00Z')),) (tuple)",
    ),
    (
        "CustomWindows('mine', len, lambda windows: []).merge([GLOBAL_WINDOW])",
        "ElementError: the result of mine.merge must be a partition of "
        "(Window(start=EventTime('0001-01-03T00:00:00Z'), "
        "end=EventTime('9999-12-30T00:00:00Z')),) (tuple) into groups; got [] (list)",
    ),
    (
        "Window(EventTime(3), EventTime(3))",
        "ArgumentError: Window.end must be after the start, 1970-01-01T00:00:00.000003Z; got "
        "EventTime('1970-01-01T00:00:00.000003Z') (EventTime)",
    ),
    (
        "Window(NOON, minute(1))",
        "ArgumentError: Window.start must be an EventTime, such as event_time(...) returns; "
        "got datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc) (datetime)",
    ),
    (
        "Window(0, EventTime(1))",
        "ArgumentError: Window.start must be an EventTime, such as event_time(...) returns; got 0 (int)",
    ),
    (
        "Window(ProcessingTime(0), EventTime(1))",
        "ArgumentError: Window.start must be an EventTime, such as event_time(...) returns; "
        "got ProcessingTime('1970-01-01T00:00:00Z') (ProcessingTime)",
    ),
    (
        "Window(EventTime(0), EventTime(2**70))",
        "ArgumentError: Window.end must be a point between 0001-01-03T00:00:00Z and "
        "9999-12-30T00:00:00Z; got EventTime(1180591620717411303424) (EventTime)",
    ),
    (
        "WindowingStrategy(3)",
        "ArgumentError: windows must be a window function, such as FixedWindows(timedelta(minutes=2)); "
        "got 3 (int)",
    ),
    (
        "WindowingStrategy(FixedWindows)",
        "ArgumentError: windows must be a window function, such as FixedWindows(timedelta(minutes=2)); "
        "got the class FixedWindows",
    ),
    (
        "WindowingStrategy(trigger=AtCount)",
        "ArgumentError: trigger must be a trigger, such as Repeat(AtWatermark()); got the class AtCount",
    ),
    (
        "WindowingStrategy(accumulation='all')",
        "ArgumentError: accumulation must be Accumulation.DISCARDING or Accumulation.ACCUMULATING"
        " or Accumulation.RETRACTING; got 'all' (str)",
    ),
    (
        "WindowingStrategy(accumulation=Accumulation)",
        "ArgumentError: accumulation must be Accumulation.DISCARDING or Accumulation.ACCUMULATING"
        " or Accumulation.RETRACTING; got the class Accumulation",
    ),
    (
        "WindowingStrategy(timestamp_combiner='end')",
        "ArgumentError: timestamp_combiner must be TimestampCombiner.END_OF_WINDOW or "
        "TimestampCombiner.EARLIEST or TimestampCombiner.LATEST; got 'end' (str)",
    ),
    (
        "WindowingStrategy(on_time_behavior=True)",
        "ArgumentError: on_time_behavior must be OnTimeBehavior.IF_CHANGED or "
        "OnTimeBehavior.ALWAYS; got True (bool)",
    ),
    (
        "WindowingStrategy(allowed_lateness=3)",
        "ArgumentError: allowed_lateness must be a timedelta of zero or more, FOREVER, or None; got 3 (int)",
    ),
    (
        "WindowingStrategy(allowed_lateness=-MINUTE)",
        "ArgumentError: allowed_lateness must be a timedelta of zero or more, FOREVER, or None; "
        "got datetime.timedelta(days=-1, seconds=86340) (timedelta)",
    ),
    (
        "WindowingStrategy(allowed_lateness='forever')",
        "ArgumentError: allowed_lateness must be a timedelta of zero or more, FOREVER, or None; "
        "got 'forever' (str)",
    ),
    (
        "POINTS.window(MINUTE)",
        "ArgumentError: windows must be a window function, such as FixedWindows(timedelta(minutes=2)); "
        "got datetime.timedelta(seconds=60) (timedelta)",
    ),
    (
        "POINTS.window(FixedWindows(MINUTE), trigger=3)",
        "ArgumentError: trigger must be a trigger, such as Repeat(AtWatermark()); got 3 (int)",
    ),
]

TIMES: Final[list[tuple[str, str]]] = [
    ("event_time(3)", "ArgumentError: event_time must be a timezone-aware datetime; got 3 (int)"),
    (
        "event_time(date(2024, 1, 1))",
        "ArgumentError: event_time must be a timezone-aware datetime; got datetime.date(2024, 1, 1) (date)",
    ),
    (
        "event_time(datetime(2024, 1, 1))",
        "ArgumentError: event_time must be a timezone-aware datetime, such as datetime(2013, 1, 1, "
        "tzinfo=UTC); got datetime.datetime(2024, 1, 1, 0, 0) (datetime): it is naive; attach a time zone",
    ),
    (
        "event_time(datetime(9999, 12, 31, tzinfo=UTC))",
        "ArgumentError: event_time must be a point between 0001-01-03T00:00:00Z and "
        "9999-12-30T00:00:00Z; got datetime.datetime(9999, 12, 31, 0, 0, "
        "tzinfo=datetime.timezone.utc) (datetime)",
    ),
    (
        "processing_time('2024-01-01')",
        "ArgumentError: processing_time must be a timezone-aware datetime; got '2024-01-01' (str)",
    ),
    (
        "processing_time(datetime(2024, 1, 1))",
        "ArgumentError: processing_time must be a timezone-aware datetime, such as datetime(2013, 1, 1, "
        "tzinfo=UTC); got datetime.datetime(2024, 1, 1, 0, 0) (datetime): it is naive; attach a time zone",
    ),
    (
        "EventTime('x')",
        "ArgumentError: EventTime must be an int of microseconds since the epoch, or text such"
        " as '2024-01-01T12:00:00Z'; got 'x' (str)",
    ),
    (
        "EventTime(1.5)",
        "ArgumentError: EventTime must be an int of microseconds since the epoch, or text such"
        " as '2024-01-01T12:00:00Z'; got 1.5 (float)",
    ),
    (
        "ProcessingTime(True)",
        "ArgumentError: ProcessingTime must be an int of microseconds since the epoch, or text"
        " such as '2024-01-01T12:00:00Z'; got True (bool)",
    ),
    (
        "EventTime(NOON)",
        "ArgumentError: EventTime must be an int of microseconds since the epoch, or text such"
        " as '2024-01-01T12:00:00Z'; got datetime.datetime(2024, 1, 1, 12, 0, "
        "tzinfo=datetime.timezone.utc) (datetime)",
    ),
    (
        "ProcessingTime(2**80).datetime",
        "ArgumentError: point must be a point between 0001-01-03T00:00:00Z and "
        "9999-12-30T00:00:00Z; got ProcessingTime(1208925819614629174706176) (ProcessingTime)",
    ),
    (
        "EventTime('2024-01-01')",
        "ArgumentError: EventTime must be an int of microseconds since the epoch, or text such"
        " as '2024-01-01T12:00:00Z'; got '2024-01-01' (str): it has no offset from UTC, so it "
        "names no point in time",
    ),
    (
        "EventTime('0001-01-02T00:00Z')",
        "ArgumentError: EventTime must be a point between 0001-01-03T00:00:00Z and "
        "9999-12-30T00:00:00Z; got datetime.datetime(1, 1, 2, 0, 0, "
        "tzinfo=datetime.timezone.utc) (datetime)",
    ),
    (
        "Instant(3, (), MIN_TIME)",
        "ArgumentError: Instant.processing_time must be a ProcessingTime, such as "
        "processing_time(...) returns; got 3 (int)",
    ),
    (
        "Instant(MIN_TIME, (), MIN_TIME)",
        "ArgumentError: Instant.processing_time must be a ProcessingTime, such as "
        "processing_time(...) returns; got EventTime('0001-01-03T00:00:00Z') (EventTime)",
    ),
    (
        "Instant(NOON, (), MIN_TIME)",
        "ArgumentError: Instant.processing_time must be a ProcessingTime, such as "
        "processing_time(...) returns; got datetime.datetime(2024, 1, 1, 12, 0, "
        "tzinfo=datetime.timezone.utc) (datetime)",
    ),
    (
        "Instant(ProcessingTime(2**70), (), MIN_TIME)",
        "ArgumentError: Instant.processing_time must be a point between 0001-01-03T00:00:00Z "
        "and 9999-12-30T00:00:00Z; got ProcessingTime(1180591620717411303424) (ProcessingTime)",
    ),
    (
        "Instant(ProcessingTime(0), [], MIN_TIME)",
        "ArgumentError: Instant.elements must be a tuple; got [] (list)",
    ),
    (
        "Instant(ProcessingTime(0), (), 'now')",
        "ArgumentError: Instant.watermark must be an EventTime, such as event_time(...) "
        "returns; got 'now' (str)",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, 3)",
        "ArgumentError: Instant.percentile_watermarks must be a mapping from percentiles to "
        "watermarks; got 3 (int)",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {2: MIN_TIME})",
        "ArgumentError: a key of Instant.percentile_watermarks must be a float between 0 and 1; got 2 (int)",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {0.5: NOON})",
        "ArgumentError: Instant.percentile_watermarks[0.5] must be an EventTime, such as "
        "event_time(...) returns; got datetime.datetime(2024, 1, 1, 12, 0, "
        "tzinfo=datetime.timezone.utc) (datetime)",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {}, 'go')",
        "ArgumentError: Instant.signals must be a frozenset of names and Signals; got 'go' (str)",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {}, frozenset([3]))",
        "ArgumentError: Instant.signals must be a frozenset of names and Signals; got frozenset({3}) (frozenset)",
    ),
    ("Timeline([])", "ArgumentError: Timeline.instants must be a tuple of instants; got [] (list)"),
    (
        "Timeline((3,))",
        "ArgumentError: Timeline.instants must be instants only; at(...) adds one; got 3 (int)",
    ),
    ("Timeline().at(3)", "ArgumentError: time must be a timezone-aware datetime; got 3 (int)"),
    (
        "Timeline().at(datetime(2024, 1, 1))",
        "ArgumentError: time must be a timezone-aware datetime, such as datetime(2013, 1, 1, "
        "tzinfo=UTC); got datetime.datetime(2024, 1, 1, 0, 0) (datetime): it is naive; attach a time zone",
    ),
    (
        "Timeline().at(NOON, watermark=3)",
        "ArgumentError: watermark must be a timezone-aware datetime; got 3 (int)",
    ),
    (
        "Timeline().at(NOON, percentiles={0.5: 3})",
        "ArgumentError: percentiles[0.5] must be a timezone-aware datetime; got 3 (int)",
    ),
    (
        "Timeline().at(NOON, percentiles={2.0: NOON})",
        "ArgumentError: a key of percentiles must be a float between 0 and 1; got 2.0 (float)",
    ),
    (
        "Timeline().at(NOON, percentiles={'x': NOON})",
        "ArgumentError: a key of percentiles must be a float between 0 and 1; got 'x' (str)",
    ),
    (
        "Timeline().at(NOON, percentiles=3)",
        "ArgumentError: percentiles must be a mapping from percentiles to watermarks; got 3 (int)",
    ),
    (
        "Timeline().at(NOON, signals='go')",
        "ArgumentError: signals must be the names of signals, such as ['go']; got 'go' (str)",
    ),
    (
        "Timeline().at(NOON, signals=[3])",
        "ArgumentError: signals must be the name of a signal, a str, or a Signal; got 3 (int)",
    ),
    (
        "Timeline().at(NOON, signals=[[]])",
        "ArgumentError: signals must be the name of a signal, a str, or a Signal; got [] (list)",
    ),
    (
        "Timeline().at(NOON, signals=3)",
        "ArgumentError: signals must be the names of signals, such as ['go']; got 3 (int)",
    ),
    (
        "Timeline().at(minute(1)).at(NOON)",
        "ArgumentError: processing_time must be at or after 2024-01-01T12:01:00Z; got "
        "ProcessingTime('2024-01-01T12:00:00Z') (ProcessingTime)",
    ),
    (
        "Timeline().at(minute(1), watermark=minute(1)).at(minute(2), watermark=NOON)",
        "ArgumentError: watermark must be at or after 2024-01-01T12:01:00Z; got "
        "EventTime('2024-01-01T12:00:00Z') (EventTime)",
    ),
    (
        "Timeline().at(minute(1), percentiles={0.5: minute(1)}).at(minute(2), percentiles={0.5: NOON})",
        "ArgumentError: percentile_watermarks[0.5] must be at or after 2024-01-01T12:01:00Z; got "
        "EventTime('2024-01-01T12:00:00Z') (EventTime)",
    ),
    ("Timeline().end(3)", "ArgumentError: time must be a timezone-aware datetime; got 3 (int)"),
    (
        "Timeline().at(minute(1)).end(NOON)",
        "ArgumentError: processing_time must be at or after 2024-01-01T12:01:00Z; got "
        "ProcessingTime('2024-01-01T12:00:00Z') (ProcessingTime)",
    ),
    (
        "Timeline.batch(3, time=NOON)",
        "ArgumentError: elements must be an iterable of elements; got 3 (int)",
    ),
    ("Timeline.batch([], time=3)", "ArgumentError: time must be a timezone-aware datetime; got 3 (int)"),
    (
        "Timeline.micro_batches(3, [], processing_time=len, watermark=IngressTime())",
        "ArgumentError: source must be the Source of the records; got 3 (int)",
    ),
    (
        "Timeline.micro_batches(SCORES, 3, processing_time=len, watermark=IngressTime())",
        "ArgumentError: batches must be an iterable of sequences of records; got 3 (int)",
    ),
    (
        "Timeline.micro_batches(SCORES, [3], processing_time=len, watermark=IngressTime())",
        "ArgumentError: a batch must be an iterable of records; got 3 (int)",
    ),
    (
        "Timeline.micro_batches(SCORES, [], processing_time=3, watermark=IngressTime())",
        "ArgumentError: processing_time must be a function from a record to its processing time; got 3 (int)",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=IngressTime(), partition=3)",
        "ArgumentError: partition must be a function from a record to a str, or None; got 3 (int)",
    ),
    (
        "Timeline.from_records(SCORES, 'abc', processing_time=len, watermark=IngressTime())",
        "ArgumentError: records must be an iterable of records; got 'abc' (str)",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=3)",
        "ArgumentError: watermark must be a watermark policy, such as "
        "BoundedOutOfOrderness(timedelta(seconds=30)); got 3 (int)",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=IngressTime(), every=timedelta(0))",
        "ArgumentError: every must be a positive timedelta, such as timedelta(minutes=1); got "
        "datetime.timedelta(0) (timedelta)",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=IngressTime(), tick=3)",
        "ArgumentError: tick must be a positive timedelta, such as timedelta(minutes=1); got 3 (int)",
    ),
]

COLLECTIONS: Final[list[tuple[str, str]]] = [
    (
        "Source('', Score, event_time=len)",
        "ArgumentError: Source.name must be a non-empty str; got '' (str)",
    ),
    (
        "Source(3, Score, event_time=len)",
        "ArgumentError: Source.name must be a non-empty str; got 3 (int)",
    ),
    (
        "Source('s', 3, event_time=len)",
        "RecordTypeError: 3 (int) is not a type; it must be bool, int, float, str, bytes, datetime, "
        "date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, V], list[T], frozenset[T], "
        "set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "Source('s', dict, event_time=len)",
        "RecordTypeError: dict is not an element type; it must be bool, int, "
        "float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, "
        "V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None"
        "; define a record class: use @frozen from attrs on a class with annotated fields",
    ),
    (
        "Source('s', [int], event_time=len)",
        "RecordTypeError: [<class 'int'>] (list) is not a type; it must be bool, int, float, str, bytes, "
        "datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, V], list[T], "
        "frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "Source('s', Score, event_time=3)",
        "ArgumentError: Source.event_time must be a function, such as lambda score: score.at, or INGRESS_TIME; got 3 "
        "(int)",
    ),
    (
        "Source('s', Score, event_time=points)",
        "ElementError: the result of Source.event_time (<points>) must be a datetime; its type is int",
    ),
    (
        "sources(3)",
        "ArgumentError: pipeline must be a PCollection; got 3 (int)",
    ),
    (
        "PCollection(3)",
        "ArgumentError: PCollection.node must be a node; collections begin with Source(...); got 3 (int)",
    ),
    (
        "SideInput(3, 4)",
        "ArgumentError: SideInput must be made by as_singleton() or as_map(); got (3, 4) (tuple)",
    ),
    (
        "SCORES.with_side(3)",
        "ArgumentError: side must be a side input, as as_singleton() and as_map() give; got 3 (int)",
    ),
    (
        "SCORES.map(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "SCORES.map(len, result=3)",
        "RecordTypeError: the result of builtins.len is 3 (int), which is not a type; it must be bool, "
        "int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, "
        "KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "SCORES.filter(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "SCORES.flat_map(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "SCORES.flat_map(len, result=dict)",
        "RecordTypeError: the result of builtins.len[…] has type dict, which is not an element type; "
        "it must be bool, int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a "
        "frozen attrs class, KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None"
        "; define a record class: use @frozen from attrs on a class with annotated fields",
    ),
    (
        "SCORES.key_by(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "POINTS.map_values(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "SCORES.map_values(len)",
        "KeyedCollectionError: map_values(builtins.len) needs elements that are KV(key, value) "
        "pairs, and these are Score; call key_by(...) first",
    ),
    (
        "POINTS.combine_per_key()",
        "ArgumentError: combiners must be one or more combiners, such as Sum(); got () (tuple)",
    ),
    (
        "POINTS.combine_per_key(3)",
        "ArgumentError: combiner 1 must be a combiner, such as Sum(), Count() or Mean.of(lambda "
        "v: v.points); got 3 (int)",
    ),
    (
        "POINTS.combine_per_key(Sum)",
        "ArgumentError: combiner 1 must be a combiner, such as Sum(), Count() or Mean.of(lambda "
        "v: v.points); got the class Sum",
    ),
    (
        "POINTS.combine_per_key(Sum(), sum)",
        "ArgumentError: combiner 2 must be a combiner, such as Sum(), Count() or Mean.of(lambda "
        "v: v.points); got <built-in function sum> (builtin_function_or_method)",
    ),
    (
        "POINTS.combine_per_key(Sum(), into=3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "SCORES.combine_per_key(Sum())",
        "KeyedCollectionError: combine_per_key(Sum) needs elements that are KV(key, value) pairs, "
        "and these are Score; call key_by(...) first",
    ),
    (
        "SCORES.group_by_key()",
        "KeyedCollectionError: group_by_key needs elements that are KV(key, value) pairs, and these "
        "are Score; call key_by(...) first",
    ),
    (
        "POINTS.co_group_by_key()",
        "ArgumentError: the number of collections must be two to four; got 1 (int)",
    ),
    (
        "POINTS.co_group_by_key(POINTS, POINTS, POINTS, POINTS)",
        "ArgumentError: the number of collections must be two to four; got 5 (int)",
    ),
    (
        "POINTS.co_group_by_key(POINTS, 3)",
        "ArgumentError: collection 3 of co_group_by_key must be a keyed PCollection; got 3 (int)",
    ),
    (
        "POINTS.co_group_by_key(SCORES)",
        "KeyedCollectionError: co_group_by_key needs elements that are KV(key, value) pairs, and "
        "these are Score; call key_by(...) first",
    ),
    (
        "POINTS.co_group_by_key(BY_POINTS)",
        "KeyedCollectionError: co_group_by_key needs keys of one type: those of collection 1 are "
        "str, and those of collection 2 are int",
    ),
    (
        "POINTS.co_group_by_key(POINTS.window(FixedWindows(MINUTE)))",
        "ArgumentError: the windows of collection 2 must be the same as in collection 1, "
        "GlobalWindows(), so that all are in the same windows; got "
        "FixedWindows(size=datetime.timedelta(seconds=60), offset=datetime.timedelta(0), "
        "offset_by_key=None) (FixedWindows)",
    ),
    (
        "SCORES.filter(points).key_by(three).combine_per_key(Count())",
        "ElementError: the result of filter(<points>) must be a bool; its type is int",
    ),
    (
        "SCORES.flat_map(points).key_by(three).combine_per_key(Count())",
        "ElementError: the result of flat_map(<points>) must be an iterable of elements; its type is int",
    ),
    (
        "SCORES.key_by(three, result=list[int]).combine_per_key(Count())",
        "KeyedCollectionError: combine_per_key(Count) needs keys that are hashable, and these are list[int]; use tuple "
        "or frozenset instead of list and set",
    ),
    (
        "AtCount(2).repeat() & AtWatermark()",
        "ArgumentError: the left operand of & must be a trigger that fires once, such as AtCount(3); repeat the "
        "combination instead: (a & b).repeat(); got Repeat(trigger=AtCount(count=2)) (Repeat)",
    ),
    (
        "POINTS.inner_join(3)",
        "ArgumentError: collection 2 of inner_join must be a keyed PCollection; got 3 (int)",
    ),
    (
        "POINTS.left_join(3)",
        "ArgumentError: collection 2 of left_join must be a keyed PCollection; got 3 (int)",
    ),
    (
        "POINTS.inner_join(SCORES)",
        "KeyedCollectionError: inner_join needs elements that are KV(key, value) pairs, and these "
        "are Score; call key_by(...) first",
    ),
    (
        "SCORES.left_join(POINTS)",
        "KeyedCollectionError: left_join needs elements that are KV(key, value) pairs, and these are "
        "Score; call key_by(...) first",
    ),
    (
        "SCORES.combine_globally(3)",
        "ArgumentError: combiner must be a combiner, such as Sum(), Count() or Mean.of(lambda v: "
        "v.points); got 3 (int)",
    ),
    (
        "SCORES.combine_globally(Sum)",
        "ArgumentError: combiner must be a combiner, such as Sum(), Count() or Mean.of(lambda v: "
        "v.points); got the class Sum",
    ),
    ("SCORES.top(0)", "ArgumentError: TopN.n must be a positive int; got 0 (int)"),
    (
        "SCORES.with_timestamps(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "SCORES.with_timestamps(points)",
        "ElementError: the result of with_timestamps(<points>) must be a datetime; its type is int",
    ),
    (
        "SCORES.split(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    ("SCORES.only(3)", "ArgumentError: kind must be a class; got 3 (int)"),
    (
        "SCORES.only(int | str)",
        f"ArgumentError: kind must be a class; got int | str ({type(int | str).__name__})",
    ),
    ("SCORES.apply(len, label=3)", "ArgumentError: label must be a str; got 3 (int)"),
    (
        "SCORES.apply(three, label='all')",
        "ArgumentError: the result of 'all' must be a PCollection, or a tuple of them; got 3 (int)",
    ),
    (
        "PTransform(3, 3)",
        "ArgumentError: PTransform must be made by PTransform.of(...), PTransform.identity(...) "
        "or @ptransform; got (3, 3) (tuple)",
    ),
    (
        "PTransform.of(Score, 3)",
        "ArgumentError: build must be a function from a PCollection to a PCollection; got 3 (int)",
    ),
    (
        "PTransform.of(Score, three)",
        "ArgumentError: the result of <three> must be a PCollection; got 3 (int)",
    ),
    (
        "PTransform.of(Score, lambda scores: scores, name=3)",
        "ArgumentError: PTransform.name must be a str; got 3 (int)",
    ),
    (
        "PTransform.identity(Score)(3)",
        "ArgumentError: the input of the transform must be a PCollection; got 3 (int)",
    ),
    (
        "PTransform.identity(Score)(POINTS)",
        "ArgumentError: the input of the transform must be a collection of Score; got "
        "PCollection(node=scores > key_by(<lambda> at tests/support/scores.py:29) > "
        "map_values(<lambda> at tests/support/scores.py:29)) (PCollection): its elements are "
        "KV[str, int]",
    ),
    (
        "PTransform.identity(Score) >> PTransform.identity(int).named('numbers')",
        "ArgumentError: the input of transform 'numbers' must be a collection of int; got "
        "PTransform('transform: (…)') (PTransform): its elements are Score",
    ),
    ("PTransform.identity(Score).named(3)", "ArgumentError: PTransform.name must be a str; got 3 (int)"),
    (
        "ptransform(3)",
        "ArgumentError: ptransform must be a function with one parameter annotated as "
        "PCollection[...]; got 3 (int)",
    ),
    (
        "ptransform(len)",
        "ArgumentError: ptransform must be a function with one parameter annotated as "
        "PCollection[...]; got <built-in function len> (builtin_function_or_method)",
    ),
    ("ptransform(name=3)", "ArgumentError: name must be a str; got 3 (int)"),
    (
        "PTransform.of(3, len)",
        "RecordTypeError: 3 (int) is not a type; it must be bool, int, float, str, bytes, "
        "datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, V], list[T], "
        "frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "SCORES.apply(3)",
        "ArgumentError: transform must be a PTransform, or a function from a PCollection; got 3 (int)",
    ),
    ("flatten()", "ArgumentError: collections must be one or more collections; got () (tuple)"),
    ("flatten(3)", "ArgumentError: collection 1 must be a PCollection; got 3 (int)"),
    ("flatten(SCORES, 3)", "ArgumentError: collection 2 must be a PCollection; got 3 (int)"),
    (
        "flatten(POINTS, POINTS.window(GlobalWindows(), trigger=AtCount(1)))",
        "ArgumentError: the trigger of collection 2 must be the same as in collection 1, "
        "Repeat(trigger=AtWatermark(percentile=None)), so that all are in the same windows; got "
        "AtCount(count=1) (AtCount)",
    ),
    (
        "flatten(POINTS.combine_per_key(Sum()), SCORES)",
        "ArgumentError: collection 2 must be in the same windows as collection 1: put window(...)"
        " after the groupings of both; got 'scores' (str)",
    ),
    ("TopN(0)", "ArgumentError: TopN.n must be a positive int; got 0 (int)"),
    ("TopN(True)", "ArgumentError: TopN.n must be a positive int; got True (bool)"),
    ("TopN('3')", "ArgumentError: TopN.n must be a positive int; got '3' (str)"),
    (
        "TopN(1, by=3)",
        "ArgumentError: TopN.by must be a function from a value to its sort key, or None; got 3 (int)",
    ),
    (
        "Sum.of(3)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 3 (int)",
    ),
    (
        "Mean.of(None)",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got None (NoneType)",
    ),
    (
        "Min.of('x')",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got 'x' (str)",
    ),
    (
        "Max.of(())",
        "ArgumentError: the function must be callable, such as lambda s: s.points; got () (tuple)",
    ),
    (
        "to_json(3)",
        "ArgumentError: value must be a value of the algebra, such as a PCollection, a Source, a "
        "trigger, windows or a combiner; got 3 (int)",
    ),
    (
        "to_json([])",
        "ArgumentError: value must be a value of the algebra, such as a PCollection, a Source, a "
        "trigger, windows or a combiner; got [] (list)",
    ),
    (
        "to_json(Count(), indent=True)",
        "ArgumentError: indent must be an int of zero or more, or None; got True (bool)",
    ),
    (
        "from_json(3, Count)",
        "ArgumentError: text must be a str of JSON, as to_json writes it; got 3 (int)",
    ),
    (
        "from_json('', 'trigger')",
        "ArgumentError: expect must be a class, such as PCollection[object], or a Kind, such as "
        "TRIGGER; got 'trigger' (str)",
    ),
    (
        "from_json('', PCollection)",
        "ArgumentError: expect must be a class with its type arguments, such as PCollection[object]; got "
        "the class PCollection",
    ),
]


CASES: Final = TRIGGERS + WINDOWS + TIMES + COLLECTIONS


@pytest.mark.parametrize(("call", "message"), CASES)
def test_invalid_arguments_are_errors_with_a_whole_message(call: str, message: str) -> None:
    """The error of an invalid call names the argument, its value and type, and what is valid."""
    for f in (fails, three, points):
        message = message.replace(f"<{f.__name__}>", describe_function(f))
    with pytest.raises(FlowalgError) as error:
        eval(call, {**PUBLIC, **globals()})
    assert f"{type(error.value).__name__}: {error.value}" == message


CHECKED: Final = frozenset(
    f"flowalg.{module}"
    for module in (
        "windows.window_functions",
        "windows.calendars",
        "combiners.collections",
        "serialization.document",
        "triggers.normal_form",
        "pipeline.pcollection",
        "pipeline.ptransform",
        "pipeline.source",
        "data.time",
        "runs.timeline",
        "triggers.syntax",
        "windows.strategy",
        "windows.window",
        "triggers.describe",
    )
)
"""The modules whose public names the tables above cover."""


def test_every_public_name_has_a_message() -> None:
    """Each public class and function that takes arguments has an invalid call in the tables."""
    calls = " ".join(call for call, _ in CASES)
    for name, value in PUBLIC.items():
        if not callable(value) or isinstance(value, EnumType) or value.__module__ not in CHECKED:
            continue
        if inspect.signature(value).parameters:
            assert re.search(rf"\b{name}[(.]", calls), name
