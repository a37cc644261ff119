"""Every message of every constructor and function that takes arguments, whole: what is refused, and what it says.

A message that says less than it should, or an argument that nobody checks, shows here before a user meets it.
"""

from __future__ import annotations

import inspect
import re
from datetime import UTC, date, datetime, timedelta
from enum import EnumType
from typing import Final, NewType, NoReturn

import pytest

import flowalg
from flowalg import FlowalgError
from flowalg.functions import place_of
from tests.scores import NOON, POINTS, SCORES, Score, minute

MINUTE: Final = timedelta(minutes=1)
NUMBERED: Final = SCORES.key_by(lambda s: s.points)
USED: Final = (UTC, NOON, POINTS, date, datetime, minute)
"""What the calls below name."""


def fails(*arguments: object) -> NoReturn:
    """A function that raises."""
    raise ZeroDivisionError("no")


def three(*arguments: object) -> int:
    """A function that gives what nobody asked for."""
    return 3


def threes(*arguments: object) -> list[int]:
    """The same, in a list."""
    return [3]


def points(score: Score) -> int:
    """No event time."""
    return score.points


def before(*arguments: object) -> timedelta:
    """A negative duration."""
    return -MINUTE


TRIGGERS: Final[list[tuple[str, str]]] = [
    (
        "AtWatermark('3')",
        "ArgumentError: AtWatermark.percentile is '3' (a str); it must be a float between 0 and 1, or None",
    ),
    (
        "AtWatermark(1)",
        "ArgumentError: AtWatermark.percentile is 1 (a int); it must be a float between 0 and 1, or None",
    ),
    (
        "AtWatermark(0.0)",
        "ArgumentError: AtWatermark.percentile is 0.0 (a float); it must be a float between 0 and 1, or None",
    ),
    (
        "AtWatermark(1.0)",
        "ArgumentError: AtWatermark.percentile is 1.0 (a float); it must be a float between 0 and 1, or None",
    ),
    (
        "AtWatermark(float('nan'))",
        "ArgumentError: AtWatermark.percentile is nan (a float); it must be a float between 0 and 1, or None",
    ),
    (
        "AtWatermark(True)",
        "ArgumentError: AtWatermark.percentile is True (a bool); it must be a float between 0 and 1, or None",
    ),
    ("AtCount(0)", "ArgumentError: AtCount.count is 0 (a int); it must be a positive int"),
    ("AtCount(-1)", "ArgumentError: AtCount.count is -1 (a int); it must be a positive int"),
    ("AtCount(True)", "ArgumentError: AtCount.count is True (a bool); it must be a positive int"),
    ("AtCount(1.0)", "ArgumentError: AtCount.count is 1.0 (a float); it must be a positive int"),
    (
        "AtMeasure(3, 1)",
        "ArgumentError: AtMeasure.measure is 3 (a int); it must be a function from a value to a "
        "non-negative int",
    ),
    ("AtMeasure(len, 0)", "ArgumentError: AtMeasure.amount is 0 (a int); it must be a positive int"),
    ("AtMeasure(len, '1')", "ArgumentError: AtMeasure.amount is '1' (a str); it must be a positive int"),
    (
        "AtElement(None)",
        "ArgumentError: AtElement.predicate is None (a NoneType); it must be a function from a value "
        "to a bool",
    ),
    (
        "AtPeriod(60)",
        "ArgumentError: AtPeriod.period is 60 (a int); it must be a positive timedelta, such as "
        "timedelta(minutes=1)",
    ),
    (
        "AtPeriod(timedelta(0))",
        "ArgumentError: AtPeriod.period is datetime.timedelta(0) (a timedelta); it must be a "
        "positive timedelta, such as timedelta(minutes=1)",
    ),
    (
        "AtPeriod(MINUTE, MINUTE)",
        "ArgumentError: AtPeriod.offset is datetime.timedelta(seconds=60) (a timedelta); it must be "
        "shorter than the period, 0:01:00",
    ),
    (
        "AtPeriod(MINUTE, -MINUTE)",
        "ArgumentError: AtPeriod.offset is datetime.timedelta(days=-1, seconds=86340) (a timedelta); "
        "it must be a timedelta of zero or more",
    ),
    (
        "AtPeriod(MINUTE, 3)",
        "ArgumentError: AtPeriod.offset is 3 (a int); it must be a timedelta of zero or more",
    ),
    (
        "AfterDelay(-MINUTE)",
        "ArgumentError: AfterDelay.delay is datetime.timedelta(days=-1, seconds=86340) (a "
        "timedelta); it must be a timedelta of zero or more",
    ),
    ("AfterDelay(3)", "ArgumentError: AfterDelay.delay is 3 (a int); it must be a timedelta of zero or more"),
    ("AtSignal('')", "ArgumentError: AtSignal.name is '' (a str); it must be a non-empty str"),
    ("AtSignal(3)", "ArgumentError: AtSignal.name is 3 (a int); it must be a non-empty str"),
    ("And()", "ArgumentError: And.triggers is () (a tuple); it must be one or more once-triggers"),
    ("Or()", "ArgumentError: Or.triggers is () (a tuple); it must be one or more once-triggers"),
    (
        "And(Repeat(AtCount(1)))",
        "ArgumentError: And.triggers is Repeat(trigger=AtCount(count=1)) (a Repeat); it must be a "
        "once-trigger, such as AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "And(AtCount)",
        "ArgumentError: And.triggers is <class 'flowalg.triggers.AtCount'> (a type); it must be a "
        "once-trigger, such as AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "Or(AtCount(1), 3)",
        "ArgumentError: Or.triggers is 3 (a int); it must be a once-trigger, such as AtWatermark(), "
        "AtCount(3), or And/Or of such",
    ),
    (
        "Or(AtCount(1), [])",
        "ArgumentError: Or.triggers is [] (a list); it must be a once-trigger, such as "
        "AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "AtCount(1) & Repeat(AtCount(1))",
        "ArgumentError: And.triggers is Repeat(trigger=AtCount(count=1)) (a Repeat); it must be a "
        "once-trigger, such as AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "AtCount(1) | 3",
        "ArgumentError: Or.triggers is 3 (a int); it must be a once-trigger, such as AtWatermark(), "
        "AtCount(3), or And/Or of such",
    ),
    ("SequenceOf()", "ArgumentError: SequenceOf.triggers is () (a tuple); it must be one or more triggers"),
    (
        "SequenceOf(3)",
        "ArgumentError: SequenceOf.triggers is 3 (a int); it must be a trigger, such as "
        "Repeat(AtWatermark())",
    ),
    (
        "SequenceOf(AtCount)",
        "ArgumentError: SequenceOf.triggers is <class 'flowalg.triggers.AtCount'> (a type); it must "
        "be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "AtCount(1) >> 3",
        "ArgumentError: SequenceOf.triggers is 3 (a int); it must be a trigger, such as "
        "Repeat(AtWatermark())",
    ),
    (
        "Repeat(3)",
        "ArgumentError: Repeat.trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "Repeat(AtCount)",
        "ArgumentError: Repeat.trigger is <class 'flowalg.triggers.AtCount'> (a type); it must be a "
        "trigger, such as Repeat(AtWatermark())",
    ),
    (
        "Repeat([])",
        "ArgumentError: Repeat.trigger is [] (a list); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "OrFinally(3, AtCount(1))",
        "ArgumentError: OrFinally.main is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "OrFinally(AtCount(1), Repeat(AtCount(1)))",
        "ArgumentError: OrFinally.until is Repeat(trigger=AtCount(count=1)) (a Repeat); it must be a "
        "once-trigger, such as AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "RepeatUntil(3, AtCount(1))",
        "ArgumentError: Repeat.trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "RepeatUntil(AtCount(1), 3)",
        "ArgumentError: OrFinally.until is 3 (a int); it must be a once-trigger, such as "
        "AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "AtCount(1).until(3)",
        "ArgumentError: OrFinally.until is 3 (a int); it must be a once-trigger, such as "
        "AtWatermark(), AtCount(3), or And/Or of such",
    ),
    (
        "AtWatermark().with_early_firings(3)",
        "ArgumentError: Repeat.trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "AtWatermark().with_late_firings(3)",
        "ArgumentError: Repeat.trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "AtWatermark().with_early_firings(AtCount(1)).with_late_firings(3)",
        "ArgumentError: Repeat.trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "normalise(3)",
        "ArgumentError: trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
    (
        "normalise(AtCount)",
        "ArgumentError: trigger is <class 'flowalg.triggers.AtCount'> (a type); it must be a "
        "trigger, such as Repeat(AtWatermark())",
    ),
    (
        "in_words(3)",
        "ArgumentError: trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
]

WINDOWS: Final[list[tuple[str, str]]] = [
    (
        "FixedWindows(60)",
        "ArgumentError: FixedWindows.size is 60 (a int); it must be a positive timedelta, such as "
        "timedelta(minutes=1)",
    ),
    (
        "FixedWindows(timedelta(0))",
        "ArgumentError: FixedWindows.size is datetime.timedelta(0) (a timedelta); it must be a "
        "positive timedelta, such as timedelta(minutes=1)",
    ),
    (
        "FixedWindows(MINUTE, -MINUTE)",
        "ArgumentError: FixedWindows.offset is datetime.timedelta(days=-1, seconds=86340) (a "
        "timedelta); it must be a timedelta of zero or more",
    ),
    (
        "FixedWindows(MINUTE, MINUTE)",
        "ArgumentError: FixedWindows.offset is datetime.timedelta(seconds=60) (a timedelta); it must "
        "be shorter than the size, 0:01:00",
    ),
    (
        "FixedWindows(MINUTE, 3)",
        "ArgumentError: FixedWindows.offset is 3 (a int); it must be a timedelta of zero or more",
    ),
    (
        "FixedWindows(MINUTE, phase=3)",
        "ArgumentError: FixedWindows.phase is 3 (a int); it must be a function from a key to a timedelta",
    ),
    (
        "FixedWindows(MINUTE, phase=three).assign(EventTime(0), 'k')",
        "ArgumentError: the phase of a key is 3 (a int); it must be a timedelta of zero or more",
    ),
    (
        "FixedWindows(MINUTE, phase=before).assign(EventTime(0), 'k')",
        "ArgumentError: the phase of a key is datetime.timedelta(days=-1, seconds=86340) (a "
        "timedelta); it must be a timedelta of zero or more",
    ),
    (
        "SlidingWindows(3, MINUTE)",
        "ArgumentError: SlidingWindows.size is 3 (a int); it must be a positive timedelta, such as "
        "timedelta(minutes=1)",
    ),
    (
        "SlidingWindows(MINUTE, timedelta(0))",
        "ArgumentError: SlidingWindows.period is datetime.timedelta(0) (a timedelta); it must be a "
        "positive timedelta, such as timedelta(minutes=1)",
    ),
    (
        "SlidingWindows(MINUTE, MINUTE, MINUTE)",
        "ArgumentError: SlidingWindows.offset is datetime.timedelta(seconds=60) (a timedelta); it "
        "must be shorter than the period, 0:01:00",
    ),
    (
        "SlidingWindows(MINUTE, MINUTE, -MINUTE)",
        "ArgumentError: SlidingWindows.offset is datetime.timedelta(days=-1, seconds=86340) (a "
        "timedelta); it must be a timedelta of zero or more",
    ),
    (
        "Sessions('1 min')",
        "ArgumentError: Sessions.gap is '1 min' (a str); it must be a positive timedelta, such as "
        "timedelta(minutes=1)",
    ),
    (
        "Sessions(timedelta(0))",
        "ArgumentError: Sessions.gap is datetime.timedelta(0) (a timedelta); it must be a positive "
        "timedelta, such as timedelta(minutes=1)",
    ),
    (
        "CalendarDays('Mars/Base')",
        "ArgumentError: CalendarDays.zone is 'Mars/Base' (a str); it must be the name of a time "
        "zone, such as 'Europe/Berlin'",
    ),
    (
        "CalendarDays(3)",
        "ArgumentError: CalendarDays.zone is 3 (a int); it must be the name of a time zone, such as "
        "'Europe/Berlin'",
    ),
    (
        "CalendarMonths('')",
        "ArgumentError: CalendarMonths.zone is '' (a str); it must be the name of a time zone, such "
        "as 'Europe/Berlin'",
    ),
    (
        "CalendarMonths(None)",
        "ArgumentError: CalendarMonths.zone is None (a NoneType); it must be the name of a time "
        "zone, such as 'Europe/Berlin'",
    ),
    (
        "CalendarWeeks('../etc')",
        "ArgumentError: CalendarWeeks.zone is '../etc' (a str); it must be the name of a time zone, "
        "such as 'Europe/Berlin'",
    ),
    (
        "CalendarWeeks('UTC', 7)",
        "ArgumentError: CalendarWeeks.first_day is 7 (a int); it must be an int from 0 (Monday) to 6 "
        "(Sunday)",
    ),
    (
        "CalendarWeeks('UTC', True)",
        "ArgumentError: CalendarWeeks.first_day is True (a bool); it must be an int from 0 (Monday) "
        "to 6 (Sunday)",
    ),
    (
        "CalendarWeeks('UTC', 1.0)",
        "ArgumentError: CalendarWeeks.first_day is 1.0 (a float); it must be an int from 0 (Monday) "
        "to 6 (Sunday)",
    ),
    ("CustomWindows('', len)", "ArgumentError: CustomWindows.name is '' (a str); it must be a non-empty str"),
    ("CustomWindows(3, len)", "ArgumentError: CustomWindows.name is 3 (a int); it must be a non-empty str"),
    (
        "CustomWindows('mine', 3)",
        "ArgumentError: CustomWindows.assign_with is 3 (a int); it must be a function from an event "
        "time and a key to windows",
    ),
    (
        "CustomWindows('mine', len, 3)",
        "ArgumentError: CustomWindows.merge_with is 3 (a int); it must be a function to groups of "
        "windows, or None",
    ),
    (
        "CustomWindows('mine', threes).assign(EventTime(0), 'k')",
        "ElementError: mine.assign gave 3 (a int); it must be a Window that contains 0",
    ),
    (
        "CustomWindows('mine', fails).assign(EventTime(0), 'k')",
        "UserFunctionError: mine.assign: <fails> raised ZeroDivisionError: no, on the record (0, "
        "'k') (a tuple)",
    ),
    (
        "CustomWindows('mine', three).assign(EventTime(0), 'k')",
        "UserFunctionError: mine.assign: <three> raised TypeError: 'int' object is not iterable, on "
        "the record (0, 'k') (a tuple)",
    ),
    (
        "CustomWindows('mine', len, fails).merge([GLOBAL_WINDOW])",
        "UserFunctionError: mine.merge: <fails> raised ZeroDivisionError: no, on the record "
        "(Window(end=253402128000000000, start=-62135424000000000),) (a tuple)",
    ),
    (
        "CustomWindows('mine', len, three).merge([GLOBAL_WINDOW])",
        "UserFunctionError: mine.merge: <three> raised TypeError: 'int' object is not iterable, on "
        "the record (Window(end=253402128000000000, start=-62135424000000000),) (a tuple)",
    ),
    (
        "CustomWindows('mine', len, lambda windows: []).merge([GLOBAL_WINDOW])",
        "ElementError: mine.merge gave [] (a list); it must divide (Window(end=253402128000000000, "
        "start=-62135424000000000),) (a tuple) into groups",
    ),
    (
        "Window.of(EventTime(3), EventTime(3))",
        "ArgumentError: end is 3 (a int); it must be after the start, 3",
    ),
    (
        "Window.of(NOON, minute(1))",
        "ArgumentError: start is datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc) "
        "(a datetime); it must be a point in microseconds since the epoch, as event_time(...) and "
        "processing_time(...) give it",
    ),
    (
        "Window.of(EventTime(0), EventTime(2**70))",
        "ArgumentError: end is 1180591620717411303424 (a int); it must be a point in microseconds "
        "since the epoch, as event_time(...) and processing_time(...) give it",
    ),
    (
        "WindowingStrategy(3)",
        "ArgumentError: windows is 3 (a int); it must be a window strategy, such as "
        "FixedWindows(timedelta(minutes=2))",
    ),
    (
        "WindowingStrategy(FixedWindows)",
        "ArgumentError: windows is <class 'flowalg.assignment.FixedWindows'> (a type); it must be a "
        "window strategy, such as FixedWindows(timedelta(minutes=2))",
    ),
    (
        "WindowingStrategy(trigger=AtCount)",
        "ArgumentError: trigger is <class 'flowalg.triggers.AtCount'> (a type); it must be a "
        "trigger, such as Repeat(AtWatermark())",
    ),
    (
        "WindowingStrategy(accumulation='all')",
        "ArgumentError: accumulation is 'all' (a str); it must be Accumulation.DISCARDING or "
        "Accumulation.ACCUMULATING or Accumulation.RETRACTING",
    ),
    (
        "WindowingStrategy(accumulation=Accumulation)",
        "ArgumentError: accumulation is <enum 'Accumulation'> (a EnumType); it must be "
        "Accumulation.DISCARDING or Accumulation.ACCUMULATING or Accumulation.RETRACTING",
    ),
    (
        "WindowingStrategy(pane_time='end')",
        "ArgumentError: pane_time is 'end' (a str); it must be PaneTime.END_OF_WINDOW or "
        "PaneTime.EARLIEST or PaneTime.LATEST",
    ),
    (
        "WindowingStrategy(on_time=True)",
        "ArgumentError: on_time is True (a bool); it must be OnTime.IF_CHANGED or OnTime.ALWAYS",
    ),
    (
        "WindowingStrategy(allowed_lateness=3)",
        "ArgumentError: allowed_lateness is 3 (a int); it must be a timedelta of zero or more, "
        "FOREVER, or None",
    ),
    (
        "WindowingStrategy(allowed_lateness=-MINUTE)",
        "ArgumentError: allowed_lateness is datetime.timedelta(days=-1, seconds=86340) (a "
        "timedelta); it must be a timedelta of zero or more, FOREVER, or None",
    ),
    (
        "WindowingStrategy(allowed_lateness='forever')",
        "ArgumentError: allowed_lateness is 'forever' (a str); it must be a timedelta of zero or "
        "more, FOREVER, or None",
    ),
    (
        "POINTS.window(MINUTE)",
        "ArgumentError: windows is datetime.timedelta(seconds=60) (a timedelta); it must be a window "
        "strategy, such as FixedWindows(timedelta(minutes=2))",
    ),
    (
        "POINTS.window(FixedWindows(MINUTE), trigger=3)",
        "ArgumentError: trigger is 3 (a int); it must be a trigger, such as Repeat(AtWatermark())",
    ),
]

TIMES: Final[list[tuple[str, str]]] = [
    ("event_time(3)", "ArgumentError: event_time is 3 (a int); it must be a timezone-aware datetime"),
    (
        "event_time(date(2024, 1, 1))",
        "ArgumentError: event_time is datetime.date(2024, 1, 1) (a date); it must be a "
        "timezone-aware datetime",
    ),
    (
        "event_time(datetime(2024, 1, 1))",
        "ArgumentError: event_time is datetime.datetime(2024, 1, 1, 0, 0) (a datetime): it is naive, "
        "so it names no point in time; it must be a timezone-aware datetime, such as datetime(2013, "
        "1, 1, tzinfo=UTC)",
    ),
    (
        "event_time(datetime(9999, 12, 31, tzinfo=UTC))",
        "ArgumentError: event_time is datetime.datetime(9999, 12, 31, 0, 0, "
        "tzinfo=datetime.timezone.utc) (a datetime); it must be a point between "
        "0001-01-03T00:00:00+00:00 and 9999-12-30T00:00:00+00:00",
    ),
    (
        "processing_time('2024-01-01')",
        "ArgumentError: processing_time is '2024-01-01' (a str); it must be a timezone-aware datetime",
    ),
    (
        "processing_time(datetime(2024, 1, 1))",
        "ArgumentError: processing_time is datetime.datetime(2024, 1, 1, 0, 0) (a datetime): it is "
        "naive, so it names no point in time; it must be a timezone-aware datetime, such as "
        "datetime(2013, 1, 1, tzinfo=UTC)",
    ),
    (
        "to_datetime('x')",
        "ArgumentError: point is 'x' (a str); it must be a point in microseconds since the epoch, as "
        "event_time(...) and processing_time(...) give it",
    ),
    (
        "to_datetime(1.5)",
        "ArgumentError: point is 1.5 (a float); it must be a point in microseconds since the epoch, "
        "as event_time(...) and processing_time(...) give it",
    ),
    (
        "to_datetime(True)",
        "ArgumentError: point is True (a bool); it must be a point in microseconds since the epoch, "
        "as event_time(...) and processing_time(...) give it",
    ),
    (
        "to_datetime(NOON)",
        "ArgumentError: point is datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc) "
        "(a datetime); it must be a point in microseconds since the epoch, as event_time(...) and "
        "processing_time(...) give it",
    ),
    (
        "to_datetime(2**80)",
        "ArgumentError: point is 1208925819614629174706176 (a int); it must be a point in "
        "microseconds since the epoch, as event_time(...) and processing_time(...) give it",
    ),
    (
        "Instant(NOON, (), MIN_TIME)",
        "ArgumentError: Instant.processing_time is datetime.datetime(2024, 1, 1, 12, 0, "
        "tzinfo=datetime.timezone.utc) (a datetime); it must be a point in microseconds since the "
        "epoch, as event_time(...) and processing_time(...) give it",
    ),
    (
        "Instant(ProcessingTime(2**70), (), MIN_TIME)",
        "ArgumentError: Instant.processing_time is 1180591620717411303424 (a int); it must be a "
        "point in microseconds since the epoch, as event_time(...) and processing_time(...) give it",
    ),
    (
        "Instant(ProcessingTime(0), [], MIN_TIME)",
        "ArgumentError: Instant.elements is [] (a list); it must be a tuple",
    ),
    (
        "Instant(ProcessingTime(0), (), 'now')",
        "ArgumentError: Instant.watermark is 'now' (a str); it must be a point in microseconds since "
        "the epoch, as event_time(...) and processing_time(...) give it",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, 3)",
        "ArgumentError: Instant.percentile_watermarks is 3 (a int); it must be a mapping from "
        "percentiles to watermarks",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {2: MIN_TIME})",
        "ArgumentError: a key of Instant.percentile_watermarks is 2 (a int); it must be a float "
        "between 0 and 1",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {0.5: NOON})",
        "ArgumentError: Instant.percentile_watermarks[0.5] is datetime.datetime(2024, 1, 1, 12, 0, "
        "tzinfo=datetime.timezone.utc) (a datetime); it must be a point in microseconds since the "
        "epoch, as event_time(...) and processing_time(...) give it",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {}, 'go')",
        "ArgumentError: Instant.signals is 'go' (a str); it must be a frozenset of names",
    ),
    (
        "Instant(ProcessingTime(0), (), MIN_TIME, {}, frozenset([3]))",
        "ArgumentError: Instant.signals is frozenset({3}) (a frozenset); it must be a frozenset of names",
    ),
    ("Timeline([])", "ArgumentError: Timeline.instants is [] (a list); it must be a tuple of instants"),
    (
        "Timeline((3,))",
        "ArgumentError: Timeline.instants is 3 (a int); it must be instants only; at(...) adds one",
    ),
    ("Timeline().at(3)", "ArgumentError: time is 3 (a int); it must be a timezone-aware datetime"),
    (
        "Timeline().at(datetime(2024, 1, 1))",
        "ArgumentError: time is datetime.datetime(2024, 1, 1, 0, 0) (a datetime): it is naive, so it "
        "names no point in time; it must be a timezone-aware datetime, such as datetime(2013, 1, 1, "
        "tzinfo=UTC)",
    ),
    (
        "Timeline().at(NOON, watermark=3)",
        "ArgumentError: watermark is 3 (a int); it must be a timezone-aware datetime",
    ),
    (
        "Timeline().at(NOON, percentiles={0.5: 3})",
        "ArgumentError: percentiles[0.5] is 3 (a int); it must be a timezone-aware datetime",
    ),
    (
        "Timeline().at(NOON, percentiles={2.0: NOON})",
        "ArgumentError: a key of percentiles is 2.0 (a float); it must be a float between 0 and 1",
    ),
    (
        "Timeline().at(NOON, percentiles={'x': NOON})",
        "ArgumentError: a key of percentiles is 'x' (a str); it must be a float between 0 and 1",
    ),
    (
        "Timeline().at(NOON, percentiles=3)",
        "ArgumentError: percentiles is 3 (a int); it must be a mapping from percentiles to watermarks",
    ),
    (
        "Timeline().at(NOON, signals='go')",
        "ArgumentError: signals is 'go' (a str); it must be the names of signals, such as ['go']",
    ),
    (
        "Timeline().at(NOON, signals=[3])",
        "ArgumentError: signals is 3 (a int); it must be the name of a signal, a str",
    ),
    (
        "Timeline().at(NOON, signals=[[]])",
        "ArgumentError: signals is [] (a list); it must be the name of a signal, a str",
    ),
    (
        "Timeline().at(NOON, signals=3)",
        "ArgumentError: signals is 3 (a int); it must be the names of signals, such as ['go']",
    ),
    (
        "Timeline().at(minute(1)).at(NOON)",
        "ArgumentError: processing_time is '2024-01-01T12:00:00Z' (a str); it must be not before "
        "2024-01-01T12:01:00Z",
    ),
    (
        "Timeline().at(minute(1), watermark=minute(1)).at(minute(2), watermark=NOON)",
        "ArgumentError: watermark is '2024-01-01T12:00:00Z' (a str); it must be not before "
        "2024-01-01T12:01:00Z",
    ),
    (
        "Timeline().at(minute(1), percentiles={0.5: minute(1)}).at(minute(2), percentiles={0.5: NOON})",
        "ArgumentError: percentile_watermarks[0.5] is '2024-01-01T12:00:00Z' (a str); it must be not "
        "before 2024-01-01T12:01:00Z",
    ),
    ("Timeline().end(3)", "ArgumentError: time is 3 (a int); it must be a timezone-aware datetime"),
    (
        "Timeline().at(minute(1)).end(NOON)",
        "ArgumentError: processing_time is '2024-01-01T12:00:00Z' (a str); it must be not before "
        "2024-01-01T12:01:00Z",
    ),
    (
        "Timeline.batch(3, time=NOON)",
        "ArgumentError: elements is 3 (a int); it must be an iterable of elements",
    ),
    ("Timeline.batch([], time=3)", "ArgumentError: time is 3 (a int); it must be a timezone-aware datetime"),
    (
        "Timeline.micro_batches(3, [], processing_time=len, watermark=IngressTime())",
        "ArgumentError: source is 3 (a int); it must be the Source whose records these are",
    ),
    (
        "Timeline.micro_batches(SCORES, 3, processing_time=len, watermark=IngressTime())",
        "ArgumentError: batches is 3 (a int); it must be an iterable of sequences of records",
    ),
    (
        "Timeline.micro_batches(SCORES, [3], processing_time=len, watermark=IngressTime())",
        "ArgumentError: a batch is 3 (a int); it must be an iterable of records",
    ),
    (
        "Timeline.micro_batches(SCORES, [], processing_time=3, watermark=IngressTime())",
        "ArgumentError: processing_time is 3 (a int); it must be a function from a record to when it was seen",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=IngressTime(), partition=3)",
        "ArgumentError: partition is 3 (a int); it must be a function from a record to a str, or None",
    ),
    (
        "Timeline.from_records(SCORES, 'abc', processing_time=len, watermark=IngressTime())",
        "ArgumentError: records is 'abc' (a str); it must be an iterable of records",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=3)",
        "ArgumentError: watermark is 3 (a int); it must be a watermark policy, such as "
        "BoundedDisorder(timedelta(seconds=30))",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=IngressTime(), every=timedelta(0))",
        "ArgumentError: every is datetime.timedelta(0) (a timedelta); it must be a positive timedelta, such as "
        "timedelta(minutes=1)",
    ),
    (
        "Timeline.from_records(SCORES, [], processing_time=len, watermark=IngressTime(), tick=3)",
        "ArgumentError: tick is 3 (a int); it must be a positive timedelta, such as timedelta(minutes=1)",
    ),
]

COLLECTIONS: Final[list[tuple[str, str]]] = [
    (
        "Source('', Score, event_time=len)",
        "ArgumentError: Source.name is '' (a str); it must be a non-empty str",
    ),
    (
        "Source(3, Score, event_time=len)",
        "ArgumentError: Source.name is 3 (a int); it must be a non-empty str",
    ),
    (
        "Source('s', 3, event_time=len)",
        "RecordTypeError: 3 (a int) is no type; it must be bool, int, float, str, bytes, datetime, "
        "date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, V], list[T], frozenset[T], "
        "set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "Source('s', dict, event_time=len)",
        "RecordTypeError: dict has type dict, which is not an element type; it must be bool, int, "
        "float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, "
        "V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "Source('s', [int], event_time=len)",
        "RecordTypeError: [<class 'int'>] (a list) is no type; it must be bool, int, float, str, "
        "bytes, datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, KV[K, V], "
        "list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "Source('s', Score, event_time=3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "Source('s', Score, event_time=points)",
        "ArgumentError: Source.event_time is '<points>' (a str); it must be a function to a "
        "datetime; this one gives int",
    ),
    (
        "sources(3)",
        "ArgumentError: pipeline is 3 (a int); it must be a PCollection",
    ),
    (
        "PCollection(3)",
        "ArgumentError: PCollection.node is 3 (a int); it must be a node; collections begin with Source(...)",
    ),
    (
        "SideInput(3, 4)",
        "ArgumentError: SideInput is (3, 4) (a tuple); it must be made by as_singleton() or as_map()",
    ),
    (
        "SCORES.with_side(3)",
        "ArgumentError: side is 3 (a int); it must be a side input, as as_singleton() and as_map() give",
    ),
    (
        "SCORES.map(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "SCORES.map(len, result=3)",
        "RecordTypeError: the result of builtins.len is 3 (a int), which is no type; it must be "
        "bool, int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a frozen attrs "
        "class, KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "SCORES.filter(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "SCORES.flat_map(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "SCORES.flat_map(len, result=dict)",
        "RecordTypeError: the result of builtins.len[…] has type dict, which is not an element type; "
        "it must be bool, int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a "
        "frozen attrs class, KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None",
    ),
    (
        "SCORES.key_by(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "POINTS.map_values(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "SCORES.map_values(len)",
        "KeyedCollectionError: map_values(builtins.len) needs elements that are KV(key, value) "
        "pairs, and these are Score; call key_by(...) first",
    ),
    (
        "POINTS.combine_per_key()",
        "ArgumentError: combiners is () (a tuple); it must be one or more combiners, such as Sum()",
    ),
    (
        "POINTS.combine_per_key(3)",
        "ArgumentError: combiner 1 is 3 (a int); it must be a combiner, such as Sum(), Count() or "
        "Mean.of(lambda v: v.points)",
    ),
    (
        "POINTS.combine_per_key(Sum)",
        "ArgumentError: combiner 1 is <class 'flowalg.combiners.Sum'> (a type); it must be a "
        "combiner, such as Sum(), Count() or Mean.of(lambda v: v.points)",
    ),
    (
        "POINTS.combine_per_key(Sum(), sum)",
        "ArgumentError: combiner 2 is <built-in function sum> (a builtin_function_or_method); it "
        "must be a combiner, such as Sum(), Count() or Mean.of(lambda v: v.points)",
    ),
    (
        "POINTS.combine_per_key(Sum(), into=3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
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
        "ArgumentError: the number of collections is 1 (a int); it must be two to four",
    ),
    (
        "POINTS.co_group_by_key(POINTS, POINTS, POINTS, POINTS)",
        "ArgumentError: the number of collections is 5 (a int); it must be two to four",
    ),
    (
        "POINTS.co_group_by_key(POINTS, 3)",
        "ArgumentError: collection 3 of co_group_by_key is 3 (a int); it must be a keyed PCollection",
    ),
    (
        "POINTS.co_group_by_key(SCORES)",
        "KeyedCollectionError: co_group_by_key needs elements that are KV(key, value) pairs, and "
        "these are Score; call key_by(...) first",
    ),
    (
        "POINTS.co_group_by_key(NUMBERED)",
        "KeyedCollectionError: co_group_by_key needs keys of one type: those of collection 1 are "
        "str, and those of collection 2 are int",
    ),
    (
        "POINTS.co_group_by_key(POINTS.window(FixedWindows(MINUTE)))",
        "ArgumentError: the windows of collection 2 is "
        "FixedWindows(size=datetime.timedelta(seconds=60), offset=datetime.timedelta(0), phase=None) "
        "(a FixedWindows); it must be that of collection 1, GlobalWindows(), so that all are in the "
        "same windows",
    ),
    (
        "POINTS.inner_join(3)",
        "ArgumentError: collection 2 of inner_join is 3 (a int); it must be a keyed PCollection",
    ),
    (
        "POINTS.left_join(3)",
        "ArgumentError: collection 2 of left_join is 3 (a int); it must be a keyed PCollection",
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
        "ArgumentError: combiner is 3 (a int); it must be a combiner, such as Sum(), Count() or "
        "Mean.of(lambda v: v.points)",
    ),
    (
        "SCORES.combine_globally(Sum)",
        "ArgumentError: combiner is <class 'flowalg.combiners.Sum'> (a type); it must be a combiner, "
        "such as Sum(), Count() or Mean.of(lambda v: v.points)",
    ),
    ("SCORES.top(0)", "ArgumentError: TopN.n is 0 (a int); it must be a positive int"),
    (
        "SCORES.with_timestamps(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "SCORES.with_timestamps(points)",
        "ArgumentError: with_timestamps is '<points>' (a str); it must be a function to a datetime; "
        "this one gives int",
    ),
    (
        "SCORES.split(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    ("SCORES.only(3)", "ArgumentError: kind is 3 (a int); it must be a class"),
    ("SCORES.only(int | str)", "ArgumentError: kind is int | str (a UnionType); it must be a class"),
    ("SCORES.apply(3)", "ArgumentError: transform is 3 (a int); it must be a function from a PCollection"),
    ("flatten()", "ArgumentError: collections is () (a tuple); it must be one or more collections"),
    ("flatten(3)", "ArgumentError: collection 1 is 3 (a int); it must be a PCollection"),
    ("flatten(SCORES, 3)", "ArgumentError: collection 2 is 3 (a int); it must be a PCollection"),
    (
        "flatten(POINTS, POINTS.window(GlobalWindows(), trigger=AtCount(1)))",
        "ArgumentError: the trigger of collection 2 is AtCount(count=1) (a AtCount); it must be that "
        "of collection 1, Repeat(trigger=AtWatermark(percentile=None)), so that all are in the same "
        "windows",
    ),
    (
        "flatten(POINTS.combine_per_key(Sum()), SCORES)",
        "ArgumentError: collection 2 is 'scores' (a str); it must be in the same windows as "
        "collection 1: put window(...) after the groupings of both",
    ),
    ("TopN(0)", "ArgumentError: TopN.n is 0 (a int); it must be a positive int"),
    ("TopN(True)", "ArgumentError: TopN.n is True (a bool); it must be a positive int"),
    ("TopN('3')", "ArgumentError: TopN.n is '3' (a str); it must be a positive int"),
    (
        "TopN(1, by=3)",
        "ArgumentError: TopN.by is 3 (a int); it must be a function from a value to what it is ordered by",
    ),
    (
        "Sum.of(3)",
        "ArgumentError: the function is 3 (a int); it must be callable, such as lambda s: s.points",
    ),
    (
        "Mean.of(None)",
        "ArgumentError: the function is None (a NoneType); it must be callable, such as lambda s: s.points",
    ),
    (
        "Min.of('x')",
        "ArgumentError: the function is 'x' (a str); it must be callable, such as lambda s: s.points",
    ),
    (
        "Max.of(())",
        "ArgumentError: the function is () (a tuple); it must be callable, such as lambda s: s.points",
    ),
    (
        "to_json(3)",
        "ArgumentError: value is 3 (a int); it must be a value of the algebra, such as a "
        "PCollection, a Source, a trigger, windows or a combiner",
    ),
    (
        "to_json([])",
        "ArgumentError: value is [] (a list); it must be a value of the algebra, such as a "
        "PCollection, a Source, a trigger, windows or a combiner",
    ),
    (
        "to_json(Count(), indent=True)",
        "ArgumentError: indent is True (a bool); it must be an int of zero or more, or None",
    ),
    (
        "from_json(3, Count)",
        "ArgumentError: text is 3 (a int); it must be a str of JSON, as to_json gives it",
    ),
    (
        "from_json('', 'trigger')",
        "ArgumentError: expect is 'trigger' (a str); it must be a class, such as "
        "PCollection[object], or a Kind, such as TRIGGER",
    ),
    (
        "from_json('', PCollection)",
        "ArgumentError: expect is <class 'flowalg.pcollection.PCollection'> (a type); it must be "
        "given the types that it holds, such as PCollection[object] for any",
    ),
]


CASES: Final = TRIGGERS + WINDOWS + TIMES + COLLECTIONS


@pytest.mark.parametrize(("call", "message"), CASES)
def test_what_is_refused_says_why(call: str, message: str) -> None:
    """The argument, the value, its type, and what is valid. The calls are text: type checkers refuse most of them."""
    for f in (fails, three, points):
        message = message.replace(f"<{f.__name__}>", place_of(f))
    with pytest.raises(FlowalgError) as error:
        eval(call, {**vars(flowalg), **globals()})
    assert f"{type(error.value).__name__}: {error.value}" == message


CHECKED: Final = frozenset(
    f"flowalg.{module}"
    for module in (
        "assignment",
        "calendars",
        "collecting",
        "documents.document",
        "normal_forms",
        "pcollection",
        "source",
        "time",
        "timeline",
        "triggers",
        "windowing",
        "windows",
        "words",
    )
)
"""The modules whose public names this table covers."""


def test_every_public_name_is_in_the_table() -> None:
    """Each class and function of those modules that takes arguments has a call that is refused."""
    calls = " ".join(call for call, _ in CASES)
    for name in flowalg.__all__:
        value: object = getattr(flowalg, name)
        if not callable(value) or isinstance(value, EnumType | NewType) or value.__module__ not in CHECKED:
            continue
        if inspect.signature(value).parameters:
            assert re.search(rf"\b{name}[(.]", calls), name
