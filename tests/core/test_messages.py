"""The whole message of every constructor and function that takes arguments.

The tests catch an incomplete message, and an argument that is not checked.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from enum import EnumType
from typing import Final, NoReturn

import pytest
from flowalg_laws.strategies.computations import ECHO
from flowalg_tools.what_if import RecordedDelays, what_if

from flowalg import FixedWindows, FlowalgError, Timeline
from flowalg.data.errors import describe_function
from flowalg.watermarks import Perfect
from tests.support.public import PUBLIC
from tests.support.scores import NOON, POINTS, SCORES, Score, minute
from tests.support.tables import rows

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
HOURS: Final = FixedWindows(timedelta(hours=1))
RECORDS: Final = RecordedDelays.of([NOON], [NOON])
BY_POINTS: Final = SCORES.key_by(lambda s: s.points)
NAMES: Final = (ECHO, POINTS, UTC, date, datetime, minute, what_if)
"""Further names in the calls below, apart from those of flowalg."""


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


def negative(*arguments: object) -> timedelta:
    """Returns a negative duration."""
    return -DAY


def timeline(*scores: Score, **options: object) -> Timeline[Score]:
    """Returns a timeline of records, with options of which one is invalid."""
    options = {"watermark": Perfect(), **options}
    return Timeline.from_records(SCORES, scores, processing_time=lambda score: score.at, **options)  # type: ignore[arg-type]


MUST_BE: Final = {
    "a positive int": """
        AtCount(0) -> AtCount.count; got 0 (int)
        AtCount(True) -> AtCount.count; got True (bool)
        AtCount(1.0) -> AtCount.count; got 1.0 (float)
        AtMeasure(len, 0) -> AtMeasure.amount; got 0 (int)
        TopN(0) -> TopN.n; got 0 (int)
        SCORES.top(0) -> TopN.n; got 0 (int)
        POINTS.every(0) -> n; got 0 (int)
        POINTS.every(True) -> n; got True (bool)
    """,
    "a positive timedelta, such as timedelta(minutes=1)": """
        AtPeriod(60) -> AtPeriod.period; got 60 (int)
        AtPeriod(0 * MINUTE) -> AtPeriod.period; got datetime.timedelta(0) (timedelta)
        AfterInactivity(0 * MINUTE) -> AfterInactivity.gap; got datetime.timedelta(0) (timedelta)
        FixedWindows(0 * MINUTE) -> FixedWindows.size; got datetime.timedelta(0) (timedelta)
        SlidingWindows(0 * MINUTE, MINUTE) -> SlidingWindows.size; got datetime.timedelta(0) (timedelta)
        SlidingWindows(MINUTE, 0 * MINUTE) -> SlidingWindows.period; got datetime.timedelta(0) (timedelta)
        Sessions(0 * MINUTE) -> Sessions.gap; got datetime.timedelta(0) (timedelta)
        Perfect(idle_after=0 * MINUTE) -> Perfect.idle_after; got datetime.timedelta(0) (timedelta)
        Perfect(recent=0 * MINUTE) -> Perfect.recent; got datetime.timedelta(0) (timedelta)
        Perfect(resolution=None) -> Perfect.resolution; got None (NoneType)
        timeline(every=0 * MINUTE) -> every; got datetime.timedelta(0) (timedelta)
        timeline(tick=0 * MINUTE) -> tick; got datetime.timedelta(0) (timedelta)
        what_if(RECORDS, HOURS, every=0 * MINUTE) -> every; got datetime.timedelta(0) (timedelta)
        what_if(RECORDS, HOURS, tick=0 * MINUTE) -> tick; got datetime.timedelta(0) (timedelta)
        SCORES.deduplicate(by=len, within=0) -> within; got 0 (int)
    """,
    "a timedelta of zero or more": """
        AtPeriod(MINUTE, -DAY) -> AtPeriod.offset; got datetime.timedelta(days=-1) (timedelta)
        AtPeriod(MINUTE, 3) -> AtPeriod.offset; got 3 (int)
        AfterDelay(-DAY) -> AfterDelay.delay; got datetime.timedelta(days=-1) (timedelta)
        FixedWindows(MINUTE, -DAY) -> FixedWindows.offset; got datetime.timedelta(days=-1) (timedelta)
        FixedWindows(MINUTE, offset_by_key=three).assign(EventTime(0), 'k') -> the offset of a key; got 3 (int)
        FixedWindows(MINUTE, offset_by_key=negative).assign(EventTime(0), 'k') -> the offset of a key; got \
            datetime.timedelta(days=-1) (timedelta)
        SlidingWindows(MINUTE, MINUTE, -DAY) -> SlidingWindows.offset; got datetime.timedelta(days=-1) (timedelta)
        CalendarMonths('UTC', 6) -> CalendarMonths.offset; got 6 (int)
        CalendarWeeks('UTC', 0, -DAY) -> CalendarWeeks.offset; got datetime.timedelta(days=-1) (timedelta)
        BoundedOutOfOrderness(-DAY) -> BoundedOutOfOrderness.delay; got datetime.timedelta(days=-1) (timedelta)
        BoundedOutOfOrderness(None) -> BoundedOutOfOrderness.delay; got None (NoneType)
        Timeout(3) -> Timeout.delay; got 3 (int)
        ProcessingTimeLag(3) -> ProcessingTimeLag.delay; got 3 (int)
        IngressTime(max_ahead=-DAY) -> IngressTime.max_ahead; got datetime.timedelta(days=-1) (timedelta)
        MonotonicTimestamps(max_ahead=3) -> MonotonicTimestamps.max_ahead; got 3 (int)
    """,
    "a timedelta of zero or more, FOREVER, or None": """
        WindowingStrategy(allowed_lateness=3) -> allowed_lateness; got 3 (int)
        WindowingStrategy(allowed_lateness=-DAY) -> allowed_lateness; got datetime.timedelta(days=-1) (timedelta)
        WindowingStrategy(allowed_lateness='forever') -> allowed_lateness; got 'forever' (str)
        what_if(RECORDS, HOURS, lateness=[-DAY]) -> allowed_lateness; got datetime.timedelta(days=-1) (timedelta)
    """,
    "shorter than the period, 0:01:00": """
        AtPeriod(MINUTE, MINUTE) -> AtPeriod.offset; got datetime.timedelta(seconds=60) (timedelta)
        SlidingWindows(MINUTE, MINUTE, MINUTE) -> SlidingWindows.offset; got datetime.timedelta(seconds=60) (timedelta)
    """,
    "a float between 0 and 1, or None": """
        AtWatermark(1) -> AtWatermark.percentile; got 1 (int)
        AtWatermark(0.0) -> AtWatermark.percentile; got 0.0 (float)
        AtWatermark(1.0) -> AtWatermark.percentile; got 1.0 (float)
        AtWatermark(float('nan')) -> AtWatermark.percentile; got nan (float)
    """,
    "a float between 0 and 1, such as 0.99": """
        FittedLag(2.0) -> FittedLag.q; got 2.0 (float)
        LagQuantile(1.0) -> LagQuantile.q; got 1.0 (float)
        LagQuantile('0.5') -> LagQuantile.q; got '0.5' (str)
    """,
    "a float between 0 and 1": """
        Instant(ProcessingTime(0), (), MIN_TIME, {2: MIN_TIME}) -> a key of Instant.percentile_watermarks; got 2 (int)
        Timeline().at(NOON, percentiles={2.0: NOON}) -> a key of percentiles; got 2.0 (float)
        Timeline().at(NOON, percentiles={'x': NOON}) -> a key of percentiles; got 'x' (str)
    """,
    "a tuple of distinct floats between 0 and 1, such as (0.9, 0.99)": """
        Perfect(percentiles=(0.5, 0.5)) -> Perfect.percentiles; got (0.5, 0.5) (tuple)
        Perfect(percentiles=(0.0,)) -> Perfect.percentiles; got (0.0,) (tuple)
        Perfect(percentiles=(float('nan'),)) -> Perfect.percentiles; got (nan,) (tuple)
        Perfect(percentiles=[0.5]) -> Perfect.percentiles; got [0.5] (list)
    """,
    "a non-empty str": """
        AtSignal('') -> AtSignal.name; got '' (str)
        AtSignal(3) -> AtSignal.name; got 3 (int)
        CustomWindows('', len) -> CustomWindows.name; got '' (str)
        Source('', Score, event_time=len) -> Source.name; got '' (str)
        CustomPolicy('', len) -> CustomPolicy.name; got '' (str)
        combiner(zero=0, add=max, merge=max, name='') -> combiner.name; got '' (str)
        Signal('', 'a') -> Signal.name; got '' (str)
        Transition(1, clear=[1]) -> an item of Transition.clear; got 1 (int)
        EventTimer('', minute(0)) -> EventTimer.tag; got '' (str)
        Computation(initial=0, on_element=len, name='') -> Computation.name; got '' (str)
    """,
    "a once-trigger, such as AtWatermark(), AtCount(3), or an And/Or of once-triggers": """
        And(Repeat(AtCount(1))) -> And.triggers; got Repeat(trigger=AtCount(count=1)) (Repeat)
        Or(AtCount(1), 3) -> Or.triggers; got 3 (int)
        AtCount(1) & Repeat(AtCount(1)) -> And.triggers; got Repeat(trigger=AtCount(count=1)) (Repeat)
        AtCount(1) | 3 -> Or.triggers; got 3 (int)
        OrFinally(AtCount(1), Repeat(AtCount(1))) -> OrFinally.until; got Repeat(trigger=AtCount(count=1)) (Repeat)
        RepeatUntil(AtCount(1), 3) -> OrFinally.until; got 3 (int)
        AtCount(1).until(3) -> OrFinally.until; got 3 (int)
    """,
    "one or more once-triggers": """
        And() -> And.triggers; got () (tuple)
        Or() -> Or.triggers; got () (tuple)
    """,
    "a trigger, such as Repeat(AtWatermark())": """
        Repeat(AtCount) -> Repeat.trigger; got the class AtCount
        SequenceOf(3) -> SequenceOf.triggers; got 3 (int)
        AtCount(1) >> 3 -> SequenceOf.triggers; got 3 (int)
        OrFinally(3, AtCount(1)) -> OrFinally.main; got 3 (int)
        RepeatUntil(3, AtCount(1)) -> Repeat.trigger; got 3 (int)
        AtWatermark().with_early_firings(3) -> Repeat.trigger; got 3 (int)
        AtWatermark().with_early_firings(AtCount(1)).with_late_firings(3) -> Repeat.trigger; got 3 (int)
        normalise(3) -> trigger; got 3 (int)
        describe(3) -> trigger; got 3 (int)
        WindowingStrategy(trigger=AtCount) -> trigger; got the class AtCount
        POINTS.window(HOURS, trigger=3) -> trigger; got 3 (int)
    """,
    "a combiner, such as Sum(), Count() or Mean.of(lambda v: v.points)": """
        AtValue(3, bool) -> AtValue.combiner; got 3 (int)
        POINTS.combine_per_key(Sum) -> combiner 1; got the class Sum
        POINTS.combine_per_key(Sum(), sum) -> combiner 2; got <built-in function sum> (builtin_function_or_method)
        SCORES.combine_globally(3) -> combiner; got 3 (int)
        together(Count(), 3) -> combiner 2; got 3 (int)
    """,
    "one or more combiners, such as Sum()": """
        POINTS.combine_per_key() -> combiners; got () (tuple)
        together() -> combiners; got () (tuple)
    """,
    "immutable, such as a number, a tuple, a frozenset or a frozen record": """
        CustomTrigger(zero=[], add=max, merge=max, ready=bool) -> CustomTrigger.zero; got [] (list)
        combiner(zero=[], add=max, merge=max) -> combiner.zero; got [] (list)
    """,
    "a function": """
        CustomTrigger(zero=0, add=max, merge=3, ready=bool) -> CustomTrigger.merge; got 3 (int)
        combiner(zero=0, add=3, merge=max) -> combiner.add; got 3 (int)
        combiner(zero=0, add=max, merge=None) -> combiner.merge; got None (NoneType)
        combiner(zero=0, add=max, merge=max, extract=1) -> combiner.extract; got 1 (int)
        combiner(zero=0, add=max, merge=max, subtract=1) -> combiner.subtract; got 1 (int)
        Computation(initial=0, on_element=3) -> Computation.on_element; got 3 (int)
    """,
    "callable, such as lambda s: s.points": """
        SCORES.map(3) -> the function; got 3 (int)
        SCORES.filter(3) -> the function; got 3 (int)
        SCORES.flat_map(3) -> the function; got 3 (int)
        SCORES.key_by(3) -> the function; got 3 (int)
        SCORES.with_timestamps(3) -> the function; got 3 (int)
        SCORES.split(3) -> the function; got 3 (int)
        POINTS.map_values(3) -> the function; got 3 (int)
        POINTS.combine_per_key(Sum(), into=3) -> the function; got 3 (int)
        together(Count(), Count(), into=3) -> the function; got 3 (int)
        Sum.of(3) -> the function; got 3 (int)
        Mean.of(None) -> the function; got None (NoneType)
        Min.of('x') -> the function; got 'x' (str)
        Max.of(()) -> the function; got () (tuple)
    """,
    "the name of a time zone, such as 'Europe/Berlin'": """
        CalendarDays('Mars/Base') -> CalendarDays.zone; got 'Mars/Base' (str)
        CalendarMonths('') -> CalendarMonths.zone; got '' (str)
        CalendarWeeks('../etc') -> CalendarWeeks.zone; got '../etc' (str)
        CalendarDays(3) -> CalendarDays.zone; got 3 (int)
    """,
    "an int from 0 (Monday) to 6 (Sunday)": """
        CalendarWeeks('UTC', 7) -> CalendarWeeks.first_day; got 7 (int)
        CalendarWeeks('UTC', True) -> CalendarWeeks.first_day; got True (bool)
        CalendarWeeks('UTC', 1.0) -> CalendarWeeks.first_day; got 1.0 (float)
    """,
    "an EventTime, such as event_time(...) returns": """
        Window(NOON, minute(1)) -> Window.start; got datetime.datetime(2024, 1, 1, 12, 0, \
            tzinfo=datetime.timezone.utc) (datetime)
        Window(ProcessingTime(0), EventTime(1)) -> Window.start; got ProcessingTime('1970-01-01T00:00:00Z') \
            (ProcessingTime)
        Instant(ProcessingTime(0), (), 'now') -> Instant.watermark; got 'now' (str)
        Instant(ProcessingTime(0), (), MIN_TIME, {0.5: 3}) -> Instant.percentile_watermarks[0.5]; got 3 (int)
    """,
    "a ProcessingTime, such as processing_time(...) returns": """
        Instant(3, (), MIN_TIME) -> Instant.processing_time; got 3 (int)
        Instant(MIN_TIME, (), MIN_TIME) -> Instant.processing_time; got EventTime('0001-01-03T00:00:00Z') (EventTime)
    """,
    "a point between 0001-01-03T00:00:00Z and 9999-12-30T00:00:00Z": """
        Window(EventTime(0), EventTime(2**70)) -> Window.end; got EventTime(1180591620717411303424) (EventTime)
        event_time(datetime(9999, 12, 31, tzinfo=UTC)) -> event_time; got datetime.datetime(9999, 12, 31, 0, 0, \
            tzinfo=datetime.timezone.utc) (datetime)
        EventTime('0001-01-02T00:00Z') -> EventTime; got datetime.datetime(1, 1, 2, 0, 0, \
            tzinfo=datetime.timezone.utc) (datetime)
        ProcessingTime(2**80).datetime -> point; got ProcessingTime(1208925819614629174706176) (ProcessingTime)
        Instant(ProcessingTime(2**70), (), MIN_TIME) -> Instant.processing_time; got \
            ProcessingTime(1180591620717411303424) (ProcessingTime)
    """,
    "a timezone-aware datetime": """
        event_time(date(2024, 1, 1)) -> event_time; got datetime.date(2024, 1, 1) (date)
        processing_time('2024-01-01') -> processing_time; got '2024-01-01' (str)
        Timeline().at(3) -> time; got 3 (int)
        Timeline().at(NOON, watermark=3) -> watermark; got 3 (int)
        Timeline().at(NOON, percentiles={0.5: 3}) -> percentiles[0.5]; got 3 (int)
        Timeline().end(3) -> time; got 3 (int)
        Timeline.batch([], time=3) -> time; got 3 (int)
        Transition(1, emit_at=[(3, 3)]) -> the event time of an item of Transition.emit_at; got 3 (int)
        EventTimer('a', 3) -> EventTimer.at; got 3 (int)
    """,
    "a timezone-aware datetime, such as datetime(2013, 1, 1, tzinfo=UTC)": """
        event_time(datetime(2024, 1, 1)) -> event_time; got datetime.datetime(2024, 1, 1, 0, 0) (datetime): it is \
            naive; attach a time zone
        processing_time(datetime(2024, 1, 1)) -> processing_time; got datetime.datetime(2024, 1, 1, 0, 0) \
            (datetime): it is naive; attach a time zone
        Timeline().at(datetime(2024, 1, 1)) -> time; got datetime.datetime(2024, 1, 1, 0, 0) (datetime): it is \
            naive; attach a time zone
        Transition(1, hold=datetime(2024, 1, 1)) -> Transition.hold; got datetime.datetime(2024, 1, 1, 0, 0) \
            (datetime): it is naive; attach a time zone
        ProcessingTimer('a', datetime(2024, 1, 1)) -> ProcessingTimer.at; got datetime.datetime(2024, 1, 1, 0, 0) \
            (datetime): it is naive; attach a time zone
    """,
    "an int of microseconds since the epoch, or text such as '2024-01-01T12:00:00Z'": """
        EventTime('x') -> EventTime; got 'x' (str)
        EventTime(1.5) -> EventTime; got 1.5 (float)
        EventTime(NOON) -> EventTime; got datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc) (datetime)
        ProcessingTime(True) -> ProcessingTime; got True (bool)
        EventTime('2024-01-01') -> EventTime; got '2024-01-01' (str): it has no offset from UTC, so it names no \
            point in time
    """,
    "a window function, such as FixedWindows(timedelta(minutes=2))": """
        POINTS.window(MINUTE) -> windows; got datetime.timedelta(seconds=60) (timedelta)
        WindowingStrategy(FixedWindows) -> windows; got the class FixedWindows
        what_if(RECORDS, MINUTE) -> windows; got datetime.timedelta(seconds=60) (timedelta)
    """,
    "Accumulation.DISCARDING or Accumulation.ACCUMULATING or Accumulation.RETRACTING": """
        WindowingStrategy(accumulation='all') -> accumulation; got 'all' (str)
        WindowingStrategy(accumulation=Accumulation) -> accumulation; got the class Accumulation
    """,
    "a mapping from percentiles to watermarks": """
        Instant(ProcessingTime(0), (), MIN_TIME, 3) -> Instant.percentile_watermarks; got 3 (int)
        Timeline().at(NOON, percentiles=3) -> percentiles; got 3 (int)
    """,
    "a frozenset of names and Signals": """
        Instant(ProcessingTime(0), (), MIN_TIME, {}, 'go') -> Instant.signals; got 'go' (str)
        Instant(ProcessingTime(0), (), MIN_TIME, {}, frozenset([3])) -> Instant.signals; got frozenset({3}) (frozenset)
    """,
    "the names of signals, such as ['go']": """
        Timeline().at(NOON, signals='go') -> signals; got 'go' (str)
        Timeline().at(NOON, signals=3) -> signals; got 3 (int)
    """,
    "the name of a signal, a str, or a Signal": """
        Timeline().at(NOON, signals=[3]) -> signals; got 3 (int)
        Timeline().at(NOON, signals=[[]]) -> signals; got [] (list)
    """,
    "at or after 2024-01-01T12:01:00Z": """
        Timeline().at(minute(1)).at(NOON) -> processing_time; got ProcessingTime('2024-01-01T12:00:00Z') \
            (ProcessingTime)
        Timeline().at(minute(1)).end(NOON) -> processing_time; got ProcessingTime('2024-01-01T12:00:00Z') \
            (ProcessingTime)
        Timeline().at(minute(1), watermark=minute(1)).at(minute(2), watermark=NOON) -> watermark; got \
            EventTime('2024-01-01T12:00:00Z') (EventTime)
        Timeline().at(minute(1), percentiles={0.5: minute(1)}).at(minute(2), percentiles={0.5: NOON}) -> \
            percentile_watermarks[0.5]; got EventTime('2024-01-01T12:00:00Z') (EventTime)
    """,
    "an iterable of records, such as a list": """
        Timeline.micro_batches(SCORES, [3], processing_time=len, watermark=Perfect()) -> a batch; got 3 (int)
        Timeline.from_records(SCORES, 'abc', processing_time=len, watermark=Perfect()) -> records; got 'abc' (str)
    """,
    "a watermark policy, such as BoundedOutOfOrderness(timedelta(seconds=30))": """
        timeline(watermark=MINUTE) -> watermark; got datetime.timedelta(seconds=60) (timedelta)
        what_if(RECORDS, HOURS, policies=[5]) -> an element of policies; got 5 (int)
    """,
    "a str": """
        timeline(Score('a', 1, NOON), partition=points) -> the partition of a record; got 1 (int)
        SCORES.apply(len, label=3) -> label; got 3 (int)
        PTransform.of(Score, lambda scores: scores, name=3) -> PTransform.name; got 3 (int)
        PTransform.identity(Score).named(3) -> PTransform.name; got 3 (int)
        ptransform(name=3) -> name; got 3 (int)
    """,
    "a set of the names of partitions, such as {'north', 'south'}": """
        Perfect(partitions={1}) -> Perfect.partitions; got frozenset({1}) (frozenset)
        Perfect(partitions='a') -> Perfect.partitions; got 'a' (str)
    """,
    "a non-empty sequence, or None for a grid from the records": """
        what_if(RECORDS, HOURS, policies=[]) -> policies; got [] (list)
        what_if(RECORDS, HOURS, lateness=[]) -> lateness; got [] (list)
    """,
    "a PCollection": """
        sources(3) -> pipeline; got 3 (int)
        PTransform.identity(Score)(3) -> the input of the transform; got 3 (int)
        flatten(SCORES, 3) -> collection 2; got 3 (int)
    """,
    "a side input, as as_singleton() and as_map() give": """
        SCORES.with_side(3) -> side; got 3 (int)
        SCORES.with_side(SCORES) -> side; got Source(node=scores) (Source)
    """,
    "two to four": """
        POINTS.co_group_by_key() -> the number of collections; got 1 (int)
        POINTS.co_group_by_key(POINTS, POINTS, POINTS, POINTS) -> the number of collections; got 5 (int)
    """,
    "a keyed PCollection": """
        POINTS.co_group_by_key(POINTS, 3) -> collection 3 of co_group_by_key; got 3 (int)
        POINTS.inner_join(3) -> collection 2 of inner_join; got 3 (int)
        POINTS.left_join(3) -> collection 2 of left_join; got 3 (int)
    """,
    "a class": """
        SCORES.only(3) -> kind; got 3 (int)
        SCORES.only(int | str) -> kind; got int | str (UnionType)
    """,
    "a function whose parameters are annotated as PCollection[...]": """
        ptransform(3) -> ptransform; got 3 (int)
        ptransform(len) -> ptransform; got <built-in function len> (builtin_function_or_method)
    """,
    "an int of zero or more, or None": """
        to_json(Count(), indent=-1) -> indent; got -1 (int)
        to_json(Count(), indent=True) -> indent; got True (bool)
    """,
    "a key: hashable, and with an order": """
        Signal('flush', []) -> Signal.key; got [] (list)
        Signal('flush', 1j) -> Signal.key; got 1j (complex)
    """,
    "a state, if the transition sets timers or a hold: the state None frees the key": """
        Transition(None, set=[EventTimer('end', minute(0))]) -> Transition.state; got None (NoneType)
        Transition(None, hold=minute(0)) -> Transition.state; got None (NoneType)
    """,
    "one timer for the tag 'a', not cleared": """
        Transition(1, set=[EventTimer('a', minute(0)), ProcessingTimer('a', minute(1))]) -> Transition.set; got \
            [EventTimer(tag='a', at=datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc)), \
            ProcessingTimer(tag='a', at=datetime.datetime(2024, 1, 1, 12, 1, tzinfo=datetime.timezone.utc))] (list)
        Transition(1, set=[EventTimer('a', minute(0))], clear=['a']) -> Transition.set; got [EventTimer(tag='a', \
            at=datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc))] (list)
    """,
    "a state, immutable and not None, such as a number, a tuple or a frozen record": """
        Computation(initial=None, on_element=len) -> Computation.initial; got None (NoneType)
        Computation(initial=[], on_element=len) -> Computation.initial; got [] (list)
    """,
    "a function, or None": """
        Computation(initial=0, on_element=len, on_timer=3) -> Computation.on_timer; got 3 (int)
        Computation(initial=0, on_element=len, on_retraction=3) -> Computation.on_retraction; got 3 (int)
    """,
    "a bool": """
        Computation(initial=0, on_element=len, commutative=1) -> Computation.commutative; got 1 (int)
        POINTS.process(ECHO, in_order=1) -> in_order; got 1 (int)
    """,
}
"""The valid values of an argument, and calls with the argument and the invalid value that the error names."""

TYPES: Final = (
    "bool, int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a record class (a frozen one of attrs, "
    "dataclasses, pydantic or msgspec, or a NamedTuple), KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], "
    "Maybe[T], Result[T, E], or a union of them, also with None"
)

MESSAGES: Final = """
    what_if(RECORDS, HOURS, lateness=[None]) -> ArgumentError: an element of lateness must be a timedelta of \
        zero or more, or FOREVER; got None (NoneType)
    FixedWindows(MINUTE, MINUTE) -> ArgumentError: FixedWindows.offset must be shorter than the size, 0:01:00; \
        got datetime.timedelta(seconds=60) (timedelta)
    CalendarDays('UTC', timedelta(1)) -> ArgumentError: CalendarDays.offset must be a time of day: less than 24 \
        hours; got datetime.timedelta(days=1) (timedelta)
    Perfect(percentiles=(0.5,), lag_percentiles=(0.5, 0.9)) -> ArgumentError: Perfect.lag_percentiles must be \
        quantiles that are not in percentiles, which has (0.5,); got (0.5, 0.9) (tuple)
    SequenceOf() -> ArgumentError: SequenceOf.triggers must be one or more triggers; got () (tuple)
    AtCount(2).repeat() & AtWatermark() -> ArgumentError: the left operand of & must be a trigger that fires \
        once, such as AtCount(3); repeat the combination instead: (a & b).repeat(); got \
        Repeat(trigger=AtCount(count=2)) (Repeat)
    AtValue(ToList(), bool) -> ArgumentError: AtValue.combiner must be a combiner that does not depend on the \
        order of values, which no instant has; got ToList() (ToList)
    AtMeasure(3, 1) -> ArgumentError: AtMeasure.measure must be a function from a value to a non-negative int; \
        got 3 (int)
    AtElement(None) -> ArgumentError: AtElement.predicate must be a function from a value to a bool; got None (NoneType)
    AtValue(Sum(), 3) -> ArgumentError: AtValue.predicate must be a function from the combined value to a bool; \
        got 3 (int)
    reduce_combiner(3, zero=0) -> ArgumentError: reduce_combiner.f must be a function of two values, such as \
        math.gcd; got 3 (int)
    CustomTrigger(zero=0, add=max, merge=max, ready=bool, due=3) -> ArgumentError: CustomTrigger.due must be a \
        function to a datetime or None, EVERY_INSTANT, or None; got 3 (int)
    CustomWindows('mine', 3) -> ArgumentError: CustomWindows.assign_with must be a function from an event time \
        and a key to windows; got 3 (int)
    CustomWindows('mine', len, 3) -> ArgumentError: CustomWindows.merge_with must be a function to groups of \
        windows, or None; got 3 (int)
    WindowsByValue('mine', 3) -> ArgumentError: WindowsByValue.assign_with must be a function from an event \
        time, a key and a value to windows; got 3 (int)
    FixedWindows(MINUTE, offset_by_key=3) -> ArgumentError: FixedWindows.offset_by_key must be a function from a \
        key to a timedelta; got 3 (int)
    CustomPolicy('mine', 3) -> ArgumentError: CustomPolicy.watermark_of must be a function from a ClockView to a \
        datetime or None; got 3 (int)
    TopN(1, by=3) -> ArgumentError: TopN.by must be a function from a value to its sort key, or None; got 3 (int)
    Source('s', Score, event_time=3) -> ArgumentError: Source.event_time must be a function, such as lambda \
        score: score.at, or INGRESS_TIME; got 3 (int)
    MergedWindow(3, [GLOBAL_WINDOW]) -> ArgumentError: MergedWindow.window must be a Window; got 3 (int)
    MergedWindow(GLOBAL_WINDOW, []) -> ArgumentError: MergedWindow.parts must be one or more Windows; got () (tuple)
    Window(EventTime(3), EventTime(3)) -> ArgumentError: Window.end must be after the start, \
        1970-01-01T00:00:00.000003Z; got EventTime('1970-01-01T00:00:00.000003Z') (EventTime)
    WindowingStrategy(timestamp_combiner='end') -> ArgumentError: timestamp_combiner must be \
        TimestampCombiner.END_OF_WINDOW or TimestampCombiner.EARLIEST or TimestampCombiner.LATEST; got 'end' (str)
    WindowingStrategy(on_time_behavior=True) -> ArgumentError: on_time_behavior must be \
        OnTimeBehavior.IF_CHANGED or OnTimeBehavior.ALWAYS; got True (bool)
    Instant(ProcessingTime(0), [], MIN_TIME) -> ArgumentError: Instant.elements must be a tuple; got [] (list)
    Timeline([]) -> ArgumentError: Timeline.instants must be a tuple of instants; got [] (list)
    Timeline((3,)) -> ArgumentError: Timeline.instants must be instants only; at(...) adds one; got 3 (int)
    Timeline.batch(3, time=NOON) -> ArgumentError: elements must be an iterable of elements; got 3 (int)
    Timeline.micro_batches(3, [], processing_time=len, watermark=Perfect()) -> ArgumentError: source must be the \
        Source of the records; got 3 (int)
    Timeline.micro_batches(SCORES, 3, processing_time=len, watermark=Perfect()) -> ArgumentError: batches must \
        be an iterable of sequences of records, such as a list; got 3 (int)
    Timeline.micro_batches(SCORES, [], processing_time=3, watermark=Perfect()) -> ArgumentError: processing_time \
        must be a function from a record to its processing time; got 3 (int)
    timeline(partition=3) -> ArgumentError: partition must be a function from a record to a str, or None; got 3 (int)
    timeline(published=3) -> ArgumentError: published must be a function from a record to the watermark that it \
        carries, or None; got 3 (int)
    FittedLag(0.5, 'gamma') -> ArgumentError: FittedLag.distribution must be a LagDistribution, such as \
        LagDistribution.GAMMA; got 'gamma' (str)
    what_if([NOON], HOURS) -> ArgumentError: records must be RecordedDelays, such as \
        RecordedDelays.of(event_times, processing_times); got [datetime.datetime(2024, 1, 1, 12, 0, \
        tzinfo=datetime.timezone.utc)] (list)
    what_if(RECORDS, HOURS).recommendation(dropped=2) -> ArgumentError: dropped must be a share, between 0 and \
        1; got 2 (int)
    PCollection(3) -> ArgumentError: PCollection.node must be a node; collections begin with Source(...); got 3 (int)
    SideInput(3, 4) -> ArgumentError: SideInput must be made by as_singleton() or as_map(); got (3, 4) (tuple)
    POINTS.co_group_by_key(POINTS.window(FixedWindows(MINUTE))) -> ArgumentError: the windows of collection 2 \
        must be the same as in collection 1, GlobalWindows(), so that all are in the same windows; got \
        FixedWindows(size=datetime.timedelta(seconds=60), offset=datetime.timedelta(0), offset_by_key=None) \
        (FixedWindows)
    SCORES.apply(three, label='all') -> ArgumentError: the result of 'all' must be a PCollection, or a tuple of \
        them; got 3 (int)
    SCORES.apply(3) -> ArgumentError: transform must be a PTransform, or a function from a PCollection; got 3 (int)
    PTransform.of(Score, three) -> ArgumentError: the result of <three> must be a PCollection, or a tuple of them; \
        got 3 (int)
    (PTransform.identity(Score) & PTransform.identity(int))(3) -> ArgumentError: the input of the transform must be \
        a tuple (a collection of Score, a collection of int); got 3 (int)
    (PTransform.identity(Score) & PTransform.identity(int)).named('pair')(SCORES) -> ArgumentError: the input of \
        transform 'pair' must be a tuple (a collection of Score, a collection of int); got Source(node=scores) \
        (Source): these are 1 of 2 inputs
    (SCORES,) >> (PTransform.identity(Score) & PTransform.identity(int)) -> ArgumentError: the input of the transform \
        must be a tuple (a collection of Score, a collection of int); got (Source(node=scores),) (tuple): these are 1 \
        of 2 inputs
    (SCORES, SCORES) >> (PTransform.identity(Score) & PTransform.identity(int)) -> ArgumentError: input 2 of the \
        transform must be a collection of int; got (Source(node=scores), Source(node=scores)) (tuple): its elements \
        are Score
    PTransform.identity(Score) >> (PTransform.identity(Score) & PTransform.identity(int)) -> ArgumentError: the \
        input of the transform must be a tuple (a collection of Score, a collection of int); got \
        PTransform('transform: (…)') (PTransform): these are 1 of 2 inputs
    (PTransform.identity(Score) & PTransform.identity(int)) >> PTransform.identity(Score) -> ArgumentError: the input \
        of the transform must be a PCollection; got PTransform('transform: (…), (…)') (PTransform): these are 2 \
        inputs
    PTransform.identity(Score) >> three -> ArgumentError: the result of <three> must be a PCollection, or a tuple of \
        them; got 3 (int)
    PTransform(3, 3) -> ArgumentError: PTransform must be made by PTransform.of(...), PTransform.identity(...) \
        or @ptransform; got (3, 3) (tuple)
    PTransform.of(Score, 3) -> ArgumentError: build must be a function from a PCollection to a PCollection; got 3 (int)
    PTransform.identity(Score)(POINTS) -> ArgumentError: the input of the transform must be a collection of \
        Score; got PCollection(node=scores > key_by(<lambda> at tests/support/scores.py:29) > map_values(<lambda> at \
        tests/support/scores.py:29)) (PCollection): its elements are KV[str, int]
    PTransform.identity(Score) >> PTransform.identity(int).named('numbers') -> ArgumentError: the input of \
        transform 'numbers' must be a collection of int; got PTransform('transform: (…)') (PTransform): its elements \
        are Score
    flatten() -> ArgumentError: collections must be one or more collections; got () (tuple)
    flatten(POINTS, POINTS.window(GlobalWindows(), trigger=AtCount(1))) -> ArgumentError: the trigger of \
        collection 2 must be the same as in collection 1, Repeat(trigger=AtWatermark(percentile=None)), so that all \
        are in the same windows; got AtCount(count=1) (AtCount)
    flatten(POINTS.combine_per_key(Sum()), SCORES) -> ArgumentError: collection 2 must be in the same windows as \
        collection 1: put window(...) after the groupings of both; got 'scores' (str)
    to_json(3) -> ArgumentError: value must be a value of the algebra, such as a PCollection, a Source, a \
        trigger, windows or a combiner; got 3 (int)
    from_json(3, Count) -> ArgumentError: text must be a str of JSON, as to_json writes it; got 3 (int)
    from_json('', 'trigger') -> ArgumentError: expect must be a class, such as PCollection[object], or a Kind, \
        such as TRIGGER; got 'trigger' (str)
    from_json('', PCollection) -> ArgumentError: expect must be a class with its type arguments, such as \
        PCollection[object]; got the class PCollection
    flatten(POINTS.window(HOURS), POINTS) -> ArgumentError: the windows of collection 2 must be the same as in \
        collection 1, FixedWindows(size=datetime.timedelta(seconds=3600), offset=datetime.timedelta(0), \
        offset_by_key=None), so that all are in the same windows; got GlobalWindows() (GlobalWindows)
    Signal('flush', 'a', (1, 2)) -> ArgumentError: Signal.window must be a Window, or None for all windows of \
        the key; got (1, 2) (tuple)
    Transition(1, emit='text') -> ArgumentError: Transition.emit must be a tuple or list of outputs; got 'text' (str)
    Transition(1, emit_at=[3]) -> ArgumentError: an item of Transition.emit_at must be a pair (event time, \
        output); got 3 (int)
    Transition(1, set=['end']) -> ArgumentError: an item of Transition.set must be an EventTimer or a \
        ProcessingTimer; got 'end' (str)
    Transition(1, set=EventTimer('end', minute(0))) -> ArgumentError: Transition.set must be a tuple or list of \
        timers; got EventTimer(tag='end', at=datetime.datetime(2024, 1, 1, 12, 0, tzinfo=datetime.timezone.utc)) \
        (EventTimer)
    Transition(1, clear='end') -> ArgumentError: Transition.clear must be a tuple or list of tags of timers; got \
        'end' (str)
    POINTS.process(Sum()) -> ArgumentError: computation must be a Computation, such as Computation(initial=0, \
        on_element=...); got Sum() (Sum)
    POINTS.process(ECHO, late='drop') -> ArgumentError: late must be Late.OBSERVE, Late.DROP, or None; got 'drop' (str)
    POINTS.process(ECHO, in_order=True, late=Late.OBSERVE) -> ArgumentError: late of process(echo) must be \
        Late.DROP, or unset, for a computation in order: its order cannot wait for late elements; got <Late.OBSERVE: \
        'observe'> (Late)
    WindowsByValue('auctions', lambda time, key, value: [value]).assign(EventTime(0), 'k', 3) -> ElementError: \
        the result of auctions.assign must be Windows that contain 1970-01-01T00:00:00Z; got 3 (int)
    CustomWindows('mine', threes).assign(EventTime(0), 'k') -> ElementError: the result of mine.assign must be \
        Windows that contain 1970-01-01T00:00:00Z; got 3 (int)
    CustomWindows('mine', fails).assign(EventTime(0), 'k') -> UserFunctionError: mine.assign: <fails> raised \
        ZeroDivisionError: no; its argument was (EventTime('1970-01-01T00:00:00Z'), 'k') (tuple)
    CustomWindows('mine', three).assign(EventTime(0), 'k') -> UserFunctionError: mine.assign: <three> raised \
        TypeError: 'int' object is not iterable; its argument was (EventTime('1970-01-01T00:00:00Z'), 'k') (tuple)
    CustomWindows('mine', len, fails).merge([GLOBAL_WINDOW]) -> UserFunctionError: mine.merge: <fails> raised \
        ZeroDivisionError: no; its argument was (Window(start=EventTime('0001-01-03T00:00:00Z'), \
        end=EventTime('9999-12-30T00:00:00Z')),) (tuple)
    CustomWindows('mine', len, three).merge([GLOBAL_WINDOW]) -> UserFunctionError: mine.merge: <three> raised \
        TypeError: 'int' object is not iterable; its argument was (Window(start=EventTime('0001-01-03T00:00:00Z'), \
        end=EventTime('9999-12-30T00:00:00Z')),) (tuple)
    CustomWindows('mine', len, lambda windows: []).merge([GLOBAL_WINDOW]) -> ElementError: the result of \
        mine.merge must be a partition of (Window(start=EventTime('0001-01-03T00:00:00Z'), \
        end=EventTime('9999-12-30T00:00:00Z')),) (tuple) into groups; got [] (list)
    Source('s', 3, event_time=len) -> RecordTypeError: 3 (int) is not a type; it must be <types>
    Source('s', [int], event_time=len) -> RecordTypeError: [<class 'int'>] (list) is not a type; it must be <types>
    PTransform.of(3, len) -> RecordTypeError: 3 (int) is not a type; it must be <types>
    SCORES.map(len, result=3) -> RecordTypeError: the result of builtins.len is 3 (int), which is not a type; it \
        must be <types>
    Source('s', dict, event_time=len) -> RecordTypeError: dict is not an element type; it must be <types>; \
        define a record class: use @dataclass(frozen=True) on a class with annotated fields
    SCORES.flat_map(len, result=dict) -> RecordTypeError: the result of builtins.len[…] has type dict, which is \
        not an element type; it must be <types>; define a record class: use @dataclass(frozen=True) on a class with \
        annotated fields
    Source('s', Score, event_time=points) -> ElementError: the result of Source.event_time (<points>) must be a \
        datetime; its type is int
    SCORES.with_timestamps(points) -> ElementError: the result of with_timestamps(<points>) must be a datetime; \
        its type is int
    SCORES.filter(points).key_by(three).combine_per_key(Count()) -> ElementError: the result of filter(<points>) \
        must be a bool; its type is int
    SCORES.flat_map(points).key_by(three).combine_per_key(Count()) -> ElementError: the result of \
        flat_map(<points>) must be an iterable of elements; its type is int
    SCORES.map_values(len) -> KeyedCollectionError: map_values(builtins.len) needs elements that are KV(key, \
        value) pairs, and these are Score; call key_by(...) first
    SCORES.combine_per_key(Sum()) -> KeyedCollectionError: combine_per_key(Sum) needs elements that are KV(key, \
        value) pairs, and these are Score; call key_by(...) first
    SCORES.group_by_key() -> KeyedCollectionError: group_by_key needs elements that are KV(key, value) pairs, \
        and these are Score; call key_by(...) first
    POINTS.co_group_by_key(SCORES) -> KeyedCollectionError: co_group_by_key needs elements that are KV(key, \
        value) pairs, and these are Score; call key_by(...) first
    POINTS.inner_join(SCORES) -> KeyedCollectionError: inner_join needs elements that are KV(key, value) pairs, \
        and these are Score; call key_by(...) first
    SCORES.left_join(POINTS) -> KeyedCollectionError: left_join needs elements that are KV(key, value) pairs, \
        and these are Score; call key_by(...) first
    POINTS.co_group_by_key(BY_POINTS) -> KeyedCollectionError: co_group_by_key needs keys of one type: those of \
        collection 1 are str, and those of collection 2 are int
    SCORES.key_by(three, result=list[int]).combine_per_key(Count()) -> KeyedCollectionError: \
        combine_per_key(Count) needs keys that are hashable, and these are list[int]; use tuple or frozenset instead \
        of list and set
    SCORES.as_map() -> KeyedCollectionError: as_map needs elements that are KV(key, value) pairs, and these are \
        Score; call key_by(...) first
    PTransform.of(object, lambda scores: scores) -> RecordTypeError: object is not an element type; it must be <types>
"""
"""Other calls, with the class of the error and its message."""


def cases() -> Iterator[tuple[str, str]]:
    """Yields all calls with the class of their error and its message, which may contain placeholders."""
    for valid, table in MUST_BE.items():
        for call, message in rows(table):
            argument, value = message.split("; got ")
            yield call, f"ArgumentError: {argument} must be {valid}; got {value}"
    yield from rows(MESSAGES)


PLACEHOLDERS: Final = {
    "<types>": TYPES,
    **{f"<{f.__name__}>": describe_function(f) for f in (fails, three, points)},
}
CASES: Final = {
    call: re.sub(r"<\w+>", lambda name: PLACEHOLDERS.get(name[0], name[0]), message)
    for call, message in cases()
}


@pytest.mark.parametrize("call", CASES)
def test_invalid_arguments_are_errors_with_a_whole_message(call: str) -> None:
    """The error of an invalid call names the argument, its value and type, and what is valid."""
    with pytest.raises(FlowalgError) as error:
        eval(call, {**PUBLIC, **globals()})
    assert f"{type(error.value).__name__}: {error.value}" == CASES[call]


CHECKED: Final = frozenset(
    f"flowalg.{module}"
    for module in (
        "windows.window_functions",
        "windows.calendars",
        "combiners.collections",
        "combiners.functional",
        "watermarks.policies",
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
    calls = " ".join(CASES)
    for name, value in PUBLIC.items():
        if not callable(value) or isinstance(value, EnumType) or value.__module__ not in CHECKED:
            continue
        if inspect.signature(value).parameters:
            assert re.search(rf"\b{name}[(.]", calls), name
