"""Windows, timelines, panes and policies: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_type

from flowalg import (
    KV,
    BoundedOutOfOrderness,
    CalendarDays,
    EventTime,
    FixedWindows,
    Pane,
    Source,
    Timeline,
    Window,
)
from flowalg.data import MAX_TIME, MIN_TIME, ProcessingTime
from flowalg.runs import Instant, PaneInfo
from flowalg.watermarks import CustomPolicy
from flowalg.windows import GLOBAL_WINDOW, CustomWindows, MergedWindow, WindowsByValue
from tests.packaging.typing.records import Flight

MINUTE = timedelta(minutes=1)


def strategies() -> None:
    """Windows of the library with a function."""
    assert_type(CalendarDays(lambda shop: shop.zone), CalendarDays)
    assert_type(FixedWindows(MINUTE, offset_by_key=lambda team: MINUTE * team), FixedWindows)


def user_defined(merged: MergedWindow) -> None:
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
    assert_type(
        CustomWindows("whole", lambda point, _: [Window(point, MAX_TIME)], lambda windows: [merged]),
        CustomWindows,
    )


def by_hand(timeline: Timeline[Flight]) -> None:
    """Timelines made by hand, and their instants."""
    assert_type(Timeline[Flight](), Timeline[Flight])
    assert_type([moment.elements for moment in timeline], list[tuple[Flight, ...]])


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


def panes(pane: Pane[KV[str, int]], info: PaneInfo) -> None:
    """The panes of a grouping, and instants."""
    assert_type(Instant(ProcessingTime(0), ("JFK",), MIN_TIME), Instant[str])
    assert_type(Pane(3, GLOBAL_WINDOW, MIN_TIME, info), Pane[int])
    assert_type(pane.key, str)
    assert_type(pane.value, int)


def policies() -> None:
    """Watermark policies of plain functions."""
    assert_type(CustomPolicy("mine", lambda view: view.reached), CustomPolicy)
    assert_type(CustomPolicy("mine", lambda view: view.processing_time - MINUTE), CustomPolicy)
