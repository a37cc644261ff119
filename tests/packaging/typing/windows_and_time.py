"""Windows, times, timelines and panes: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal, assert_type

from flowalg import (
    FOREVER,
    GLOBAL_WINDOW,
    KV,
    MAX_TIME,
    MIN_TIME,
    Accumulation,
    AllowedLateness,
    AtCount,
    BoundedOutOfOrderness,
    CalendarDays,
    CalendarMonths,
    CalendarWeeks,
    Change,
    CustomWindows,
    Drop,
    DropReason,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Instant,
    MergedWindow,
    OnTimeBehavior,
    Pane,
    PaneInfo,
    PaneTiming,
    ProcessingTime,
    Sessions,
    Signal,
    SlidingWindows,
    Source,
    Timeline,
    TimestampCombiner,
    Timing,
    Trigger,
    Window,
    WindowBounds,
    WindowFn,
    WindowingStrategy,
    WindowsByValue,
    event_time,
    processing_time,
)
from flowalg.data.time import Micros
from flowalg.runs.micro_batches import GeneratedBy
from flowalg.windows.strategy import Forever
from flowalg.windows.window_functions import Assign, AssignByValue, Merge, OffsetByKey, assign_windows
from tests.packaging.typing.records import Flight

MINUTE = timedelta(minutes=1)


def times(point: datetime, event: EventTime, processing: ProcessingTime) -> None:
    """Two time domains, and their bounds."""
    assert_type(event_time(point), EventTime)
    assert_type(processing_time(point), ProcessingTime)
    assert_type(event.datetime, datetime)
    assert_type(processing.datetime, datetime)
    assert_type(EventTime(3), EventTime)
    assert_type(ProcessingTime("2024-01-01T12:00:00Z"), ProcessingTime)
    assert_type(event - event, int)
    assert_type(max(event, event), EventTime)
    assert_type(MIN_TIME, EventTime)
    assert_type(MAX_TIME, EventTime)


def windows(window: Window, event: EventTime) -> None:
    """Windows are intervals of event time."""
    assert_type(Window(event, event), Window)
    assert_type(GLOBAL_WINDOW, Window)
    assert_type(window.start, EventTime)
    assert_type(sorted([window]), list[Window])
    assert_type(window.end, EventTime)
    assert_type(window.last_instant, EventTime)
    assert_type(event in window, bool)


def strategies(every: WindowFn, event: EventTime, key: str, some: list[Window]) -> None:
    """Window functions; ``every`` represents all of them."""
    assert_type(GlobalWindows(), GlobalWindows)
    assert_type(FixedWindows(MINUTE, offset=timedelta(0)), FixedWindows)
    assert_type(FixedWindows(MINUTE, offset_by_key=lambda team: MINUTE * team), FixedWindows)
    assert_type(SlidingWindows(MINUTE, MINUTE / 2, offset=timedelta(0)), SlidingWindows)
    assert_type(Sessions(MINUTE), Sessions)
    assert_type(CalendarDays("Europe/Berlin"), CalendarDays)
    assert_type(CalendarWeeks("Europe/Berlin", first_day=6), CalendarWeeks)
    assert_type(CalendarMonths("Europe/Berlin"), CalendarMonths)
    assert_type(assign_windows(every, event, key, 3), tuple[Window, ...])
    if not isinstance(every, WindowsByValue):
        assert_type(every.assign(event, key), tuple[Window, ...])
    assert_type(Sessions(MINUTE).merge(some), list[list[Window]])


def fields(fixed: FixedWindows, sliding: SlidingWindows, sessions: Sessions) -> None:
    """The fields of fixed windows, sliding windows and sessions."""
    assert_type(fixed.size, timedelta)
    assert_type(fixed.offset, timedelta)
    assert_type(fixed.offset_by_key, OffsetByKey | None)
    assert_type(fixed.size_micros, Micros)
    assert_type(fixed.offset_micros, Micros)
    assert_type(sliding.size, timedelta)
    assert_type(sliding.period, timedelta)
    assert_type(sliding.offset, timedelta)
    assert_type(sliding.repeated_starts, range)
    assert_type(sessions.gap, timedelta)


def calendars(days: CalendarDays, weeks: CalendarWeeks, months: CalendarMonths) -> None:
    """The fields of calendar windows."""
    assert_type(days.zone, str)
    assert_type(days.offset, timedelta)
    assert_type(weeks.zone, str)
    assert_type(weeks.first_day, int)
    assert_type(weeks.offset, timedelta)
    assert_type(months.zone, str)
    assert_type(months.offset, timedelta)


def user_defined(
    custom: CustomWindows, by_value: WindowsByValue, merged: MergedWindow, some: list[Window]
) -> None:
    """Windows of plain functions."""
    assert_type(
        CustomWindows("hours", lambda point, key: [Window(point, EventTime(point + len(key)))]),
        CustomWindows,
    )
    assert_type(
        CustomWindows("hours", lambda point, _: [Window(point, MAX_TIME)], lambda windows: [windows[:1]]),
        CustomWindows,
    )
    assert_type(
        WindowsByValue("by value", lambda point, key, value: [Window(point, EventTime(point + value.size))]),
        WindowsByValue,
    )
    assert_type(by_value.name, str)
    assert_type(by_value.assign_with, AssignByValue)
    assert_type(by_value.merge_with, Merge | None)
    assert_type(by_value.assign(MIN_TIME, "k", 3), tuple[Window, ...])
    assert_type(by_value.merge(some), list[list[Window]])
    assert_type(custom.name, str)
    assert_type(custom.assign_with, Assign)
    assert_type(custom.merge_with, Merge | None)
    assert_type(
        CustomWindows("whole", lambda point, _: [Window(point, MAX_TIME)], lambda windows: [merged]),
        CustomWindows,
    )
    assert_type(MergedWindow(GLOBAL_WINDOW, some), MergedWindow)
    assert_type(merged.window, Window)
    assert_type(merged.parts, tuple[Window, ...])
    assert_type(custom.merge(some), list[list[Window]])


def windowing(strategy: WindowingStrategy) -> None:
    """A windowing strategy: windows, trigger, accumulation and lateness as one value."""
    assert_type(WindowingStrategy(Sessions(MINUTE), allowed_lateness=FOREVER), WindowingStrategy)
    assert_type(WindowingStrategy(trigger=AtCount(3), allowed_lateness=MINUTE), WindowingStrategy)
    assert_type(strategy.windows, WindowFn)
    assert_type(strategy.trigger, Trigger)
    assert_type(strategy.accumulation, Accumulation | None)
    assert_type(strategy.mode, Accumulation)
    assert_type(strategy.allowed_lateness, AllowedLateness | None)
    assert_type(strategy.timestamp_combiner, TimestampCombiner)
    assert_type(strategy.on_time_behavior, OnTimeBehavior)
    assert_type(strategy.lateness_micros, Micros | None)
    assert_type(FOREVER, Literal[Forever.FOREVER])


def by_hand(at: datetime, flight: Flight, timeline: Timeline[Flight], instant: Instant[Flight]) -> None:
    """Timelines made by hand, and their instants."""
    assert_type(Timeline[Flight](), Timeline[Flight])
    assert_type(timeline.at(at, flight, flight, watermark=at), Timeline[Flight])
    assert_type(timeline.at(at, percentiles={0.9: at}, signals=["flush"]), Timeline[Flight])
    assert_type(timeline.at(at, signals=["flush", Signal("flush", 3)]), Timeline[Flight])
    assert_type(timeline.end(at), Timeline[Flight])
    assert_type(timeline.without_end(), Timeline[Flight])
    assert_type(timeline.watermark, EventTime)
    assert_type(timeline.elements, tuple[Flight, ...])
    assert_type(timeline.generated_by, GeneratedBy | None)
    assert_type(timeline.instants, tuple[Instant[Flight], ...])
    assert_type(iter(timeline), Iterator[Instant[Flight]])
    assert_type(len(timeline), int)
    assert_type([moment.elements for moment in timeline], list[tuple[Flight, ...]])
    assert_type(instant.processing_time, ProcessingTime)
    assert_type(instant.elements, tuple[Flight, ...])
    assert_type(instant.watermark, EventTime)
    assert_type(instant.percentile_watermarks, Mapping[float, EventTime])
    assert_type(instant.reached, Mapping[str, EventTime])
    assert_type(instant.idle_at, ProcessingTime | None)
    assert_type(instant.awaited, frozenset[str])
    assert_type(instant.signals, frozenset[str | Signal])


def from_records(flights: Source[Flight], flight: Flight, at: datetime) -> None:
    """Timelines of records that have both times."""
    policy = BoundedOutOfOrderness(MINUTE)
    assert_type(Timeline.batch([flight], time=at), Timeline[Flight])
    assert_type(Timeline.batch([flight], time=at).elements, tuple[Flight, ...])
    assert_type(
        Timeline.from_records(flights, [flight], processing_time=lambda f: f.at, watermark=policy),
        Timeline[Flight],
    )
    assert_type(
        Timeline.from_records(
            flights,
            iter([flight]),
            processing_time=lambda f: f.at,
            watermark=policy,
            partition=lambda f: f.origin,
            every=MINUTE,
            tick=MINUTE,
            ends=False,
        ),
        Timeline[Flight],
    )
    assert_type(
        Timeline.micro_batches(
            flights,
            [[flight], []],
            processing_time=lambda f: f.at,
            watermark=policy,
            partition=lambda f: f.origin,
            ends=False,
        ),
        Timeline[Flight],
    )


def panes(pane: Pane[KV[str, int]], unkeyed: Pane[float], info: PaneInfo) -> None:
    """The panes of a grouping."""
    assert_type(Pane(3, GLOBAL_WINDOW, MIN_TIME, info), Pane[int])
    assert_type(pane.element, KV[str, int])
    assert_type(pane.key, str)
    assert_type(pane.value, int)
    assert_type(unkeyed.element, float)
    assert_type(pane.window, Window)
    assert_type(pane.event_time, EventTime)
    assert_type(pane.info, PaneInfo)
    assert_type(pane.change, Change)
    assert_type(pane.timing, Timing)
    assert_type(pane.index, int)
    assert_type(pane.is_first, bool)
    assert_type(pane.is_last, bool)
    assert_type(pane.processing_time, ProcessingTime)
    assert_type(pane.watermark, EventTime)


def seen_by_user_code(window: WindowBounds, pane: PaneTiming) -> None:
    """What elements can be paired with are records."""
    assert_type(WindowBounds(window.start, window.end), WindowBounds)
    assert_type(window.start, datetime)
    assert_type(window.end, datetime)
    assert_type(PaneTiming(pane.timing, 0, is_first=True, is_last=False), PaneTiming)
    assert_type(pane.timing, Timing)
    assert_type(pane.index, int)
    assert_type(pane.is_first, bool)
    assert_type(pane.is_last, bool)


def pane_infos(info: PaneInfo) -> None:
    """The fields of pane information."""
    assert_type(info.change, Change)
    assert_type(info.timing, Timing)
    assert_type(info.index, int)
    assert_type(info.is_first, bool)
    assert_type(info.is_last, bool)
    assert_type(info.processing_time, ProcessingTime)
    assert_type(info.watermark, EventTime)


def drops(drop: Drop) -> None:
    """Dropped elements."""
    assert_type(drop.key, object)
    assert_type(drop.window, Window)
    assert_type(drop.reason, DropReason)
    assert_type(drop.processing_time, ProcessingTime)
    assert_type(drop.count, int)
